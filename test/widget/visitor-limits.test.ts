import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { builtInTools } from "../../src/chat/built-in-tools.ts";
import { beginTurn } from "../../src/chat/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { conversations, createMailbox, receive } from "../email/mailbox.ts";
import { questionOf } from "../chat/question.ts";
import { countRows, operate, query, type Workspace } from "../harness.ts";
import { claimsOf, createWidget, newSecret, signJwt, type Visitor, visitorOf } from "./widget.ts";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** A morning, since the windows are hours and days in UTC. */
const MORNING = Date.UTC(2027, 3, 1, 8, 30);

afterEach(() => {
  vi.useRealTimers();
});

const at = (nowMs: number) => void vi.useFakeTimers({ toFake: ["Date"], now: nowMs });

/** Leaves contact details that nobody left before. */
const leave = (visitor: Visitor, agentId: string, body: Record<string, unknown> = {}) =>
  visitor.send("POST", `/agents/${agentId}/leads`, { email: `${crypto.randomUUID()}@example.com`, ...body });

const usageOf = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body.usage;

const leadsOf = ({ id }: Workspace) => query(id, "SELECT id FROM leads WHERE workspace_id = ?", id);

/** The statuses of requests that are sent at once, in order. */
const statusesOf = async (requests: Promise<{ status: number }>[]) => (await Promise.all(requests)).map(({ status }) => status).sort();

/** Rows of the tables that a visitor writes to. */
async function written(): Promise<Record<string, number>> {
  const rows = await countRows();
  return Object.fromEntries(Object.entries(rows).filter(([name]) => /(visitors|conversations|messages|leads|visitor_counts)$/.test(name)));
}

describe("leads a day", () => {
  test("of leads that are left at once, as many are stored as the day allows", async () => {
    at(MORNING);
    const { workspace, agent, visitor } = await createWidget({ limits: { leads_per_day: 3 } });
    const statuses = await statusesOf(Array.from({ length: 6 }, () => leave(visitor(), agent.id)));
    expect(statuses).toEqual([201, 201, 201, 429, 429, 429]);
    expect(await leadsOf(workspace)).toHaveLength(3);
    expect((await usageOf(workspace)).leads_today).toBe(3);

    const before = await written();
    const refused = await leave(visitor(), agent.id);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
    expect(refused.body.error.message).toBe("No more contact details can be taken today. Please try again in 16 hours.");
    expect(refused.headers.get("Retry-After")).toBe(String(15.5 * 3600));
    expect(await written()).toEqual(before);
    // Messages are another matter.
    expect((await visitor().write({})).status).toBe(200);

    at(MORNING + 15.5 * HOUR_MS);
    expect((await leave(visitor(), agent.id)).status).toBe(201);
    expect((await usageOf(workspace)).leads_today).toBe(1);
  });

  test("a change of the limit holds at once", async () => {
    const { workspace, agent, visitor } = await createWidget({ limits: { leads_per_day: 0 } });
    expect((await leave(visitor(), agent.id)).status).toBe(429);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { leads_per_day: 1 } });
    expect(await statusesOf([leave(visitor(), agent.id), leave(visitor(), agent.id)])).toEqual([201, 429]);
  });

  test("a form that is sent again is one lead, with one event, counted once", async () => {
    at(MORNING);
    const { workspace, agent, visitor } = await createWidget();
    const ada = visitor();
    const form = { email: "ada@example.com", name: "Ada", custom_fields: { company: "Acme" } };
    const first = await leave(ada, agent.id, form);
    at(MORNING + HOUR_MS);
    const again = await Promise.all([leave(ada, agent.id, form), leave(ada, agent.id, form)]);
    for (const { status, body } of again) expect([status, body]).toEqual([201, first.body]);
    expect(await usageOf(workspace)).toMatchObject({ leads_today: 1 });
    expect((await workspace.call("GET", "/leads?q=ada")).body).toMatchObject({ total: 1, data: [{ id: first.body.id }] });
    const events = "SELECT id FROM events WHERE workspace_id = ? AND type = 'lead.created'";
    expect(await query(workspace.id, events, workspace.id)).toHaveLength(1);
    // Other details, another sender, another day: another lead.
    await leave(ada, agent.id, { ...form, message: "Call me." });
    await leave(visitor(), agent.id, form);
    at(MORNING + DAY_MS);
    await leave(ada, agent.id, form);
    expect(await leadsOf(workspace)).toHaveLength(4);
  });

  test("the agent's own tool keeps no lead beyond it", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const { conversation_id: conversationId } = (await visitor().write({})).body;
    const leadLimit = { flow: "leads" as const, perDay: 1, sender: null };
    const question = { ...visitorQuestion(workspace, agent.id), conversationId, leadLimit };
    const collect = async (answerId: string) => {
      const op = newOperation(env, new Meter(), workspace.id, question.nowMs);
      const context = { op, question: { ...question, answerId }, visitorId: null, visitorMessages: ["I am ada@example.com"] };
      return builtInTools(context)
        .find(({ name }) => name === "collect_lead")!
        .run({ email: "ada@example.com" }, new AbortController().signal);
    };
    const [first, second] = [newId(shardOf(workspace.id), MORNING), newId(shardOf(workspace.id), MORNING)];
    expect(await collect(first)).toMatchObject({ kind: "data" });
    expect(await collect(second)).toEqual({ kind: "note", text: "Nothing was kept: no more contact details can be taken today." });
    // A turn that runs again finds its lead.
    expect(await collect(first)).toMatchObject({ kind: "data" });
    expect(await leadsOf(workspace)).toEqual([{ id: first }]);
  });
});

/** A question of an anonymous visitor on a website. */
function visitorQuestion(workspace: Workspace, agentId: string, perDay = 10) {
  const anonymous = { externalId: null, name: null, email: null, verified: false, isProfileVerified: false, joins: null };
  return questionOf(workspace.id, agentId, {
    channel: "widget",
    message: "When are refunds paid?",
    visitor: { anonId: `anon_${crypto.randomUUID()}`, ...anonymous },
    messageLimit: { flow: "messages", perDay, sender: "an-address" },
  });
}

describe("visitors' messages a day", () => {
  test("of messages that are sent at once, as many are stored as the day allows", async () => {
    at(MORNING);
    const { workspace, visitor } = await createWidget({ limits: { visitor_messages_per_day: 3 } });
    const statuses = await statusesOf(Array.from({ length: 6 }, () => visitor().write({})));
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    expect(await usageOf(workspace)).toMatchObject({ messages: 3, visitor_messages_today: 3 });

    const before = await written();
    for (const stream of [false, true]) {
      const refused = await visitor().write({ stream });
      expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
      expect(refused.body.error.message).toBe("No more messages can be taken today. Please try again in 16 hours.");
      expect(refused.headers.get("Retry-After")).toBe(String(15.5 * 3600));
    }
    expect(await written()).toEqual(before);

    at(MORNING + DAY_MS);
    expect((await visitor().write({})).status).toBe(200);
  });

  test("messages to a human count too, those over the API do not", async () => {
    const { workspace, agent, visitor } = await createWidget({ limits: { visitor_messages_per_day: 2 } });
    const ask = () => workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    await ask();
    const ada = visitor();
    const { conversation_id, visitor_token } = (await ada.write({ message: "I want to talk to a human." })).body;
    await workspace.call("PATCH", `/conversations/${conversation_id}`, { status: "human_active" });
    const more = { conversation_id, visitor_token };
    expect((await ada.write(more)).body).toMatchObject({ status: "human_active" });
    expect((await ada.write(more)).status).toBe(429);
    expect((await ask()).status).toBe(200);
    const { body } = await workspace.call("GET", `/conversations/${conversation_id}`);
    expect(body.message_count).toBe(3);
    expect((await usageOf(workspace)).visitor_messages_today).toBe(2);
  });

  test("mails count too, and one beyond the limit goes back to its sender", async () => {
    const mailbox = await createMailbox();
    await operate("PATCH", `/workspaces/${mailbox.workspace.id}`, { limits: { visitor_messages_per_day: 1 } });
    expect(await receive({ to: mailbox.address })).toBeUndefined();
    expect(await receive({ to: mailbox.address })).toContain("Try again later");
    expect(await conversations(mailbox)).toHaveLength(1);
    expect((await visitorOf(mailbox.agentId).write({})).status).toBe(429);
  });

  test("a turn that runs again is counted once, also when it was the last of the day", async () => {
    const { workspace, agent } = await createWidget();
    const { db } = newOperation(env, new Meter(), workspace.id);
    const question = visitorQuestion(workspace, agent.id, 1);
    const first = await beginTurn(db, question);
    const again = await beginTurn(db, question);
    expect([first.stored, again.stored]).toMatchObject([[{ id: question.questionId }], [{ id: question.questionId }]]);
    expect((await usageOf(workspace)).visitor_messages_today).toBe(1);
    const next = await beginTurn(db, visitorQuestion(workspace, agent.id, 1));
    expect(next).toMatchObject({ stored: [], full: { sender: "", limit: 1 } });
  });
});

test("a question that is kept is stored and counted, though the day is full by its next attempt", async () => {
  const { workspace, agent } = await createWidget();
  const { db } = newOperation(env, new Meter(), workspace.id);
  await beginTurn(db, visitorQuestion(workspace, agent.id, 1));
  const kept = visitorQuestion(workspace, agent.id, 1);
  expect((await beginTurn(db, kept, { ignoresLimits: true })).stored).toMatchObject([{ id: kept.questionId }]);
  expect((await usageOf(workspace)).visitor_messages_today).toBe(2);
});

describe("a sender", () => {
  test("leaves ten leads an hour on the plan free, and does not delay others", async () => {
    at(MORNING);
    const { agent, visitor } = await createWidget({ plan: "free" });
    const script = visitor();
    const statuses = await statusesOf(Array.from({ length: 12 }, () => leave(script, agent.id)));
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 201), 429, 429]);
    const refused = await leave(script, agent.id);
    expect(refused.body.error.message).toBe("You have left your contact details several times. Please try again in 30 minutes.");
    expect(refused.headers.get("Retry-After")).toBe("1800");
    expect((await leave(visitor(), agent.id)).status).toBe(201);
    at(MORNING + HOUR_MS);
    expect((await leave(script, agent.id)).status).toBe(201);
  });

  test("writes thirty messages an hour on the plan free, whichever conversations it starts", async () => {
    at(MORNING);
    const { workspace, visitor } = await createWidget({ plan: "free" });
    const script = visitor();
    const statuses = await statusesOf(Array.from({ length: 40 }, () => script.write({})));
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    const refused = await script.write({});
    expect(refused.body.error.message).toBe("You have sent many messages. Please try again in 30 minutes.");
    expect((await visitor().write({})).status).toBe(200);
    expect(await usageOf(workspace)).toMatchObject({ messages: 31, visitor_messages_today: 31 });
  });

  test("asks for a human as often as it writes, also where the agent never hands off", async () => {
    at(MORNING);
    const { visitor } = await createWidget({ agent: { handoff: "off" }, limits: { visitor_messages_per_day: 100 } });
    const ada = visitor();
    const { visitor_token: token, conversation_id: id } = (await ada.write({})).body;
    for (let asked = 1; asked < 30; asked++) expect((await ada.on(token, id, "POST", "handoff")).status).toBe(200);
    const refused = await ada.on(token, id, "POST", "handoff");
    expect(refused).toMatchObject({ status: 429, body: { error: { message: expect.stringContaining("You have sent many messages") } } });
    expect((await visitor().write({})).status).toBe(200);
  });

  test("is a verified person on any address, and an address for those whom nothing vouches for", async () => {
    at(MORNING);
    const { workspace, agent, visitor } = await createWidget({ plan: "free" });
    const secret = await newSecret(workspace, agent.id);
    const office = visitor();
    const tokenOf = async (sub: string) => {
      const identity_token = await signJwt(secret, claimsOf(sub));
      return (await office.write({ identity_token })).body.visitor_token as string;
    };
    const [ada, bob] = [await tokenOf("ada"), await tokenOf("bob")];
    for (let lead = 0; lead < 10; lead++) await leave(visitor(), agent.id, { visitor_token: ada });
    expect((await leave(visitor(), agent.id, { visitor_token: ada })).status).toBe(429);
    expect((await leave(office, agent.id, { visitor_token: bob })).status).toBe(201);
    expect((await leave(office, agent.id)).status).toBe(201);
  });

  test("may use a tenth of a larger plan's day in an hour", async () => {
    const { agent, visitor } = await createWidget({ limits: { leads_per_day: 150 } });
    const script = visitor();
    const statuses = await statusesOf(Array.from({ length: 17 }, () => leave(script, agent.id)));
    expect(statuses.filter((status) => status === 201)).toHaveLength(15);
  });
});

test("no address is stored in plain text, and the counts are gone a day later", async () => {
  const { workspace, agent } = await createWidget();
  const body = { email: "ada@example.com" };
  await visitorOf(agent.id).send("POST", `/agents/${agent.id}/leads`, body, { "CF-Connecting-IP": "203.0.113.7" });
  const counts = () =>
    query<{ flow: string; sender: string }>(workspace.id, "SELECT * FROM visitor_counts WHERE workspace_id = ?", workspace.id);
  const stored = await counts();
  const ofLeads = stored.filter(({ flow }) => flow === "leads").map(({ sender }) => sender);
  expect(ofLeads.sort()).toEqual(["", expect.stringMatching(/^[0-9a-f]{64}$/)]);
  await sweep(env, Date.now());
  expect(await counts()).toHaveLength(stored.length);
  await sweep(env, Date.now() + 2 * DAY_MS);
  expect(await counts()).toEqual([]);
});
