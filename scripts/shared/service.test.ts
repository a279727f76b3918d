import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { UserError } from "./cli.ts";
import { listen } from "./ports.ts";
import { createClient, findDemoProblem, networkErrorText, resolveOperatorTarget } from "./service.ts";

void test("a service that hangs up or cannot be reached is an error with the reason", async () => {
  const server = createServer((request) => request.socket.destroy());
  const url = await listen(server);
  const ask = () => createClient(url, "token").send("GET", "/operator/v1/secrets");
  const hasReason = (reason: RegExp) => (error: unknown) => error instanceof UserError && reason.test(error.message);
  await assert.rejects(ask, hasReason(/^GET http:\/\/127\.0\.0\.1:\d+\/operator\/v1\/secrets was not answered: other side closed\.$/));
  server.close();
  await once(server, "close");
  await assert.rejects(ask, hasReason(/was not answered: .*ECONNREFUSED/));
});

void test("an error without a message is described by its name", () => {
  assert.equal(networkErrorText(new TypeError("fetch failed", { cause: new AggregateError([]) })), "AggregateError");
  assert.equal(networkErrorText(new TypeError("fetch failed", { cause: "other" })), "fetch failed");
});

void test("a configuration that allows no demo is an error that says how to correct it", async () => {
  const refusal = (status: number) => findDemoProblem({ send: async () => ({ status, body: {} }) });
  assert.match((await refusal(404))!, /OPERATOR_TOKEN is empty/);
  assert.match((await refusal(503))!, /delete its line/);
  assert.equal(await refusal(200), undefined);
});

const TOKEN = { OPERATOR_TOKEN: " new , old " };
const localToken = () => "local";

void test("the token comes from the environment, or for a service on this machine from .dev.vars", () => {
  const url = "https://support.example.com";
  assert.deepEqual(resolveOperatorTarget(`${url}/`, TOKEN, localToken), { url, token: "new" });
  for (const local of ["http://localhost:8787", "http://127.0.0.1:9131", "http://[::1]:9131", "https://localhost:8787"]) {
    assert.deepEqual(resolveOperatorTarget(local, TOKEN, localToken), { url: local, token: "new" });
    assert.deepEqual(resolveOperatorTarget(local, {}, localToken), { url: local, token: "local" });
  }
});

void test("a wrong URL or token is an error, and no token leaves this machine in plain text", () => {
  const url = "https://support.example.com";
  for (const [given, environment] of [
    [undefined, TOKEN],
    ["support.example.com", TOKEN],
    ["http://support.example.com", TOKEN],
    ["ftp://localhost", TOKEN],
    [url, {}],
    [url, { OPERATOR_TOKEN: " , " }],
    [url, { OPERATOR_TOKEN: "…" }],
  ] as const) {
    assert.throws(() => resolveOperatorTarget(given, environment, localToken), UserError, given);
  }
});
