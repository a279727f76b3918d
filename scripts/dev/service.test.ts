import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { PlainError } from "./flags.ts";
import { clientOf, operatorRefusal, reasonOf } from "./service.ts";

void test("a service that hangs up, or is not there, is told plainly", async () => {
  const server = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const ask = () => clientOf(`http://127.0.0.1:${port}`, "token").send("GET", "/operator/v1/secrets");
  const isTold = (reason: RegExp) => (error: unknown) => error instanceof PlainError && reason.test(error.message);
  await assert.rejects(ask, isTold(/^GET http:\/\/127\.0\.0\.1:\d+\/operator\/v1\/secrets was not answered: other side closed\.$/));
  server.close();
  await once(server, "close");
  await assert.rejects(ask, isTold(/was not answered: .*ECONNREFUSED/));
});

void test("a reason without a message is told by its name", () => {
  assert.equal(reasonOf(new TypeError("fetch failed", { cause: new AggregateError([]) })), "AggregateError");
  assert.equal(reasonOf(new TypeError("fetch failed", { cause: "other" })), "fetch failed");
});

void test("a configuration that allows no demo is told with what to do", async () => {
  const refusal = (status: number) => operatorRefusal({ send: async () => ({ status, body: {} }) });
  assert.match((await refusal(404))!, /OPERATOR_TOKEN is empty/);
  assert.match((await refusal(503))!, /delete its line/);
  assert.equal(await refusal(200), undefined);
});
