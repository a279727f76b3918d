import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildService, startWorker } from "../../bench/service.ts";
import { listen } from "../shared/ports.ts";
import { call, createClient, poll } from "../shared/service.ts";
import { answerFromText } from "./question.ts";

void test("the service answers the smoke test's question from its text, and keeps nothing of it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "question-"));
  t.after(() => rm(folder, { recursive: true }));
  const bindings = { OPERATOR_TOKEN: "operator", KEY_SECRET: "keys", ENCRYPTION_KEY: "storage" };
  const service = await startWorker(await buildService(folder), bindings, join(folder, "state"));
  t.after(() => service.close());
  const url = `http://127.0.0.1:${service.port}`;
  await answerFromText(url, bindings.OPERATOR_TOKEN);
  const operator = createClient(url, bindings.OPERATOR_TOKEN);
  const isGone = async () => (await call<{ data: unknown[] }>(operator, "GET", "/operator/v1/workspaces")).data.length === 0 || undefined;
  assert.ok(await poll(isGone, 10_000));
});

for (const [problem, source, status, reason] of [
  ["a queue that does not deliver", "pending", 200, /text is pending; the queue does not deliver/],
  ["a text that cannot be read", "failed", 200, /A text could not be read: broken/],
  ["a question that is refused", "ready", 503, /the question answered 503/],
  ["an agent that hands over", "ready", 200, /handed it to a human/],
] as const) {
  void test(`${problem} fails the smoke test, and its workspace is deleted`, async (t) => {
    const deleted: (string | undefined)[] = [];
    const service = createServer(({ method, url }, response) => {
      if (method === "DELETE") deleted.push(url);
      const body = JSON.stringify({ id: "x", key: "key", status: source, error: { message: "broken" }, citations: [] });
      const code = url?.endsWith("/messages") ? status : 200;
      response.writeHead(code, { "Content-Type": "application/json" }).end(body);
    });
    t.after(() => service.close());
    await assert.rejects(answerFromText(await listen(service), "operator", 0), reason);
    assert.deepEqual(deleted, ["/operator/v1/workspaces/x"]);
  });
}
