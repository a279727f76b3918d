import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { readContent } from "../../src/attachments/contents.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { ExtractiveEngine } from "../../src/extractive/engine.ts";
import type { Model } from "../../src/models/model.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { eraseConversations } from "../../src/privacy/erase.ts";
import { prune } from "../../src/privacy/retention.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { cutoffsOf, DEFAULT_RETENTION, retentionOf } from "../../src/workspaces/retention.ts";
import {
  type Answer,
  createAgent,
  createNeighbour,
  createWorkspace,
  createWorkspaceOn,
  deliver,
  envWith,
  evict,
  fileForm,
  learn,
  listen,
  operate,
  PNG,
  query,
  send,
  sessionStorage,
  unfinishedIn,
  type Workspace,
} from "../harness.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;
const QUEUE = "support-agent-erasure";
const KNOWN = "When are refunds paid?";

/** Sets how long a workspace keeps its records. */
const keep = (workspace: Workspace, retention: Record<string, number | null>) =>
  operate("PATCH", `/workspaces/${workspace.id}`, { retention });

/** A workspace whose agent knows something, and listens to its events. */
async function createFixture(shard = 0): Promise<{ workspace: Workspace; agentId: string }> {
  const workspace = await createWorkspaceOn(shard);
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await learn(workspace, agent.id, "Refunds are paid within five working days.");
  await listen(workspace);
  return { workspace, agentId: agent.id };
}

/** Asks as one person, and gives back the conversation's identifier. */
async function ask(workspace: Workspace, agentId: string, userId: string, message = KNOWN): Promise<string> {
  const { status, body } = await workspace.call("POST", `/agents/${agentId}/messages`, { message, user: { id: userId } });
  expect(status).toBe(200);
  return body.conversation_id;
}

async function leaveLead(agentId: string, email: string): Promise<string> {
  const { status, body } = await send("POST", `/widget/v1/agents/${agentId}/leads`, { body: { email } });
  expect(status).toBe(201);
  return body.id;
}

/** Makes a conversation as old as that, in days since its last activity. */
const age = (id: string, days: number) => query(id, "UPDATE conversations SET updated_at = ? WHERE id = ?", Date.now() - days * DAY, id);
const ageLead = (id: string, days: number) => query(id, "UPDATE leads SET created_at = ? WHERE id = ?", Date.now() - days * DAY, id);

/** Runs the sweep, and returns the workspaces whose retention it wakes. */
async function sweepAt(nowMs: number): Promise<string[]> {
  const woken: string[] = [];
  const sendBatch = async (messages: { body: { workspaceId: string; prune?: true } }[]) =>
    void woken.push(...messages.flatMap(({ body }) => (body.prune ? body.workspaceId : [])));
  await sweep(envWith({ ERASURE_QUEUE: { sendBatch } }), nowMs);
  return woken;
}

/** Delivers the wake-up until nothing is due, as the queue would. */
async function pruneAll(workspaceId: string): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {};
  for (let run = 0; run < 20; run++) {
    const log = vi.spyOn(console, "log");
    expect(await deliver(QUEUE, { workspaceId, prune: true })).toMatchObject({ explicitAcks: [expect.any(String)] });
    const line = log.mock.calls.map(([text]) => JSON.parse(String(text))).find(({ event }) => event === "pruned");
    log.mockRestore();
    for (const [kind, count] of Object.entries<unknown>(line)) if (typeof count === "number") deleted[kind] = (deleted[kind] ?? 0) + count;
    if (line.is_done) return deleted;
  }
  throw new Error("The pruning does not end");
}

const TABLES = ["conversations", "messages", "handoffs", "visitors", "leads", "events", "deliveries", "delivery_attempts"];

async function countsOf({ id }: Workspace): Promise<Record<string, number>> {
  const parts = TABLES.map((table) => `(SELECT count(*) FROM ${table} WHERE workspace_id = ?1) AS ${table}`);
  return (await query<Record<string, number>>(id, `SELECT ${parts.join()}`, id))[0]!;
}

const idsOf = async (workspace: Workspace, path: string) =>
  (await workspace.call("GET", path)).body.data.map((row: { id: string }) => row.id);

test("by default a workspace keeps everything except its event log", async () => {
  const workspace = await createWorkspace();
  const read = async () => (await operate("GET", `/workspaces/${workspace.id}`)).retention;
  expect(await read()).toEqual({ conversations_days: null, leads_days: null, event_log_days: 30 });
  expect((await keep(workspace, { conversations_days: 90 })).retention).toEqual({ ...DEFAULT_RETENTION, conversations_days: 90 });
  // A field that is not named stays; null restores the default.
  await keep(workspace, { leads_days: 30, event_log_days: 1 });
  expect(await read()).toEqual({ conversations_days: 90, leads_days: 30, event_log_days: 1 });
  await keep(workspace, { conversations_days: null, event_log_days: null });
  expect(await read()).toEqual({ conversations_days: null, leads_days: 30, event_log_days: 30 });
  expect((await operate("PATCH", `/workspaces/${workspace.id}`, { name: "New" })).retention.leads_days).toBe(30);
});

test.for([
  ["conversations_days", 29, "greater_than_equal"],
  ["conversations_days", 3651, "less_than_equal"],
  ["leads_days", 0, "greater_than_equal"],
  ["event_log_days", 31, "less_than_equal"],
  ["event_log_days", 0, "greater_than_equal"],
  ["leads_days", "30", "int_type"],
])("%s as %s is refused", async ([name, value, type]) => {
  const workspace = await createWorkspace();
  const path = `/operator/v1/workspaces/${workspace.id}`;
  const { status, body } = await send("PATCH", path, { token: env.OPERATOR_TOKEN, body: { retention: { [name!]: value } } });
  expect([status, body.detail[0].type, body.detail[0].loc]).toEqual([422, type, ["body", "retention", name]]);
});

test("cutoffs follow the retention settings", () => {
  expect(retentionOf({ leads_days: 40 })).toEqual({ conversations_days: null, leads_days: 40, event_log_days: 30 });
  expect(cutoffsOf({}, 100 * DAY)).toEqual({ conversationsMs: undefined, leadsMs: undefined, eventLogMs: undefined });
  expect(cutoffsOf({ conversations_days: 30, leads_days: 100, event_log_days: 1 }, 100 * DAY)).toEqual({
    conversationsMs: 70 * DAY,
    leadsMs: 0,
    eventLogMs: 99 * DAY,
  });
});

for (const shard of [0, 1]) {
  test(`shard ${shard}: conversations go so long after their last activity, whatever their status, with all that tells of them`, async () => {
    const { workspace, agentId } = await createFixture(shard);
    const old: string[] = [];
    for (const status of ["resolved", "open", "needs_human", "human_active"]) {
      const id = await ask(workspace, agentId, `old-${status}`);
      await workspace.call("PATCH", `/conversations/${id}`, { status });
      old.push(id);
    }
    old.push(await ask(workspace, agentId, "old-handed", "What is the capital of Mars?"));
    const fresh = await ask(workspace, agentId, "fresh");
    const before = await countsOf(workspace);
    const days = await query(workspace.id, "SELECT day, messages, conversations FROM analytics_days WHERE workspace_id = ?", workspace.id);
    for (const id of old) await age(id, 30.001);
    await age(fresh, 29.999);
    await runInDurableObject(env.SESSION.getByName(`${workspace.id}/${old[0]}`), (_, { storage }) => storage.put("left", KNOWN));
    await keep(workspace, { conversations_days: 30 });
    const deleted = await pruneAll(workspace.id);
    const after = await countsOf(workspace);
    expect(deleted).toMatchObject({ conversations: 5, messages: 10, handoffs: before["handoffs"]!, visitors: 5 });
    // Exactly what it says, and nothing else.
    for (const table of TABLES) expect([table, after[table]]).toEqual([table, before[table]! - (deleted[table] ?? 0)]);
    expect(after).toMatchObject({ conversations: 1, messages: 2, handoffs: 0, visitors: 1 });
    expect(await idsOf(workspace, "/conversations")).toEqual([fresh]);
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
    expect((await sessionStorage(workspace.id, old[0]!)).entries).toEqual([]);
    const eventsLeft = await query(workspace.id, "SELECT DISTINCT conversation_id AS id FROM events WHERE workspace_id = ?", workspace.id);
    expect(eventsLeft.map(({ id }) => id).filter((id) => old.includes(id as string))).toEqual([]);
    // Deleted records remain in the counters.
    expect(
      await query(workspace.id, "SELECT day, messages, conversations FROM analytics_days WHERE workspace_id = ?", workspace.id),
    ).toEqual(days);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(6);
  });

  test(`shard ${shard}: leads go so long after they were left, from the list and from the search`, async () => {
    const { workspace, agentId } = await createFixture(shard);
    const mark = crypto.randomUUID().slice(0, 8);
    const old = await leaveLead(agentId, `old-${mark}@example.com`);
    const fresh = await leaveLead(agentId, `fresh-${mark}@example.com`);
    await ageLead(old, 45.001);
    await ageLead(fresh, 44.999);
    await keep(workspace, { leads_days: 45 });
    expect(await pruneAll(workspace.id)).toMatchObject({ leads: 1 });
    expect(await idsOf(workspace, "/leads")).toEqual([fresh]);
    expect((await workspace.call("GET", `/leads?q=${mark}`)).body).toMatchObject({ total: 1, data: [{ id: fresh }] });
    const events = await query(workspace.id, "SELECT lead_id FROM events WHERE workspace_id = ? AND lead_id IS NOT NULL", workspace.id);
    expect(events).toEqual([{ lead_id: fresh }]);
  });
}

test("a visitor is erased with their last record, merged visitors included", async () => {
  const { workspace, agentId } = await createFixture();
  const visit = await send("POST", `/widget/v1/agents/${agentId}/messages`, { body: { message: KNOWN } });
  const token = visit.body.visitor_token;
  const lead = (await send("POST", `/widget/v1/agents/${agentId}/leads`, { body: { email: "ann@example.com", visitor_token: token } }))
    .body;
  const visitorOf = async () => query(workspace.id, "SELECT id FROM visitors WHERE workspace_id = ?", workspace.id);
  const [visitor] = await visitorOf();
  // Another one, that turned out to be the same person.
  const merged = newId(shardOf(workspace.id), Date.now());
  const insert =
    "INSERT INTO visitors (id, workspace_id, anon_id, verified, merged_into, created_at, updated_at) VALUES (?, ?, 'a', 0, ?, 1, 1)";
  await query(workspace.id, insert, merged, workspace.id, visitor!["id"]);
  await age(visit.body.conversation_id, 100);
  await keep(workspace, { conversations_days: 60 });
  expect(await pruneAll(workspace.id)).toMatchObject({ conversations: 1, visitors: 0 });
  expect(await visitorOf()).toHaveLength(2);
  await ageLead(lead.id, 100);
  await keep(workspace, { leads_days: 60 });
  expect(await pruneAll(workspace.id)).toMatchObject({ leads: 1, visitors: 2 });
  expect(await visitorOf()).toEqual([]);
});

test("a shorter event log deletes finished deliveries, but no pending ones and none of another workspace", async () => {
  const { workspace, agentId } = await createFixture();
  const neighbour = await createNeighbour(workspace);
  const theirs = await createAgent(neighbour);
  await listen(neighbour);
  for (const [{ id }, agent] of [
    [workspace, agentId],
    [neighbour, theirs.id],
  ] as const) {
    await leaveLead(agent, "ann@example.com");
    await leaveLead(agent, "bob@example.com");
    await query(id, "UPDATE deliveries SET status = 'succeeded', next_attempt_at = NULL WHERE workspace_id = ?", id);
    const attempt = `INSERT INTO delivery_attempts (delivery_id, workspace_id, number, started_at, duration_ms, url)
      SELECT id, workspace_id, 1, 1, 1, 'u' FROM deliveries WHERE workspace_id = ?`;
    await query(id, attempt, id);
  }
  // This delivery waits for its next attempt.
  const pending = `UPDATE deliveries SET status = 'pending', next_attempt_at = 9e15 WHERE id = (SELECT max(id) FROM deliveries WHERE workspace_id = ?)`;
  await query(workspace.id, pending, workspace.id);
  const [before, beside] = [await countsOf(workspace), await countsOf(neighbour)];
  expect(before["events"]).toBeGreaterThanOrEqual(2);
  await keep(workspace, { event_log_days: 2 });
  await prune(env, { workspaceId: workspace.id }, Date.now() + 2 * DAY - HOUR);
  expect(await countsOf(workspace)).toEqual(before);
  await prune(env, { workspaceId: workspace.id }, Date.now() + 2 * DAY + HOUR);
  const after = await countsOf(workspace);
  expect(after).toEqual({ ...before, events: 1, deliveries: 1, delivery_attempts: 1 });
  expect(await countsOf(neighbour)).toEqual(beside);
});

test("the event of a lead is kept as long as others, though the lead's id has the time at which the day began", async () => {
  const nowMs = Math.floor(Date.now() / DAY) * DAY + 12 * HOUR;
  vi.useFakeTimers({ toFake: ["Date"], now: nowMs });
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  // Events are recorded once they are read.
  await workspace.call("GET", "/events");
  const lead = await leaveLead(agent.id, "ann@example.com");
  vi.useRealTimers();
  await keep(workspace, { event_log_days: 1 });
  const stored = () => query(workspace.id, "SELECT lead_id FROM events WHERE workspace_id = ?", workspace.id);
  await prune(env, { workspaceId: workspace.id }, nowMs + DAY - HOUR);
  expect(await stored()).toEqual([{ lead_id: lead }]);
  await prune(env, { workspaceId: workspace.id }, nowMs + DAY + HOUR);
  expect(await stored()).toEqual([]);
});

test("the sweep prunes a workspace immediately when its settings change, then each hour, and no other", async () => {
  const [workspace, other] = [await createWorkspace(), await createWorkspace()];
  const now = Date.now() + 1000;
  expect(await sweepAt(now)).not.toContain(workspace.id);
  await keep(workspace, { conversations_days: 400 });
  const woken = await sweepAt(now);
  expect(woken.filter((id) => id === workspace.id)).toHaveLength(1);
  expect(woken).not.toContain(other.id);
  expect(await sweepAt(now + HOUR - 1)).not.toContain(workspace.id);
  expect(await sweepAt(now + HOUR)).toContain(workspace.id);
  await keep(workspace, { conversations_days: 300 });
  expect(await sweepAt(now + HOUR + 1)).toContain(workspace.id);
  await keep(workspace, { conversations_days: null });
  expect(await sweepAt(now + 10 * HOUR)).not.toContain(workspace.id);
});

test("a shorter setting takes effect, and a longer one keeps the rest", async () => {
  const { workspace, agentId } = await createFixture();
  const [first, second, third] = [
    await ask(workspace, agentId, "a"),
    await ask(workspace, agentId, "b"),
    await ask(workspace, agentId, "c"),
  ];
  for (const [id, days] of [
    [first, 300],
    [second, 200],
    [third, 100],
  ] as const) {
    await age(id, days);
  }
  await keep(workspace, { conversations_days: 250 });
  await pruneAll(workspace.id);
  expect(await idsOf(workspace, "/conversations")).toEqual([third, second]);
  await keep(workspace, { conversations_days: 150 });
  await pruneAll(workspace.id);
  await keep(workspace, { conversations_days: 50 });
  await keep(workspace, { conversations_days: 400 });
  expect(await pruneAll(workspace.id)).toMatchObject({});
  expect(await idsOf(workspace, "/conversations")).toEqual([third]);
});

/** Conversations of one person as a long history has them, without going through as many questions. */
async function addHistory({ id: workspaceId }: Workspace, agentId: string, count: number, days: number): Promise<void> {
  const ids = JSON.stringify(Array.from({ length: count }, () => newId(shardOf(workspaceId), Date.now())));
  const atMs = Date.now() - days * DAY;
  await query(
    workspaceId,
    `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
       SELECT value, ?, ?, 'api', 'resolved', ?, ?, ? FROM json_each(?)`,
    workspaceId,
    agentId,
    atMs,
    atMs,
    atMs,
    ids,
  );
}

test("a long history is erased in bounded steps, and a later run erases the conversations that failed", async () => {
  const { workspace, agentId } = await createFixture();
  await addHistory(workspace, agentId, 120, 400);
  const kept = await ask(workspace, agentId, "fresh");
  await keep(workspace, { conversations_days: 365 });
  const left = async () => (await countsOf(workspace))["conversations"];
  // The objects fail in the second step: the queue tries the message again.
  let erased = 0;
  const SESSION = {
    getByName: (name: string) => ({
      eraseIdle: async () => {
        if (++erased > 70) throw new Error("the object is out of reach");
        return env.SESSION.getByName(name).eraseIdle();
      },
    }),
  };
  await expect(prune(envWith({ SESSION }), { workspaceId: workspace.id })).rejects.toThrow("out of reach");
  expect(await left()).toBe(51);
  expect(await prune(env, { workspaceId: workspace.id }, Date.now() + 2 * MINUTE)).toBe("pruned");
  expect(await idsOf(workspace, "/conversations")).toEqual([kept]);
});

test("conversations that always fail do not keep later ones, or expired leads, from being erased", async () => {
  const { workspace, agentId } = await createFixture();
  await addHistory(workspace, agentId, 60, 500);
  const broken = new Set(await idsOf(workspace, "/conversations?limit=60"));
  const later = await ask(workspace, agentId, "later");
  await age(later, 400);
  await ageLead(await leaveLead(agentId, "ann@example.com"), 400);
  await keep(workspace, { conversations_days: 365, leads_days: 365 });
  const SESSION = {
    getByName: (name: string) =>
      broken.has(name.split("/")[1]!)
        ? { eraseIdle: () => Promise.reject(new Error("the object is broken")) }
        : env.SESSION.getByName(name),
  };
  await expect(prune(envWith({ SESSION }), { workspaceId: workspace.id })).rejects.toThrow("broken");
  expect(await countsOf(workspace)).toMatchObject({ conversations: 60, leads: 0 });
  expect((await workspace.call("GET", `/conversations/${later}`)).status).toBe(404);
});

test("a run that does not finish wakes the next one", async () => {
  const { workspace, agentId } = await createFixture();
  await addHistory(workspace, agentId, 450, 400);
  await keep(workspace, { conversations_days: 365 });
  const sent: unknown[] = [];
  const ERASURE_QUEUE = { sendBatch: async (messages: { body: unknown }[]) => void sent.push(...messages.map(({ body }) => body)) };
  expect(await prune(envWith({ ERASURE_QUEUE }), { workspaceId: workspace.id })).toBe("goes_on");
  expect((await countsOf(workspace))["conversations"]).toBe(50);
  expect(sent).toEqual([{ workspaceId: workspace.id, prune: true }]);
  expect(await prune(envWith({ ERASURE_QUEUE }), { workspaceId: workspace.id })).toBe("pruned");
  expect((await countsOf(workspace))["conversations"]).toBe(0);
  expect(sent).toHaveLength(1);
});

/** The sessions, the real ones; something happens before, or after, one of them is asked whether it may be erased. */
function sessionsWith(conversationId: string, around: { before?: () => Promise<unknown>; after?: () => void }): Env {
  const getByName = (name: string) => ({
    eraseIdle: async () => {
      const isIt = name.endsWith(conversationId);
      if (isIt) await around.before?.();
      const hold = await env.SESSION.getByName(name).eraseIdle();
      if (isIt) around.after?.();
      return hold;
    },
  });
  return envWith({ SESSION: { getByName } });
}

test("a visitor who writes just before the session is asked keeps the conversation", async () => {
  const { workspace, agentId } = await createFixture();
  const [silent, written] = [await ask(workspace, agentId, "silent"), await ask(workspace, agentId, "written")];
  for (const id of [silent, written]) await age(id, 400);
  await keep(workspace, { conversations_days: 365 });
  const body = { message: KNOWN, user: { id: "written" }, conversation_id: written };
  const before = async () => expect((await workspace.call("POST", `/agents/${agentId}/messages`, body)).status).toBe(200);
  await prune(sessionsWith(written, { before }), { workspaceId: workspace.id });
  expect(await idsOf(workspace, "/conversations")).toEqual([written]);
  expect((await workspace.call("GET", `/conversations/${written}`)).body.messages).toHaveLength(4);
  expect((await sessionStorage(workspace.id, written)).entries).toEqual([]);
});

test("one step erases an expired conversation with all its messages, and otherwise none of them", async () => {
  const { workspace, agentId } = await createFixture();
  const op = newOperation(env, new Meter(), workspace.id);
  const rows = {
    messages: "id, workspace_id, conversation_id, role, author_type, content, needs_human, created_at",
    email_outbox: "message_id, workspace_id, conversation_id, status, next_attempt_at, created_at",
  };
  const values = { messages: "'user', 'visitor', 'Hello', 0, 1", email_outbox: "'sent', 1, 1" };
  const replyAfterStep = async (table: keyof typeof rows) => {
    const id = await ask(workspace, agentId, table);
    const insert = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
      INSERT INTO ${table} (${rows[table]}) SELECT ? || i, ?, ?, ${values[table]} FROM n`;
    await query(workspace.id, insert, crypto.randomUUID(), workspace.id, id);
    await age(id, 400);
    await eraseConversations(op, [id], { inactiveSinceMs: Date.now() - 365 * DAY });
    const reply = await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello" });
    return { status: reply.status, left: (await query(id, "SELECT id FROM messages WHERE conversation_id = ?", id)).length };
  };
  expect(await replyAfterStep("messages")).toEqual({ status: 404, left: 0 });
  // More mails than one step deletes keep the conversation.
  expect(await replyAfterStep("email_outbox")).toEqual({ status: 201, left: 3 });
});

test("the files of an expired conversation are removed once no reply can keep it, by the sweep if need be", async () => {
  const { workspace, agentId } = await createFixture();
  const file = (await workspace.call("POST", "/attachments", fileForm(PNG))).body;
  const body = { message: KNOWN, user: { id: "u" }, attachments: [file.id] };
  const id = (await workspace.call("POST", `/agents/${agentId}/messages`, body)).body.conversation_id;
  await age(id, 400);
  await keep(workspace, { conversations_days: 365 });
  const statuses: number[] = [];
  const remove = async () => {
    statuses.push((await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello" })).status);
    throw new Error("the object is out of reach");
  };
  const bindings = envWith({ FILES: { getByName: () => ({ remove }) } });
  await expect(prune(bindings, { workspaceId: workspace.id })).rejects.toThrow("out of reach");
  expect(statuses).toEqual([404]);
  await sweep(env, Date.now());
  expect(await readContent({ env, meter: new Meter(), workspaceId: workspace.id }, file.id)).toBeNull();
  expect(await query(workspace.id, "SELECT id FROM attachments WHERE id = ?", file.id)).toEqual([]);
});

test("a question that is asked while its conversation is erased waits, and is refused because the conversation is gone", async () => {
  const { workspace, agentId } = await createFixture();
  const id = await ask(workspace, agentId, "u");
  await age(id, 400);
  await keep(workspace, { conversations_days: 365 });
  // While the conversation exists, the session cannot reach D1, and would store the question for later.
  const batch = async (statements: D1PreparedStatement[]) => {
    if ((await query(id, "SELECT 1 FROM conversations WHERE id = ?", id)).length > 0) throw new Error("D1_ERROR: it is down");
    return env.DB.batch(statements);
  };
  const runner = new TurnRunner(envWith({ DB: { prepare: (text: string) => env.DB.prepare(text), batch } }), new ExtractiveEngine());
  await runInDurableObject(env.SESSION.getByName(`${workspace.id}/${id}`), (live) => void Object.assign(live, { runner }));
  const asked: Promise<Answer>[] = [];
  const after = () => {
    for (const stream of [false, true]) {
      const body = { message: KNOWN, user: { id: "u" }, conversation_id: id, stream };
      asked.push(workspace.call("POST", `/agents/${agentId}/messages`, body));
    }
  };
  await prune(sessionsWith(id, { after }), { workspaceId: workspace.id });
  for (const { status, body } of await Promise.all(asked)) expect([status, body.error.code]).toEqual([404, "not_found"]);
  expect(await idsOf(workspace, "/conversations")).toEqual([]);
  expect((await sessionStorage(workspace.id, id)).entries).toEqual([]);
});

test("a conversation with a turn that runs and one that waits keeps both", async () => {
  const { workspace, agentId } = await createFixture();
  const id = await ask(workspace, agentId, "u");
  const session = env.SESSION.getByName(`${workspace.id}/${id}`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const answer: Model["answer"] = async () => {
    await Promise.race([released, scheduler.wait(60_000)]);
    return { outcome: "no_answer", confidence: 0 };
  };
  await runInDurableObject(session, (live) => void Object.assign(live, { runner: new TurnRunner(env, { answer }) }));
  const body = (message: string) => ({ message, user: { id: "u" }, conversation_id: id });
  const asked = ["Something else", "And another thing"].map((message) =>
    workspace.call("POST", `/agents/${agentId}/messages`, body(message)),
  );
  const stored = "SELECT count(*) AS size FROM messages WHERE conversation_id = ?";
  while ((await query<{ size: number }>(id, stored, id))[0]!.size < 3 || (await unfinishedIn(workspace.id, id)).entries.length < 2);
  await keep(workspace, { conversations_days: 365 });
  await age(id, 400);
  await prune(env, { workspaceId: workspace.id });
  expect(await idsOf(workspace, "/conversations")).toEqual([id]);
  await runInDurableObject(session, () => release());
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await workspace.call("GET", `/conversations/${id}`)).body.messages).toHaveLength(6);
});

test("a conversation with a turn that waits for its next attempt is kept until it is answered", async () => {
  const { workspace, agentId } = await createFixture();
  const id = await ask(workspace, agentId, "u");
  const session = env.SESSION.getByName(`${workspace.id}/${id}`);
  const failing = { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new Error("D1_ERROR: it is down")) };
  const runner = new TurnRunner(envWith({ DB: failing }), new ExtractiveEngine());
  await runInDurableObject(session, (live) => void Object.assign(live, { runner }));
  const failed = await workspace.call("POST", `/agents/${agentId}/messages`, { message: KNOWN, conversation_id: id });
  expect(failed.status).toBe(500);
  await age(id, 400);
  await keep(workspace, { conversations_days: 365 });
  await prune(env, { workspaceId: workspace.id });
  expect(await idsOf(workspace, "/conversations")).toEqual([id]);
  await evict(session);
  await runDurableObjectAlarm(session);
  expect((await workspace.call("GET", `/conversations/${id}`)).body.messages).toHaveLength(4);
});

test("a deleted workspace, or one of an unbound shard, is not pruned", async () => {
  const { workspace, agentId } = await createFixture(1);
  await age(await ask(workspace, agentId, "old"), 400);
  await keep(workspace, { conversations_days: 365 });
  expect(await prune(envWith({ DB_1: undefined }), { workspaceId: workspace.id })).toBe("nothing_to_do");
  expect((await countsOf(workspace))["conversations"]).toBe(1);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  expect(await prune(env, { workspaceId: workspace.id })).toBe("nothing_to_do");
  expect((await countsOf(workspace))["conversations"]).toBe(1);
});

test("pruning creates no objects", async () => {
  const { workspace, agentId } = await createFixture();
  await addHistory(workspace, agentId, 3, 400);
  await keep(workspace, { conversations_days: 365 });
  await pruneAll(workspace.id);
  for (const id of await listDurableObjectIds(env.SESSION)) {
    const entries = await runInDurableObject(env.SESSION.get(id), async (_, { storage }) => [...(await storage.list())]);
    expect(entries.filter(([, value]) => JSON.stringify(value).includes(workspace.id))).toEqual([]);
  }
});
