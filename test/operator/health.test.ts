import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { checkQueue, checkWork } from "../../src/operator/health.ts";
import { newId } from "../../src/platform/db/ids.ts";
import wrangler from "../../wrangler.toml?raw";
import { costOf, createAgent, createWorkspaceOn, databases, envWith, newAddress, operate, query, send } from "../harness.ts";
import { listOperations } from "../platform/http/document.ts";
import { addEvent, createReceiver } from "../webhooks/simulation.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The health is the whole deployment's: nothing of other tests may wait. */
beforeEach(async () => {
  for (const database of databases) {
    await database.batch(
      ["deliveries", "sources", "conversations", "email_outbox", "workspaces", "privacy_erasures", "webhook_erasures"].map((table) =>
        database.prepare(`DELETE FROM ${table}`),
      ),
    );
  }
});

/** The answer of a deployment with these bindings to a request; without a token where that is null. */
async function sendWith(bindings: Record<string, unknown>, path: string, token: string | null = env.OPERATOR_TOKEN, method = "GET") {
  const headers = { ...newAddress(), ...(token !== null && { Authorization: `Bearer ${token}` }) };
  const response = await app.fetch(
    new Request(`http://service.test${path}`, { method, headers }),
    envWith(bindings),
    createExecutionContext(),
  );
  return { status: response.status, body: await response.json<any>() };
}

const healthWith = (bindings: Record<string, unknown> = {}) => sendWith(bindings, "/operator/v1/health");

async function workOf(kind: string) {
  const { status, body } = await healthWith();
  return { status, overall: body.status, work: body.work.find((one: any) => one.kind === kind) };
}

test("names the model by which knowledge is found by its meaning", async () => {
  const modelOf = async (bindings: Record<string, unknown>) => (await healthWith(bindings)).body.search_model;
  expect(await modelOf({ ENCODE_SENTENCES: "true" })).toBe("all-MiniLM-L6-v2");
  expect(await modelOf({ ENCODE_SENTENCES: "false" })).toBeNull();
  const server = { OPENAI_BASE_URL: "http://models.example/v1", OPENAI_EMBEDDING_MODEL: "nomic-embed-text" };
  expect(await modelOf({ ENCODE_SENTENCES: "true", ...server })).toMatch(/^nomic-embed-text:/);
});

const MONITORED = { HEALTH_TOKEN: "new-health, old-health" };
const DEEP = "/healthz?deep=1";

test("a health token reads the health, and opens no other operation of any API", async () => {
  for (const path of ["/operator/v1/health", DEEP]) {
    for (const token of ["new-health", "old-health", env.OPERATOR_TOKEN])
      expect(await sendWith(MONITORED, path, token)).toMatchObject({ status: 200, body: { status: "ok", databases: [{}, {}] } });
    for (const token of ["health", "new-health,", "new-health2", null])
      expect(await sendWith(MONITORED, path, token)).toMatchObject({ status: 401, body: { error: {} } });
  }
  for (const root of ["/operator/v1", "/api/v1"]) {
    for (const { operationId, method, path } of await listOperations(root)) {
      if (operationId === "getHealth") continue;
      const known = path.replaceAll(/\{\w+\}/g, newId(0, 0));
      expect((await sendWith(MONITORED, root + known, "new-health", method)).status, operationId).toBe(401);
    }
  }
  expect((await sendWith(MONITORED, "/operator/v1/health/", "new-health")).status).toBe(401);
});

test("without a health token, only the operator's token reads the health; without either, there is none", async () => {
  for (const HEALTH_TOKEN of [undefined, "", ","]) {
    expect((await sendWith({ HEALTH_TOKEN }, DEEP)).status).toBe(200);
    expect((await sendWith({ HEALTH_TOKEN }, DEEP, "undefined")).status).toBe(401);
    expect((await sendWith({ HEALTH_TOKEN, OPERATOR_TOKEN: "" }, DEEP)).status).toBe(404);
  }
});

test("the deep health check is 503 while anything is not ok, and the plain one asks nothing", async () => {
  const full = { ...MONITORED, DELIVERY_QUEUE: { metrics: async () => ({ backlogCount: 10_001 }) } };
  const { status, body } = await sendWith(full, DEEP, "new-health");
  expect([status, body.status]).toEqual([503, "degraded"]);
  expect(body.queues.filter(({ ok }: any) => !ok)).toMatchObject([{ queue: "DELIVERY_QUEUE", messages: 10_001 }]);
  const down = {
    ...MONITORED,
    DB: { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new Error("it is down")) },
  };
  expect(await sendWith(down, DEEP, "new-health")).toMatchObject({ status: 503, body: { databases: [{ ok: false }, { ok: true }] } });
  expect(await sendWith({ ...MONITORED, KEY_SECRET: "" }, DEEP, "new-health")).toMatchObject({ status: 503, body: { error: {} } });
  for (const bindings of [full, down]) expect(await sendWith(bindings, "/healthz", null)).toEqual({ status: 200, body: { status: "ok" } });
});

test("nothing waits: ok, with every database, queue and kind of work", async () => {
  const { status, body } = await healthWith();
  expect([status, body.status]).toEqual([200, "ok"]);
  expect(body.databases).toEqual(["DB", "DB_1"].map((binding) => ({ binding, ok: true, duration_ms: expect.any(Number) })));
  const produced = new Set([...wrangler.matchAll(/^ *\{ binding = "(\w+)", queue = "[\w-]+" \}/gm)].map(([, name]) => name));
  expect(new Set(body.queues.map(({ queue }: any) => queue))).toEqual(produced);
  expect(body.queues).toHaveLength(6);
  expect(body.work).toHaveLength(9);
  for (const work of body.work) expect(work).toMatchObject({ ok: true, waiting: 0, oldest: null });
});

test("a health check costs one trip to each database, and calls no object", async () => {
  expect(await costOf(() => operate("GET", "/health"))).toMatchObject({ operation: "getHealth", object_hops: 0, d1_trips: 2 });
  const deep = () => send("GET", DEEP, { token: env.OPERATOR_TOKEN });
  expect(await costOf(deep)).toMatchObject({ surface: "healthz", object_hops: 0, d1_trips: 2 });
  expect(await costOf(() => send("GET", "/healthz"))).toMatchObject({ object_hops: 0, d1_trips: 0 });
});

test("a queue reports how many messages wait, and since when", async () => {
  const beforeMs = Date.now();
  await env.ERASURE_QUEUE.send({ workspaceId: newId(0, beforeMs) });
  const { body } = await healthWith();
  const erasure = body.queues.find(({ queue }: any) => queue === "ERASURE_QUEUE");
  expect(erasure).toMatchObject({ ok: true, allowed_messages: 10_000 });
  expect(erasure.messages).toBeGreaterThanOrEqual(1);
  expect(Date.parse(erasure.oldest_message_at)).toBeLessThanOrEqual(Date.now());
});

test("a queue without metrics is null, and does not degrade the status", async () => {
  const silent = { metrics: () => Promise.reject(new Error("not here")) };
  const { status, body } = await healthWith({ INGESTION_QUEUE: silent, CRAWL_QUEUE: {} });
  expect([status, body.status]).toEqual([200, "ok"]);
  for (const at of [0, 1]) expect(body.queues[at]).toMatchObject({ ok: true, messages: null, oldest_message_at: null });
});

test("a queue with too many messages is degraded; slow deliveries may wait", async () => {
  const full = { metrics: async () => ({ backlogCount: 10_001, backlogBytes: 1, oldestMessageTimestamp: new Date(0) }) };
  const { status, body } = await healthWith({ DELIVERY_QUEUE: full, SLOW_DELIVERY_QUEUE: full });
  expect([status, body.status]).toEqual([200, "degraded"]);
  expect(body.queues.filter(({ ok }: any) => !ok)).toMatchObject([{ queue: "DELIVERY_QUEUE", messages: 10_001 }]);
});

for (const shard of [0, 1]) {
  test(`shard ${shard} cannot be reached: 503, and the other one is reported`, async () => {
    const other = await createWorkspaceOn(1 - shard);
    await operate("DELETE", `/workspaces/${other.id}`);
    const down = { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new Error("D1_ERROR: it is down")) };
    const { status, body } = await healthWith({ [shard === 0 ? "DB" : "DB_1"]: down });
    expect([status, body.status]).toEqual([503, "degraded"]);
    expect(body.databases.map(({ ok }: any) => ok)).toEqual([shard !== 0, shard !== 1]);
    expect(body.work.find(({ kind }: any) => kind === "workspace_erasures")).toMatchObject({ waiting: 1, oldest: { id: other.id } });
  });

  test(`shard ${shard}: a source that waits too long, or whose reader died, degrades`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    const create = async (changes: string) => {
      const source = { type: "text", name: "A", text: "Refunds are paid." };
      const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, source);
      await query(body.id, `UPDATE sources SET ${changes} WHERE id = ?`, body.id);
      return body.id as string;
    };
    const nowMs = Date.now();
    await create(`status = 'ready', updated_at = 1`);
    // Somebody works on it, or it rests until its time.
    await create(`status = 'processing', updated_at = 1, lease_until = ${nowMs + HOUR}`);
    const fresh = await create(`updated_at = ${nowMs - 9 * MINUTE}`);
    expect(await workOf("sources")).toMatchObject({ status: 200, overall: "ok", work: { waiting: 1, oldest: { id: fresh } } });
    const dead = await create(`status = 'processing', updated_at = ${nowMs - HOUR}, lease_until = ${nowMs - 11 * MINUTE}`);
    const since = new Date(nowMs - 11 * MINUTE).toISOString();
    const { status, overall, work } = await workOf("sources");
    expect([status, overall]).toEqual([200, "degraded"]);
    expect(work).toMatchObject({ ok: false, waiting: 2, allowed_seconds: 600, oldest: { id: dead, workspace_id: workspace.id, since } });
    expect(work.oldest.age_seconds).toBeGreaterThanOrEqual(660);
    expect(work.oldest.age_seconds).toBeLessThan(700);
  });
}

test("a delivery that is not sent degrades, even if the sweep woke it a minute ago", async () => {
  const receiver = await createReceiver();
  const nowMs = Date.now();
  const [id] = (await addEvent([receiver], nowMs)) as [string];
  const set = (changes: string) => query(id, `UPDATE deliveries SET ${changes} WHERE id = ?`, id);
  await set(`created_at = ${nowMs - 11 * MINUTE}, next_attempt_at = ${nowMs - MINUTE}`);
  const late = { ok: false, waiting: 1, oldest: { id, age_seconds: expect.any(Number) } };
  expect(await workOf("deliveries")).toMatchObject({ overall: "degraded", work: late });
  // A delivery that was attempted has been waiting since its next attempt was due.
  await set("attempt_count = 1");
  expect(await workOf("deliveries")).toMatchObject({ overall: "ok", work: { ok: true, waiting: 1 } });
  // Somebody sends it.
  await set(`lease_until = ${nowMs + MINUTE}`);
  expect(await workOf("deliveries")).toMatchObject({ work: { waiting: 0, oldest: null } });
  await set(`lease_until = NULL, attempt_count = 0, next_attempt_at = ${nowMs + MINUTE}`);
  expect(await workOf("deliveries")).toMatchObject({ work: { waiting: 0 } });
});

test("deliveries of a slow endpoint are reported, and do not degrade the status", async () => {
  const receiver = await createReceiver();
  const [id] = (await addEvent([receiver], Date.now() - HOUR)) as [string];
  await query(id, "UPDATE deliveries SET created_at = ? WHERE id = ?", Date.now() - HOUR, id);
  await query(receiver.id, "UPDATE webhook_endpoints SET failure_streak = 1 WHERE id = ?", receiver.id);
  expect(await workOf("deliveries")).toMatchObject({ overall: "ok", work: { waiting: 0 } });
  expect(await workOf("slow_deliveries")).toMatchObject({
    overall: "ok",
    work: { ok: true, waiting: 1, allowed_seconds: null, oldest: { id } },
  });
});

test("a mail that is not sent degrades", async () => {
  const [id, workspaceId] = [newId(1, Date.now()), newId(1, Date.now())];
  const columns = "message_id, workspace_id, conversation_id, status, next_attempt_at, created_at";
  await query(id, `INSERT INTO email_outbox (${columns}) VALUES (?, ?, ?, 'pending', ?, 1)`, id, workspaceId, id, Date.now() + MINUTE);
  expect(await workOf("mails")).toMatchObject({ work: { waiting: 0 } });
  await query(id, "UPDATE email_outbox SET next_attempt_at = ?", Date.now() - 11 * MINUTE);
  const oldest = { id, workspace_id: workspaceId };
  expect(await workOf("mails")).toMatchObject({ overall: "degraded", work: { ok: false, waiting: 1, oldest } });
  await query(id, "UPDATE email_outbox SET lease_until = ?", Date.now() + MINUTE);
  expect(await workOf("mails")).toMatchObject({ overall: "ok", work: { waiting: 0 } });
});

test("mails that the account's configuration keeps back are a fault with its remedy, until it is mended", async () => {
  const nowMs = Date.now();
  const columns = "message_id, workspace_id, conversation_id, status, error, next_attempt_at, created_at";
  const add = async (shard: number, error: string | null, createdAt: number, status = "pending") => {
    const id = newId(shard, nowMs);
    await query(
      id,
      `INSERT INTO email_outbox (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      id,
      id,
      id,
      status,
      error,
      nowMs + HOUR,
      createdAt,
    );
  };
  await add(0, "E_SENDER_NOT_VERIFIED", nowMs - MINUTE);
  await add(1, "E_SENDER_NOT_VERIFIED", nowMs - HOUR);
  await add(1, "E_DELIVERY_FAILED", nowMs);
  await add(1, null, nowMs);
  await add(1, "E_RECIPIENT_NOT_ALLOWED", nowMs, "failed");
  const { status, body } = await healthWith();
  const fault = { part: "mail", error: "E_SENDER_NOT_VERIFIED", ok: false, count: 2, since: new Date(nowMs - HOUR).toISOString() };
  expect([status, body.status, body.faults]).toEqual([200, "degraded", [{ ...fault, remedy: expect.stringContaining("Email Sending") }]]);
  for (const database of databases) await database.prepare("UPDATE email_outbox SET status = 'sent', error = NULL").run();
  expect((await healthWith()).body).toMatchObject({ status: "ok", faults: [] });
});

test("failures of the model are reported for an hour, those that are all reasoning apart from others; a third one degrades", async () => {
  const workspace = await createWorkspaceOn(1);
  const agent = await createAgent(workspace);
  const fail = async (failure: string | null, requestedAt = Date.now()) => {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello, how much?" });
    const set = "reason = 'model_failure', failure = ?, requested_at = ?";
    await query(agent.id, `UPDATE handoffs SET ${set} WHERE conversation_id = ?`, failure, requestedAt, asked.body.conversation_id);
  };
  for (let at = 0; at < 2; at++) await fail("the reply is all reasoning");
  await fail("status 500");
  await fail("status 401", Date.now() - HOUR - 1);
  await fail(null);
  const { body } = await healthWith();
  const fault = { part: "model", ok: true, since: expect.any(String), remedy: expect.any(String) };
  expect([body.status, body.faults.toSorted((a: any, b: any) => a.count - b.count)]).toEqual([
    "ok",
    [
      { ...fault, error: "status 500", count: 1 },
      { ...fault, error: "the reply is all reasoning", count: 2, remedy: expect.stringContaining("Choose another") },
    ],
  ]);
  await fail("status 500");
  await fail("status 500");
  const { body: later } = await healthWith();
  expect([later.status, later.faults.map(({ ok, count }: any) => [ok, count]).toSorted()]).toEqual([
    "degraded",
    [
      [false, 3],
      [true, 2],
    ],
  ]);
  await query(agent.id, "DELETE FROM handoffs");
});

test("syncs and idle conversations that cron has missed degrade", async () => {
  const workspace = await createWorkspaceOn(1);
  const agent = await createAgent(workspace);
  const lateMs = Date.now() - 11 * MINUTE;
  const source = { type: "url", name: "A", url: "https://example.com" };
  const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, source);
  await query(body.id, "UPDATE sources SET status = 'ready', next_sync_at = ? WHERE id = ?", lateMs, body.id);
  expect(await workOf("syncs")).toMatchObject({ overall: "degraded", work: { ok: false, waiting: 1, oldest: { id: body.id } } });
  await query(body.id, "UPDATE sources SET next_sync_at = NULL WHERE id = ?", body.id);
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello" });
  const id = asked.body.conversation_id;
  await query(id, "UPDATE conversations SET status = 'ai_handled', idle_at = ? WHERE id = ?", lateMs, id);
  expect(await workOf("idle_conversations")).toMatchObject({ overall: "degraded", work: { ok: false, waiting: 1, oldest: { id } } });
});

test.for([
  ["person_erasures", "privacy_erasures", HOUR],
  ["webhook_erasures", "webhook_erasures", 24 * HOUR],
] as const)("%s that take too long degrade", async ([kind, table, allowedMs]) => {
  const [id, workspaceId] = [newId(1, Date.now()), newId(1, Date.now())];
  const columns = table === "privacy_erasures" ? "id, workspace_id, created_at, identifier" : "id, workspace_id, created_at";
  const values = [id, workspaceId, Date.now() - allowedMs + MINUTE, ...(table === "privacy_erasures" ? [""] : [])];
  await query(id, `INSERT INTO ${table} (${columns}) VALUES (${values.map(() => "?").join()})`, ...values);
  expect(await workOf(kind)).toMatchObject({ overall: "ok", work: { ok: true, waiting: 1, oldest: { id, workspace_id: workspaceId } } });
  await query(id, `UPDATE ${table} SET created_at = ?`, Date.now() - allowedMs - MINUTE);
  expect(await workOf(kind)).toMatchObject({ overall: "degraded", work: { ok: false } });
});

test("rows that the sweep skips are not counted: of a workspace being imported, and syncs of one being erased", async () => {
  const workspace = await createWorkspaceOn(1);
  const agent = await createAgent(workspace);
  const lateMs = Date.now() - 25 * HOUR;
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello" });
  const run = (sql: string, ...values: unknown[]) => query(workspace.id, sql, ...values);
  await run("UPDATE conversations SET status = 'ai_handled', idle_at = ? WHERE id = ?", lateMs, asked.body.conversation_id);
  const sources = [
    { status: "ready", next_sync_at: lateMs },
    { status: "pending", next_sync_at: null },
  ];
  for (const { status, next_sync_at } of sources) {
    const source = { type: "url", name: status, url: `https://example.com/${status}` };
    const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, source);
    await run("UPDATE sources SET status = ?, next_sync_at = ?, updated_at = ? WHERE id = ?", status, next_sync_at, lateMs, body.id);
  }
  const id = newId(1, lateMs);
  await run("INSERT INTO privacy_erasures (id, workspace_id, identifier, created_at) VALUES (?, ?, '', ?)", id, workspace.id, lateMs);
  await run("INSERT INTO webhook_erasures (id, workspace_id, created_at) VALUES (?, ?, ?)", id, workspace.id, lateMs);
  const mail = "message_id, workspace_id, conversation_id, status, next_attempt_at, created_at";
  await run(`INSERT INTO email_outbox (${mail}) VALUES (?, ?, ?, 'pending', ?, ?)`, id, workspace.id, id, lateMs, lateMs);
  const delivery = "id, workspace_id, webhook_id, event_id, event_type, trigger, status, next_attempt_at, created_at";
  await run(
    `INSERT INTO deliveries (${delivery}) VALUES (?, ?, ?, ?, 'x', 'event', 'pending', ?, ?)`,
    id,
    workspace.id,
    id,
    id,
    lateMs,
    lateMs,
  );
  const waiting = async () => {
    const { body } = await healthWith();
    return Object.fromEntries(body.work.flatMap((one: any) => (one.waiting > 0 ? [[one.kind, one.waiting]] : [])));
  };
  const others = { slow_deliveries: 1, mails: 1, sources: 1, idle_conversations: 1, person_erasures: 1, webhook_erasures: 1 };
  expect(await waiting()).toEqual({ ...others, syncs: 1 });
  await run("UPDATE workspaces SET deleted_at = ? WHERE id = ?", Date.now(), workspace.id);
  expect(await waiting()).toEqual({ ...others, workspace_erasures: 1 });
  // An import's workspace has no row of its own yet.
  await run("DELETE FROM workspaces WHERE id = ?", workspace.id);
  await run("INSERT INTO workspace_imports (workspace_id, export_id, created_at) VALUES (?, 'x', 1)", workspace.id);
  expect(await waiting()).toEqual({});
});

test("a workspace that is not erased a day after its deletion degrades", async () => {
  const workspace = await createWorkspaceOn(1);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  const oldest = { id: workspace.id, workspace_id: workspace.id };
  expect(await workOf("workspace_erasures")).toMatchObject({ overall: "ok", work: { ok: true, waiting: 1, oldest } });
  await query(workspace.id, "UPDATE workspaces SET deleted_at = ? WHERE id = ?", Date.now() - 25 * HOUR, workspace.id);
  expect(await workOf("workspace_erasures")).toMatchObject({ overall: "degraded", work: { ok: false, oldest } });
});

test("the oldest of all databases counts; exactly the allowed age is healthy", () => {
  const none = { count: 0, id: null, workspaceId: null, sinceMs: null };
  const at = (sinceMs: number, count = 1) => ({ count, id: `${sinceMs}`, workspaceId: "w", sinceMs });
  const limit = 600_000;
  expect(checkWork("sources", [none, at(5, 2), at(4), none], limit + 4)).toMatchObject({ count: 3, ageMs: limit, isOk: true });
  expect(checkWork("sources", [at(4), at(5)], limit + 5)).toMatchObject({ oldest: { id: "4" }, isOk: false });
  expect(checkWork("sources", [none], 5)).toMatchObject({ oldest: undefined, ageMs: 0, isOk: true });
  // Another machine's clock is ahead.
  expect(checkWork("sources", [at(9)], 5)).toMatchObject({ ageMs: 0, isOk: true });
  expect(checkQueue("ERASURE_QUEUE", { messages: 10_000, oldestAtMs: 1 }).isOk).toBe(true);
});
