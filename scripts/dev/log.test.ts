import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogFilter, formatEntry } from "./log.ts";

const AT = new Date(2026, 10, 22, 14, 2, 11);
const REQUEST = { event: "request", method: "GET", route: "/api/v1/me", status: 200, error_code: null, request_id: "r-1", duration_ms: 4 };

void test("a request is one short line; a failed one names its error and its request_id", () => {
  assert.equal(formatEntry(REQUEST, false, AT), "14:02:11 GET /api/v1/me 200 4 ms");
  const refused = { ...REQUEST, status: 401, error_code: "invalid_api_key" };
  assert.equal(formatEntry(refused, false, AT), "14:02:11 GET /api/v1/me 401 4 ms invalid_api_key request r-1");
  assert.equal(formatEntry({ ...REQUEST, route: null, status: 404 }, false, AT), "14:02:11 GET (no route) 404 4 ms");
});

void test("a job is one short line, and a problem one line with all its fields", () => {
  const job = { event: "job", job: "ingestion", outcome: "ready", d1_trips: 2, duration_ms: 213 };
  assert.equal(formatEntry(job, false, AT), "14:02:11 ingestion ready 213 ms");
  const problem = { event: "failure", request_id: "r-1", operation: null, error: "TypeError: x\n  at y" };
  assert.equal(formatEntry(problem, true, AT), "14:02:11 PROBLEM failure request_id=r-1 error=TypeError: x | at y");
});

void test("wrangler's tables, notices and request lines are left out, its errors are not", () => {
  const filter = createLogFilter({ isJson: false });
  const output = `Using secrets defined in .dev.vars
[custom build] Running: npm run --silent build
[custom build] Built dist/web: widget.js 1958 of 2048 bytes gzipped.
[custom build]${" "}
[custom build] web/widget/panel.tsx: Could not resolve "./lost.ts"
Attaching additional modules:
┌──────────────┬──────┐
│ chunks/me.js │ esm  │
└──────────────┴──────┘
\u001b[1mYour Worker has access to the following bindings:\u001b[0m
Binding      Resource
env.GATE     Durable Object

▲ [WARNING] Scheduled Workers are not automatically triggered during local development.

  To manually trigger a scheduled event, run:

✘ [ERROR] k [Error]: Process exited with non-zero status (1)

      at runCommand (wrangler/wrangler-dist/cli.js:192428:26)

⎔ Starting local server...
[wrangler:info] GET /healthz 200 OK
✘ [ERROR] Build failed with 1 error:

  ✘ [ERROR] Expected ";"
⎔ Reloading local server...`;
  const shown = output.split("\n").flatMap((line) => filter.show(line, "stdout") ?? []);
  assert.deepEqual(shown, [
    '[custom build] web/widget/panel.tsx: Could not resolve "./lost.ts"',
    "✘ [ERROR] Build failed with 1 error:",
    "",
    '  ✘ [ERROR] Expected ";"',
    "⎔ Reloading local server...",
  ]);
});

void test("only problems are shown while the demo is created, and the sweep of each minute is never shown", () => {
  const filter = createLogFilter({ isJson: false });
  const line = JSON.stringify(REQUEST);
  assert.equal(filter.show(line, "stdout"), undefined);
  assert.match(filter.show(JSON.stringify({ ...REQUEST, status: 500 }), "stdout")!, /PROBLEM|500/);
  assert.match(
    filter.show(`{"event":"misconfigured","detail":"KEY_SECRET is empty"}`, "stderr")!,
    /PROBLEM misconfigured detail=KEY_SECRET is empty/,
  );
  filter.isVerbose = true;
  assert.match(filter.show(line, "stdout")!, /GET \/api\/v1\/me 200 4 ms$/);
  assert.equal(filter.show(`{"event":"job","job":"sweep","outcome":"done"}`, "stdout"), undefined);
});

void test("with --json the service's log lines are passed on unchanged", () => {
  const filter = createLogFilter({ isJson: true });
  filter.isVerbose = true;
  for (const line of [JSON.stringify(REQUEST), `{"event":"job","job":"sweep","outcome":"done"}`])
    assert.equal(filter.show(line, "stdout"), line);
});
