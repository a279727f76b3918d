import { createExecutionContext } from "cloudflare:test";
import { createRoute } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { newOperation } from "../../../src/platform/db/client.ts";
import { shardOf } from "../../../src/platform/db/ids.ts";
import { storeResponse, reserveKey } from "../../../src/platform/http/idempotency-store.ts";
import type { AppEnv } from "../../../src/platform/http/context.ts";
import { handleError } from "../../../src/platform/http/error-handler.ts";
import { beginRequest } from "../../../src/platform/http/request-log.ts";
import { createRouter } from "../../../src/platform/http/router.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import { sweep } from "../../../src/sweep/sweep.ts";
import {
  createAgent,
  createKey,
  createWorkspace,
  databases,
  envWith,
  learn,
  listen,
  operate,
  query,
  send,
  type Workspace,
} from "../../harness.ts";
import { fetchDocument, listOperations } from "./document.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

async function prepare() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const post = (path: string, body: unknown, key: string) => workspace.call("POST", path, body, { "Idempotency-Key": key });
  return { workspace, agent, post, answers: `/agents/${agent.id}/answers`, messages: `/agents/${agent.id}/messages` };
}

function database({ id }: Workspace): D1Database {
  return databases[shardOf(id)]!;
}

/** Restores the state of a service that died after doing the work and before answering. */
function forgetAnswer(workspace: Workspace, key: string) {
  return holdKey(workspace, key, 0);
}

/** Restores the state of a request that has not been answered, whose key is held until a time. */
function holdKey(workspace: Workspace, key: string, untilMs: number) {
  const hold =
    "UPDATE idempotency_records SET response_status = NULL, response_body = NULL, lease_until = ? WHERE workspace_id = ? AND key = ?";
  return database(workspace).prepare(hold).bind(untilMs, workspace.id, key).run();
}

test("a request with the same key and body runs once, and its response is replayed", async () => {
  const { post, answers, workspace } = await prepare();
  const body = { question: "How do I cancel?", answer: "In Billing." };
  const first = await post(answers, body, "k-1");
  const second = await post(answers, body, "k-1");
  expect([first.status, first.headers.get("Idempotent-Replayed")]).toEqual([201, null]);
  expect([second.status, second.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
  expect(second.body).toEqual(first.body);
  expect((await workspace.call("GET", answers)).body.total).toBe(1);
});

test("another body, or another operation, with the same key is a conflict", async () => {
  const { post, answers, messages } = await prepare();
  await post(answers, { question: "How do I cancel?", answer: "In Billing." }, "k-1");
  for (const [path, body] of [
    [answers, { question: "How do I cancel?", answer: "In Settings." }],
    [messages, { message: "How do I cancel?" }],
  ] as const) {
    expect(await post(path, body, "k-1")).toMatchObject({ status: 409, body: { error: { code: "idempotency_conflict" } } });
  }
});

test("a question whose response was lost is answered again, and neither stored nor counted twice", async () => {
  const { post, messages, workspace } = await prepare();
  const body = { message: "When are refunds paid?", user: { id: "u-1" } };
  const first = await post(messages, body, "k-1");
  await forgetAnswer(workspace, "k-1");
  const again = await post(messages, body, "k-1");
  expect(again).toMatchObject({ status: 200, body: first.body });
  const { body: conversation } = await workspace.call("GET", `/conversations/${first.body.conversation_id}`);
  expect(conversation.message_count).toBe(2);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
});

test("records that were created before a crash are not created again", async () => {
  const { post, answers, agent, workspace } = await prepare();
  const conversation = (await post(`/agents/${agent.id}/messages`, { message: "When are refunds paid?" }, "k-0")).body.conversation_id;
  const requests = [
    [answers, { question: "How do I cancel?", answer: "In Billing." }],
    [`/agents/${agent.id}/sources`, { type: "text", name: "Hours", text: "We are open at nine." }],
    [`/conversations/${conversation}/messages`, { content: "Hello from the team." }],
  ] as const;
  for (const [at, [path, body]] of requests.entries()) {
    const first = await post(path, body, `k-${at + 1}`);
    await forgetAnswer(workspace, `k-${at + 1}`);
    const again = await post(path, body, `k-${at + 1}`);
    expect(again).toMatchObject({ status: first.status, body: { id: first.body.id } });
  }
  expect((await workspace.call("GET", answers)).body.total).toBe(1);
  expect((await workspace.call("GET", `/agents/${agent.id}/sources`)).body.total).toBe(2);
  expect((await workspace.call("GET", `/conversations/${conversation}`)).body.message_count).toBe(3);
});

/** Bindings whose databases lose one response: the batch with this number takes effect, and its caller gets an error. */
function losing(batch: number) {
  let count = 0;
  const lose = (database: D1Database) => ({
    prepare: (text: string) => database.prepare(text),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await database.batch(statements);
      if (++count === batch) throw new Error("D1_ERROR: Network connection lost.");
      return results;
    },
  });
  return { DB: lose(databases[0]!), DB_1: lose(databases[1]!) };
}

test.each([
  ["answers", { question: "How do I cancel?", answer: "In Billing." }],
  ["sources", { type: "text", name: "Hours", text: "Open from 9 to 18." }],
  ["webhooks", { url: "https://hooks.example.com/", events: ["lead.created"] }],
])("a write to %s whose fate D1 does not tell is 503, and repeating it with its key does nothing twice", async (collection, body) => {
  const { workspace, agent } = await prepare();
  const path = collection === "webhooks" ? "/webhooks" : `/agents/${agent.id}/${collection}`;
  const before = (await workspace.call("GET", path)).body.total;
  const send = async (batch: number, key: string) => {
    const headers = { Authorization: `Bearer ${workspace.key}`, "Content-Type": "application/json", "Idempotency-Key": key };
    const request = new Request(`http://service.test/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return app.fetch(request, envWith(losing(batch)), createExecutionContext());
  };
  for (const batch of [1, 2]) {
    const lost = await send(batch, "lost");
    expect([batch, lost.status, lost.headers.get("Retry-After")]).toEqual([batch, 503, "2"]);
    // The first batch reserves the key, so the request that died holds it.
    await holdKey(workspace, "lost", 0);
  }
  const done = await send(0, "lost");
  expect(done.status).toBeLessThan(300);
  expect((await workspace.call("GET", path)).body.total).toBe(before + 1);
});

test("a write without a key whose outcome D1 does not report says that it may have taken effect", async () => {
  const { workspace, answers } = await prepare();
  const headers = { Authorization: `Bearer ${workspace.key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ question: "How do I cancel?", answer: "In Billing." });
  const request = new Request(`http://service.test/api/v1${answers}`, { method: "POST", headers, body });
  const lost = await app.fetch(request, envWith(losing(1)), createExecutionContext());
  expect([lost.status, (await lost.json<any>()).error.message]).toEqual([503, expect.stringContaining("may have taken effect")]);
});

test("twenty concurrent requests with one key run once", async () => {
  const { post, answers, workspace } = await prepare();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => post(answers, { question: "How do I cancel?", answer: "In Billing." }, "k-1")),
  );
  const statuses = new Set(all.map(({ status }) => status));
  expect([...statuses].every((status) => status === 201 || status === 409)).toBe(true);
  expect(new Set(all.filter(({ status }) => status === 201).map(({ body }) => body.id)).size).toBe(1);
  expect((await workspace.call("GET", answers)).body.total).toBe(1);
});

test.each([
  ["that runs for a second", 29_000, 1],
  ["that runs for long", 20_000, 10],
  ["that has nearly run out of its time", 2_500, 3],
])("a request %s is waited for as long as it may still take", async (_, leftMs, seconds) => {
  const { post, answers, workspace } = await prepare();
  const body = { question: "How do I cancel?", answer: "In Billing." };
  await post(answers, body, "k-1");
  await holdKey(workspace, "k-1", Date.now() + leftMs);
  const again = await post(answers, body, "k-1");
  expect(again).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
  const asked = Number(again.headers.get("Retry-After"));
  expect(Math.abs(asked - seconds)).toBeLessThanOrEqual(1);
  // Whoever held it is dead by then.
  await holdKey(workspace, "k-1", Date.now() - 1);
  expect((await post(answers, body, "k-1")).status).toBe(201);
});

test("4xx responses are replayed too; keys belong to a workspace; invalid keys are refused", async () => {
  const { post, messages } = await prepare();
  const unknown = { message: "Hi", conversation_id: crypto.randomUUID() };
  const first = await post(messages, unknown, "k-1");
  expect(first.status).toBe(404);
  const second = await post(messages, unknown, "k-1");
  expect([second.status, second.headers.get("Idempotent-Replayed")]).toEqual([404, "true"]);
  const { request_id: requestId, ...error } = second.body.error;
  expect(first.body.error).toMatchObject(error);
  // Each answer has the id of its own request, even if it is replayed.
  expect(requestId).toBe(second.headers.get("X-Request-Id"));
  expect(requestId).not.toBe(first.body.error.request_id);
  const other = await prepare();
  expect((await other.post(other.messages, { message: "When are refunds paid?" }, "k-1")).status).toBe(200);
  const long = await post(messages, { message: "Hi" }, "k".repeat(256));
  expect(long.body.detail).toMatchObject([{ loc: ["header", "Idempotency-Key"], type: "string_too_long" }]);
});

test("a refusal with 429 is not replayed", async () => {
  const { post, workspace, messages } = await prepare();
  const { body } = await workspace.call("POST", messages, { message: "When are refunds paid?" });
  const reply = () => post(`/conversations/${body.conversation_id}/messages`, { content: "Hello" }, "k-1");
  const limit = (perDay: number) => operate("PATCH", `/workspaces/${workspace.id}`, { limits: { team_messages_per_day: perDay } });
  await limit(0);
  const refused = await reply();
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, expect.any(String)]);
  await limit(1);
  expect((await reply()).status).toBe(201);
});

test("no response is stored for a conversation that is erased meanwhile", async () => {
  const { post, messages, workspace } = await prepare();
  const { body } = await post(messages, { message: "When are refunds paid?", user: { id: "u-1" } }, "k-1");
  const { db } = newOperation(env, new Meter(), workspace.id);
  const nowMs = Date.now();
  const record = { workspaceId: workspace.id, key: "k-2", requestHash: "", leaseUntil: nowMs, createdAt: nowMs };
  await db.batch(reserveKey(db, record, 0));
  await workspace.call("DELETE", "/privacy/visitors?external_id=u-1");
  await db.batch([storeResponse(db, record, { status: 200, body: "{}", conversationId: body.conversation_id })]);
  const kept = "SELECT key, response_body FROM idempotency_records WHERE workspace_id = ?";
  expect(await query(workspace.id, kept, workspace.id)).toEqual([{ key: "k-2", response_body: null }]);
});

/** The operations that take an Idempotency-Key, and whose response holds a secret. */
const SECRET_OPERATIONS = {
  createKey: { path: () => "/keys", body: { name: "Full", scopes: ["keys:write", "leads:read"] }, scope: "keys:write" },
  createWebhook: { path: () => "/webhooks", body: { url: "https://hooks.example.com/a", events: ["*"] }, scope: "webhooks:write" },
  rotateWebhookSecret: { path: ({ hook }: Ids) => `/webhooks/${hook}/rotate-secret`, body: undefined, scope: "webhooks:write" },
  rotateIdentitySecret: { path: ({ agent }: Ids) => `/agents/${agent}/rotate-identity-secret`, body: {}, scope: "agents:write" },
};
type Ids = Record<"hook" | "agent", string>;

test("each operation whose response holds a secret is among those that are bound to the API key", async () => {
  const { components } = await fetchDocument();
  const isSecret = (schema: any): boolean => {
    if (schema?.$ref) return isSecret(components.schemas[schema.$ref.split("/").at(-1)]);
    const { secret, key } = schema?.properties ?? {};
    // The key of a source is the caller's name for it.
    return secret || key?.example?.startsWith("sk_") || (schema?.allOf ?? []).some(isSecret);
  };
  const takesKey = ({ parameters = [] }: Record<string, any>) =>
    parameters.some(({ name }: { name: string }) => name === "Idempotency-Key");
  const holding = (await listOperations()).filter(
    ({ definition }) =>
      takesKey(definition) &&
      Object.values<any>(definition["responses"]).some(({ content }) => isSecret(content?.["application/json"]?.schema)),
  );
  expect(holding.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(SECRET_OPERATIONS).sort());
});

test.each(Object.entries(SECRET_OPERATIONS))(
  "%s is repeated only for the API key that made the request",
  async (_, { path, body, scope }) => {
    const { post, agent, workspace } = await prepare();
    const target = path({ hook: (await listen(workspace)).id, agent: agent.id });
    const other = await createKey(workspace, [scope]);
    const retry = (token: string) => send("POST", `/api/v1${target}`, { token, body, headers: { "Idempotency-Key": "k-1" } });
    const first = await post(target, body, "k-1");
    expect(first.status).toBeLessThan(300);
    const refused = await retry(other.key);
    expect([refused.status, refused.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(refused.body.error.message).toBe("This Idempotency-Key was used for another request, or with another API key. Use a new one.");
    // The response that is not kept is not made again for another key either.
    await forgetAnswer(workspace, "k-1");
    expect((await retry(other.key)).status).toBe(409);
    expect((await retry(workspace.key)).status).toBe(first.status);
  },
);

test("another API key gets a stored response if it has the scopes of the request, all of them", async () => {
  const { post, answers, messages, workspace } = await prepare();
  const answer = { question: "How do I cancel?", answer: "In Billing." };
  const tryOut = { message: "When are refunds paid?", channel: "playground", settings: { confidence_threshold: 0.5 } };
  const first = await post(answers, answer, "k-1");
  expect((await post(messages, tryOut, "k-2")).status).toBe(200);
  const retry = async (scopes: string[], path: string, body: object, key: string) => {
    const { key: token } = await createKey(workspace, scopes);
    return send("POST", `/api/v1${path}`, { token, body, headers: { "Idempotency-Key": key } });
  };
  expect((await retry(["knowledge:write"], answers, answer, "k-1")).body).toEqual(first.body);
  expect((await retry(["knowledge:read"], answers, answer, "k-1")).body.error.code).toBe("insufficient_scope");
  expect((await retry(["chat:write"], messages, tryOut, "k-2")).body.error.code).toBe("insufficient_scope");
  expect((await retry(["chat:write", "agents:write"], messages, tryOut, "k-2")).status).toBe(200);
});

test("a search keeps nothing: it changes nothing", async () => {
  const { post, agent, workspace } = await prepare();
  const first = await post(`/agents/${agent.id}/search`, { query: "refunds" }, "k-1");
  const other = await post(`/agents/${agent.id}/search`, { query: "working days" }, "k-1");
  expect([first.status, other.status, other.headers.get("Idempotent-Replayed")]).toEqual([200, 200, null]);
  expect(await kept(workspace)).toEqual([]);
});

/** The rows that are stored for repeated requests, and their counted size. */
const kept = ({ id }: Workspace) =>
  query(
    id,
    `SELECT key, response_status AS status, length(response_body) AS length, lease_until = 0 AS is_released
     FROM idempotency_records WHERE workspace_id = ?`,
    id,
  );
const keptBytes = async ({ id }: Workspace) =>
  (await query<{ bytes: number }>(id, "SELECT kept_response_bytes AS bytes FROM workspaces WHERE id = ?", id))[0]!.bytes;
const setKeptBytes = ({ id }: Workspace, bytes: number) =>
  query(id, "UPDATE workspaces SET kept_response_bytes = ? WHERE id = ?", bytes, id);

/** Sends the same POST to an operation with a response of this length, and returns the ids that it made. */
async function repeatLong(workspace: Workspace, responseLength: number, bindings: Record<string, unknown> = {}) {
  const router = createRouter();
  router.use((c, next) => {
    beginRequest(c);
    c.set("caller", { workspace: { id: workspace.id } } as AppEnv["Variables"]["caller"]);
    return next();
  });
  const made: string[] = [];
  router.openapi(createRoute({ method: "post", path: "/long", "x-scope": "chat:write", responses: {} }), (c) => {
    made.push(c.get("newIdIn")(0));
    return c.text(JSON.stringify("x".repeat(responseLength - 2)), 201) as never;
  });
  router.onError(handleError);
  const request = () => new Request("http://service.test/long", { method: "POST", headers: { "Idempotency-Key": "k-1" } });
  const statuses: number[] = [];
  for (let at = 0; at < 2; at++) statuses.push((await router.fetch(request(), envWith(bindings), createExecutionContext())).status);
  return { made, statuses };
}

test("a response of 64 KiB is kept; after a longer one, a repeated request runs again with the same ids", async () => {
  const [short, long] = [await createWorkspace(), await createWorkspace()];
  expect((await repeatLong(short, 65_536)).made).toHaveLength(1);
  const { made, statuses } = await repeatLong(long, 65_537);
  expect([made.length, new Set(made).size, statuses]).toEqual([2, 1, [201, 201]]);
  expect(await kept(long)).toEqual([{ key: "k-1", status: null, length: null, is_released: 1 }]);
});

test("what is kept is counted for the workspace, and deleted records are counted out", async () => {
  const { workspace, post, answers } = await prepare();
  const sum = async () => (await kept(workspace)).reduce((total, { length }) => total + 512 + Number(length), 0);
  for (let at = 0; at < 3; at++) await post(answers, { question: `Question ${at}?`, answer: "a".repeat(at * 1_000 + 1) }, `k-${at}`);
  expect(await keptBytes(workspace)).toBe(await sum());
  expect(await keptBytes(workspace)).toBeGreaterThan(3_000);
  await query(workspace.id, "DELETE FROM idempotency_records WHERE workspace_id = ? AND key = 'k-2'", workspace.id);
  expect(await keptBytes(workspace)).toBe(await sum());
  await sweep(env, Date.now() + DAY_MS + 1000);
  expect(await keptBytes(workspace)).toBe(0);
});

test("past 128 MiB of a workspace, with 512 bytes for each key, no further key is accepted", async () => {
  const { workspace, post, answers } = await prepare();
  const question = { question: "How do I cancel?", answer: "In Billing." };
  const first = await post(answers, question, "k-1");
  await setKeptBytes(workspace, 128 * 1024 * 1024 - 512);
  expect((await post(answers, question, "k-2")).status).toBe(201);
  const before = await kept(workspace);
  const refused = await post(answers, question, "k-3");
  expect([refused.status, refused.body.error.code, refused.headers.get("Retry-After")]).toEqual([429, "rate_limited", "600"]);
  expect(await kept(workspace)).toEqual(before);
  // Keys that are known are repeated, and requests without one are accepted.
  expect((await post(answers, question, "k-1")).body).toEqual(first.body);
  expect((await workspace.call("POST", answers, question)).status).toBe(201);
  expect((await workspace.call("GET", answers)).body.total).toBe(3);
});

test("past 64 MiB of a workspace no response is kept, and a repeated request still creates nothing twice", async () => {
  const { workspace, agent, post, answers, messages } = await prepare();
  await setKeptBytes(workspace, 64 * 1024 * 1024);
  const conversation = (await post(messages, { message: "When are refunds paid?" }, "k-0")).body.conversation_id;
  const hook = (await post("/webhooks", { url: "https://hooks.example.com/a", events: ["*"] }, "k-hook")).body.id;
  const requests = [
    [answers, { question: "How do I cancel?", answer: "In Billing." }],
    [`/agents/${agent.id}/sources`, { type: "text", name: "Hours", text: "We are open at nine." }],
    [`/conversations/${conversation}/messages`, { content: "Hello from the team." }],
    ["/webhooks", { url: "https://hooks.example.com/b", events: ["*"] }],
    [`/webhooks/${hook}/rotate-secret`, undefined],
    [messages, { message: "When are refunds paid?" }],
  ] as const;
  for (const [at, [path, body]] of requests.entries()) {
    const first = await post(path, body, `k-${at + 1}`);
    expect(first.status).toBeLessThan(300);
    const again = await post(path, body, `k-${at + 1}`);
    expect(again).toMatchObject({ status: first.status, body: path.includes("sources") ? { id: first.body.id } : first.body });
  }
  expect((await workspace.call("GET", answers)).body.total).toBe(1);
  expect((await workspace.call("GET", "/webhooks")).body.total).toBe(2);
  expect((await workspace.call("GET", `/conversations/${conversation}`)).body.message_count).toBe(3);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(2);
  for (const record of await kept(workspace)) expect(record).toMatchObject({ status: null, length: null, is_released: 1 });
  const other = await post(answers, { question: "Another?", answer: "Yes." }, "k-1");
  expect(other.body.error.code).toBe("idempotency_conflict");
});

test("a response that cannot be stored is answered all the same, and the log says so", async () => {
  const workspace = await createWorkspace();
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  // Every batch after the one that reserves the key fails.
  let batches = 0;
  const failing = (database: D1Database) => ({
    prepare: (sql: string) => database.prepare(sql),
    batch: (statements: D1PreparedStatement[]) =>
      ++batches === 1 ? database.batch(statements) : Promise.reject(new Error("D1_ERROR: database is locked: SQLITE_BUSY")),
  });
  const { made, statuses } = await repeatLong(workspace, 100, { DB: failing(env.DB), DB_1: failing(env.DB_1) });
  expect([made.length, statuses]).toEqual([1, [201, 503]]);
  expect(log.mock.calls.join()).toContain("response_not_kept");
  log.mockRestore();
});

test("each new key deletes expired records, also between two runs of the sweep", async () => {
  const { workspace, post, answers } = await prepare();
  const body = { question: "How do I cancel?", answer: "In Billing." };
  for (let at = 0; at < 4; at++) await post(answers, body, `old-${at}`);
  await query(workspace.id, "UPDATE idempotency_records SET created_at = created_at - ? WHERE workspace_id = ?", DAY_MS + 1, workspace.id);
  await post(answers, body, "new-1");
  expect(await kept(workspace)).toHaveLength(3);
  await post(answers, body, "new-2");
  expect((await kept(workspace)).map(({ key }) => key).sort()).toEqual(["new-1", "new-2"]);
});

test("a key expires after a day, and the sweep deletes it", async () => {
  const { post, answers, workspace } = await prepare();
  await post(answers, { question: "How do I cancel?", answer: "In Billing." }, "k-1");
  await sweep(env, Date.now() + DAY_MS + 1000);
  const { results } = await database(workspace)
    .prepare("SELECT key FROM idempotency_records WHERE workspace_id = ?")
    .bind(workspace.id)
    .all();
  expect(results).toEqual([]);
  expect((await post(answers, { question: "Another?", answer: "Yes." }, "k-1")).status).toBe(201);
});
