import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { encryptSecret } from "../../src/platform/crypto/secrets.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createErasure } from "../../src/privacy/erasure-store.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import {
  addApproval,
  createAgent,
  createWorkspace,
  databases,
  fileForm,
  learn,
  listen,
  query,
  send,
  sessionStorage,
  type Workspace,
} from "../harness.ts";
import { join } from "../members/team.ts";

const KNOWN = "When are refunds paid?";

afterEach(() => void vi.useRealTimers());

/** A person who has used every way in, with a mark in everything they said, beside another who must stay. */
async function live() {
  const mark = `qxz${crypto.randomUUID().replaceAll("-", "")}`;
  const email = `${mark}@example.com`;
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  await listen(workspace);
  const ask = (message: string, user: object, key?: string) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message, user }, key === undefined ? undefined : { "Idempotency-Key": key });
  const person = { id: mark, name: mark, email: email.toUpperCase() };
  const first = await ask(`${KNOWN} ${mark}`, person, "k-1");
  const handed = await ask(`What is the capital of ${mark}?`, person);
  const reply = `/conversations/${handed.body.conversation_id}/messages`;
  const file = await workspace.call("POST", "/attachments", fileForm(`The invoice of ${mark}`, {}, "invoice.txt"));
  const answer = { content: `Dear ${mark}`, resolve: true, attachments: [file.body.id] };
  await workspace.call("POST", reply, answer, { "Idempotency-Key": "k-2" });
  await workspace.call("PATCH", `/conversations/${first.body.conversation_id}`, { tags: [mark] });
  const feedback = `/conversations/${first.body.conversation_id}/messages/${first.body.message_id}/feedback`;
  await workspace.call("POST", feedback, { rating: "down", comment: `Not what ${mark} asked` });
  const widget = `/widget/v1/agents/${agent.id}`;
  const visitor = await send("POST", `${widget}/messages`, { body: { message: `Hello, ${mark} here` } });
  const contact = { name: mark, email, message: mark, custom_fields: { company: mark }, visitor_token: visitor.body.visitor_token };
  await send("POST", `${widget}/leads`, { body: contact });
  await attemptAll(workspace, mark);
  const other = await ask(KNOWN, { id: "u-2", name: "Ada", email: "ada@example.com" });
  await attemptAll(workspace, "thank you");
  return { workspace, mark, email, other: other.body.conversation_id as string };
}

/** An attempt of each delivery, with an answer that repeats the mark. */
async function attemptAll({ id }: Workspace, mark: string) {
  const attempts = `INSERT INTO delivery_attempts (delivery_id, workspace_id, number, started_at, duration_ms, response_body, response_truncated, url)
    SELECT id, workspace_id, 1, 0, 1, ?, 0, 'https://example.com' FROM deliveries WHERE workspace_id = ? ON CONFLICT DO NOTHING`;
  await query(id, attempts, mark, id);
}

/** Virtual tables hold nothing themselves: their shadows are in the list. */
const OWN_TABLES =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'";
const OBJECTS = ["GATE", "INDEX", "SESSION", "LEADS", "CONVERSATIONS", "FILES"] as const;

/** Every place that holds the mark: tables of both databases, and tables and values of every object. */
async function placesOf(mark: string): Promise<string[]> {
  const places: string[] = [];
  const readable = (_: string, value: unknown) => (value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : value);
  const look = (place: string, rows: unknown) => {
    if (JSON.stringify(rows, readable).toLowerCase().includes(mark)) places.push(place);
  };
  for (const database of databases) {
    const { results: tables } = await database.prepare(OWN_TABLES).all<{ name: string }>();
    for (const { name } of tables) look(name, (await database.prepare(`SELECT * FROM "${name}"`).all()).results);
  }
  for (const binding of OBJECTS) {
    const namespace = env[binding] as DurableObjectNamespace;
    for (const id of await listDurableObjectIds(namespace)) {
      await runInDurableObject(namespace.get(id), async (_, { storage }) => {
        for (const { name } of storage.sql.exec<{ name: string }>(OWN_TABLES)) {
          look(`${binding}.${name}`, storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
        }
        look(`${binding} values`, [...(await storage.list())]);
      });
    }
  }
  return [...new Set(places)].toSorted();
}

const by = (given: Record<string, string>) => `?${new URLSearchParams(given).toString()}`;

test("an erased person is found nowhere, and the others stay", async () => {
  const { workspace, mark, email, other } = await live();
  // The first search fills the index.
  expect((await workspace.call("GET", `/conversations?q=${mark}`)).body.total).toBe(3);
  const before = await placesOf(mark);
  const rows = ["visitors", "conversations", "messages", "handoffs", "leads", "events", "delivery_attempts"];
  expect(before).toEqual(expect.arrayContaining([...rows, "message_feedback", "answer_drafts", "unanswered_questions"]));
  for (const object of ["LEADS.", "CONVERSATIONS.", "FILES."]) {
    expect(
      before.some((place) => place.startsWith(object)),
      object,
    ).toBe(true);
  }
  const path = `/privacy/visitors${by({ email })}`;
  const erased = await workspace.call("DELETE", path);
  expect(erased).toMatchObject({ status: 200, body: { audit_id: expect.any(String), erased_at: expect.any(String) } });
  expect(erased.body.deleted).toMatchObject({
    visitors: 2,
    conversations: 3,
    leads: 1,
    attachments: 1,
    events: 11,
    deliveries: 11,
    delivery_attempts: 11,
    idempotency_records: 2,
  });
  expect(await placesOf(mark)).toEqual([]);
  for (const table of ["events", "deliveries", "delivery_attempts"]) {
    const left = await query(workspace.id, `SELECT count(*) AS count FROM ${table} WHERE workspace_id = ?`, workspace.id);
    expect([table, left]).toEqual([table, [{ count: 2 }]]);
  }
  expect((await workspace.call("GET", `/conversations/${other}`)).body).toMatchObject({ message_count: 2, visitor: { name: "Ada" } });
  const again = await workspace.call("DELETE", path);
  expect(Object.values(again.body.deleted).filter((count) => count !== 0)).toEqual([]);
  const audited = "SELECT subject_hash AS hash, detail FROM audit_log WHERE workspace_id = ? AND action = 'privacy.erase' ORDER BY id";
  const audits = await query<{ hash: string; detail: string }>(workspace.id, audited, workspace.id);
  expect(audits.map(({ detail }) => JSON.parse(detail).deleted.conversations)).toEqual([3, 0]);
  expect(audits[0]!.hash).toBe(audits[1]!.hash);
});

test("the record of an erasure is kept if it deleted something, and otherwise for 30 days", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN, user: { id: "u-1" } });
  const erase = async (id: string) => (await workspace.call("DELETE", `/privacy/visitors${by({ external_id: id })}`)).body.audit_id;
  const [found, empty] = [await erase("u-1"), await erase("u-1")];
  const recorded = async () =>
    (
      await query<{ id: string }>(
        workspace.id,
        "SELECT id FROM audit_log WHERE workspace_id = ? AND action = 'privacy.erase' ORDER BY id",
        workspace.id,
      )
    ).map(({ id }) => id);
  const days = 24 * 60 * 60_000;
  await sweep(env, Date.now() + 29 * days);
  expect(await recorded()).toEqual([found, empty]);
  await sweep(env, Date.now() + 31 * days);
  expect(await recorded()).toEqual([found]);
});

test("beyond the day's erasures nothing is erased", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 3, 1, 12) });
  const workspace = await createWorkspace({ limits: { erasures_per_day: 1 } });
  const agent = await createAgent(workspace);
  for (const id of ["u-1", "u-2"]) await workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN, user: { id } });
  const erase = (id: string) => workspace.call("DELETE", `/privacy/visitors${by({ external_id: id })}`);
  expect(await erase("u-1")).toMatchObject({ status: 200, body: { deleted: { visitors: 1 } } });
  const refused = await erase("u-2");
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
  expect((await workspace.call("GET", `/privacy/visitors${by({ external_id: "u-2" })}`)).body.counts.messages).toBe(2);
  expect((await workspace.call("GET", "/usage")).body.usage.erasures_today).toBe(1);
});

test("find counts the records of each identifier", async () => {
  const { workspace, mark, email } = await live();
  const find = async (given: Record<string, string>) => (await workspace.call("GET", `/privacy/visitors${by(given)}`)).body;
  expect((await find({ email })).counts).toEqual({ conversations: 3, messages: 7, leads: 1, handoffs: 2 });
  for (const given of [{ anon_id: `api:${mark}` }, { external_id: mark }]) {
    const found = await find(given);
    expect(found.visitors).toMatchObject([{ anon_id: `api:${mark}`, external_id: mark, verified: true }]);
    expect(found.counts).toMatchObject({ conversations: 2, leads: 0 });
  }
  const nobody = { conversations: 0, messages: 0, leads: 0, handoffs: 0 };
  expect(await find({ external_id: "nobody" })).toEqual({
    identifier: { type: "external_id", value: "nobody" },
    visitors: [],
    shared_visitors: [],
    counts: nobody,
  });
  const other = await createWorkspace();
  expect((await other.call("GET", `/privacy/visitors${by({ email })}`)).body).toMatchObject({ visitors: [], counts: nobody });
});

test("export downloads all records in their usual form", async () => {
  const { workspace, email } = await live();
  const { body, headers } = await workspace.call("GET", `/privacy/export${by({ email })}`);
  expect(headers.get("Content-Disposition")).toContain("attachment");
  expect(Object.keys(body).toSorted()).toEqual(["conversations", "exported_at", "identifier", "leads", "members", "visitors"]);
  expect(body.conversations).toHaveLength(3);
  for (const {
    handoffs: _,
    notes: _notes,
    feedback: _feedback,
    drafts: _drafts,
    approvals: _approvals,
    traces,
    ...exported
  } of body.conversations) {
    const answers = exported.messages.filter(({ role }: { role: string }) => role === "assistant");
    expect(traces.map((trace: { message_id: string }) => trace.message_id)).toEqual(answers.map(({ id }: { id: string }) => id));
    const {
      has_more_messages: _more,
      team_open: _open,
      opens_at: _opensAt,
      ...read
    } = (await workspace.call("GET", `/conversations/${exported.id}`)).body;
    expect(exported).toEqual(read);
  }
  expect(body.leads).toEqual((await workspace.call("GET", "/leads")).body.data);
  const { body: empty } = await workspace.call("GET", `/privacy/export${by({ external_id: "nobody" })}`);
  expect(empty).toMatchObject({ visitors: [], conversations: [], leads: [] });
});

test("an export has the hand-offs and approvals of the person's conversations, and the member with the address", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const handOff = async (user: object) => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Can I talk to a human?", user });
    const { conversation_id: conversationId, message_id: messageId } = body;
    return { conversationId, approvalId: await addApproval(workspace, "declined", { agentId: agent.id, conversationId, messageId }) };
  };
  const ada = await handOff({ id: "u-1", email: "ada@example.com" });
  await handOff({ id: "u-2", email: "bob@example.com" });
  const { id, email } = await join(workspace, "agent", { email: "ada@example.com" });
  await join(workspace, "agent");
  const { body } = await workspace.call("GET", `/privacy/export${by({ email })}`);
  expect(body.members).toEqual([{ id, name: "Grace Hopper", email, role: "agent", status: "active", created_at: expect.any(String) }]);
  expect(body.conversations).toMatchObject([
    {
      id: ada.conversationId,
      handoffs: [{ reason: "customer_request", conversation_id: ada.conversationId }],
      approvals: [{ id: ada.approvalId, tool: "MARK-tool", status: "declined", arguments: { order: "4711" } }],
    },
  ]);
  const { body: byId } = await workspace.call("GET", `/privacy/export${by({ external_id: "u-1" })}`);
  expect([byId.members, byId.conversations]).toEqual([[], body.conversations]);
});

test("an erasure by address leaves a member of the team, and erases one who was removed", async () => {
  const workspace = await createWorkspace();
  const [ada, bob] = [await join(workspace, "agent"), await join(workspace, "agent")];
  expect((await workspace.call("DELETE", `/members/${bob.id}`)).status).toBe(204);
  const erase = async (email: string) => (await workspace.call("DELETE", `/privacy/visitors${by({ email })}`)).body.deleted.members;
  expect([await erase(ada.email), await erase(bob.email)]).toEqual([0, 1]);
  expect(await query(workspace.id, "SELECT id FROM members WHERE workspace_id = ?", workspace.id)).toEqual([{ id: ada.id }]);
  expect((await ada.call("GET", "/me")).status).toBe(200);
});

test.each([
  ["GET", "/privacy/visitors"],
  ["DELETE", "/privacy/visitors"],
  ["GET", "/privacy/export"],
])("%s %s takes exactly one identifier", async (method, path) => {
  const workspace = await createWorkspace();
  for (const given of [{}, { email: "a@b.example", anon_id: "a" }, { email: "a@b.example", anon_id: "a", external_id: "b" }]) {
    const { status, body } = await workspace.call(method, path + by(given));
    expect([status, body.detail]).toMatchObject([422, [{ loc: ["query"], type: "value_error" }]]);
  }
});

test("the sweep finishes a dead erasure of a long history, in bounded steps", async () => {
  const { workspace, mark } = await live();
  const { data } = (await workspace.call("GET", "/conversations?limit=100")).body;
  const theirs = data.find((one: any) => one.visitor?.external_id === mark).id;
  const history = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, needs_human, created_at)
    SELECT ? || i, ?, ?, 'user', 'visitor', ?, 0, 1 FROM n`;
  await query(workspace.id, history, mark, workspace.id, theirs, mark);
  const records = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8500)
    INSERT INTO idempotency_records (workspace_id, key, request_hash, response_status, response_body, conversation_id, lease_until, created_at)
    SELECT ?, 'old-' || i, '', 200, ?, ?, 0, ? FROM n`;
  await query(workspace.id, records, workspace.id, mark, theirs, Date.now());
  // More than all else: the last of them must still be found by their conversation.
  const mails = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
    INSERT INTO email_outbox (message_id, workspace_id, conversation_id, status, next_attempt_at, created_at)
    SELECT ? || i, ?, ?, 'sent', 1, 1 FROM n`;
  await query(workspace.id, mails, mark, workspace.id, theirs);
  const nowMs = Date.now();
  const id = newId(shardOf(workspace.id), nowMs);
  const identifier = await encryptSecret(env, JSON.stringify({ type: "external_id", value: mark }), `privacy/${id}`);
  const { db } = newOperation(env, new Meter(), workspace.id);
  const audit = { id, workspaceId: workspace.id, actor: "test", action: "privacy.erase", subjectHash: "hash", createdAt: nowMs };
  await db.batch(createErasure(db, audit, identifier, []));
  await sweep(env, nowMs + 10 * 60_000);
  expect((await workspace.call("GET", `/privacy/visitors${by({ external_id: mark })}`)).body.counts.messages).toBe(0);
  expect(await query(workspace.id, "SELECT id FROM privacy_erasures WHERE workspace_id = ?", workspace.id)).toEqual([]);
  const [audited] = await query<{ detail: string }>(workspace.id, "SELECT detail FROM audit_log WHERE id = ?", id);
  expect(JSON.parse(audited!.detail).deleted).toMatchObject({
    conversations: 2,
    messages: 5005,
    idempotency_records: 8502,
    email_outbox: 10500,
  });
});

describe("a question that is kept, and not stored yet", () => {
  /** Asks while D1 is out of reach, and gives back the session that keeps the question. */
  async function keepQuestion(workspace: Workspace, agentId: string, mark: string) {
    const failing = vi.spyOn(TurnRunner.prototype, "run").mockRejectedValueOnce(new Error("D1_ERROR: it is down"));
    const user = { id: mark, email: `${mark}@Example.com` };
    const { status, body } = await workspace.call("POST", `/agents/${agentId}/messages`, { message: `My code is ${mark}`, user });
    failing.mockRestore();
    expect([status, (await sessionStorage(workspace.id, body.error.conversation_id)).entries.length]).toEqual([500, 1]);
    return env.SESSION.getByName(`${workspace.id}/${body.error.conversation_id}`);
  }

  test.each(["external_id", "anon_id", "email"])("is dropped by the erasure of its person by %s", async (type) => {
    const workspace = await createWorkspace();
    const [agent, mark] = [await createAgent(workspace), crypto.randomUUID()];
    const session = await keepQuestion(workspace, agent.id, mark);
    const value = { external_id: mark, anon_id: `api:${mark}`, email: `${mark}@example.com` }[type]!;
    await workspace.call("DELETE", `/privacy/visitors${by({ [type]: value })}`);
    await runDurableObjectAlarm(session);
    expect(await placesOf(mark)).toEqual([]);
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(0);
  });

  test("is dropped where its visitor is erased by what else is known of them", async () => {
    const workspace = await createWorkspace();
    const [agent, mark] = [await createAgent(workspace), crypto.randomUUID()];
    // The visitor's own email is another one by now.
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi", user: { id: mark, email: "ada@example.com" } });
    const session = await keepQuestion(workspace, agent.id, mark);
    await workspace.call("DELETE", `/privacy/visitors${by({ email: "ada@example.com" })}`);
    await runDurableObjectAlarm(session);
    expect(await placesOf(mark)).toEqual([]);
  });

  test("stays where somebody else is erased, or the person was erased before it was asked", async () => {
    const workspace = await createWorkspace();
    const [agent, mark] = [await createAgent(workspace), crypto.randomUUID()];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await workspace.call("DELETE", `/privacy/visitors${by({ external_id: mark })}`);
    vi.setSystemTime(Date.now() + 10);
    const session = await keepQuestion(workspace, agent.id, mark);
    vi.useRealTimers();
    await workspace.call("DELETE", `/privacy/visitors${by({ external_id: "somebody" })}`);
    await runDurableObjectAlarm(session);
    expect((await workspace.call("GET", `/privacy/visitors${by({ external_id: mark })}`)).body.counts).toMatchObject({ messages: 2 });
  });
});
