import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { PLAN_NAMES } from "../../src/platform/db/columns.ts";
import { beginTurn, finishTurn } from "../../src/chat/store.ts";
import { EVENT_TYPES } from "../../src/events/event-types.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { eventSchema } from "../../src/webhooks/wire.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import { questionOf } from "../chat/question.ts";
import { createAgent, createNeighbour, createWorkspace, deliver, learn, listen, operate, query, send, type Workspace } from "../harness.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const KNOWN = "When are refunds paid?";
const UNKNOWN = "What is the capital of France?";

interface Delivery {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: string;
  trigger: string;
  next_attempt_at: number;
  created_at: number;
}

/** The events of a workspace as they would be sent, oldest first. */
async function eventsOf({ id }: { id: string }): Promise<any[]> {
  const rows = await query<{ payload: string }>(id, "SELECT payload FROM events WHERE workspace_id = ? ORDER BY created_at, id", id);
  return rows.map(({ payload }) => JSON.parse(payload));
}

const deliveriesOf = ({ id }: { id: string }) => query<Delivery>(id, "SELECT * FROM deliveries WHERE workspace_id = ? ORDER BY id", id);
const typesOf = async (workspace: { id: string }) => (await eventsOf(workspace)).map(({ type }): string => type);

/** A workspace whose agent knows something, and an endpoint that listens to everything from then on. */
async function createFixture(settings: Parameters<typeof createWorkspace>[0] = {}, made?: Promise<Workspace>) {
  const workspace = await (made ?? createWorkspace(settings));
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const endpoint = await listen(workspace);
  const ask = async (message = KNOWN, more: object = {}) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, user: { id: "u-1", name: "Ada" }, ...more })).body;
  const get = async (path: string) => (await workspace.call("GET", path)).body;
  return { workspace, agent, source, endpoint, ask, get };
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

const reads = (workspace: Workspace, agentId: string, sourceId: string) =>
  deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId, sourceId });

/** Every cause: what is done, and the record of the API that the event's data must equal. */
const CAUSES: [type: string, cause: string, run: (fixture: Fixture) => Promise<unknown>][] = [
  [
    "conversation.created",
    "a first question",
    async ({ ask, get }) => {
      const { conversation_id: id } = await ask();
      const { messages: _, has_more_messages: __, team_open: ___, opens_at: ____, ...conversation } = await get(`/conversations/${id}`);
      const [asked] = _;
      const before = { status: "open", message_count: 1, last_message_preview: KNOWN };
      const times = { last_message_at: asked.created_at, updated_at: asked.created_at };
      return { ...conversation, ...before, ...times };
    },
  ],
  [
    "message.ai_replied",
    "an answer",
    async ({ ask, get }) => {
      const { conversation_id: id } = await ask();
      return (await get(`/conversations/${id}`)).messages[1];
    },
  ],
  [
    "handoff.created",
    "a question that nobody can answer",
    async ({ ask, get }) => {
      const { conversation_id: id } = await ask(UNKNOWN);
      return (await get(`/conversations/${id}`)).handoff;
    },
  ],
  [
    "handoff.created",
    "a visitor who asks for a human",
    async ({ agent, get }) => {
      const { body } = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: KNOWN } });
      const path = `/conversations/${body.conversation_id}`;
      await send("POST", `/widget/v1${path}/handoff`, { token: body.visitor_token });
      return (await get(path)).handoff;
    },
  ],
  [
    "message.human_replied",
    "a reply of the team",
    async ({ workspace, ask }) => {
      const { conversation_id: id } = await ask();
      const { conversation_status: _, ...message } = (await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello" }))
        .body;
      return message;
    },
  ],
  [
    "conversation.resolved",
    "a change of status",
    async ({ workspace, ask }) => {
      const { conversation_id: id } = await ask(UNKNOWN);
      return (await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved", tags: ["a", "“b”"] })).body;
    },
  ],
  [
    "conversation.resolved",
    "a reply that resolves",
    async ({ workspace, ask, get }) => {
      const { conversation_id: id } = await ask();
      await workspace.call("POST", `/conversations/${id}/messages`, { content: "Bye", resolve: true });
      const { messages: _, has_more_messages: __, team_open: ___, opens_at: ____, ...conversation } = await get(`/conversations/${id}`);
      return conversation;
    },
  ],
  [
    "conversation.resolved",
    "silence",
    async ({ ask, get }) => {
      const { conversation_id: id } = await ask();
      const idleAt = Date.parse((await get(`/conversations/${id}`)).last_message_at) + 1440 * 60_000;
      await sweep(env, idleAt);
      await sweep(env, idleAt + 60_000);
      const { messages: _, has_more_messages: __, team_open: ___, opens_at: ____, ...conversation } = await get(`/conversations/${id}`);
      return conversation;
    },
  ],
  [
    "lead.created",
    "a contact form",
    async ({ agent, get }) => {
      const body = { name: "Ada", email: "ada@example.com", message: "Call me", custom_fields: { company: "Acme", size: 3, vip: true } };
      await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body });
      return (await get("/leads")).data[0];
    },
  ],
  [
    "source.synced",
    "a sync",
    async ({ workspace, agent, source, get }) => {
      await workspace.call("POST", `/agents/${agent.id}/sources/${source.id}/sync`);
      await reads(workspace, agent.id, source.id);
      await reads(workspace, agent.id, source.id);
      return (await get(`/agents/${agent.id}/sources`)).data[0];
    },
  ],
  [
    "source.failed",
    "a text that holds nothing",
    async ({ workspace, agent, get }) => {
      const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "Empty", text: " " });
      await reads(workspace, agent.id, body.id);
      return (await get(`/agents/${agent.id}/sources`)).data[1];
    },
  ],
  [
    "source.failed",
    "a sync that was given up",
    async ({ workspace, agent, source, get }) => {
      await workspace.call("POST", `/agents/${agent.id}/sources/${source.id}/sync`);
      const message = { workspaceId: workspace.id, agentId: agent.id, sourceId: source.id };
      for (let time = 0; time < 2; time++) await deliver("support-agent-ingestion-dlq", message);
      return (await get(`/agents/${agent.id}/sources`)).data[0];
    },
  ],
];

/** They take a language model: see test/chat/approvals.test.ts. */
const TESTED_WITH_A_MODEL = ["tool_call.approval_requested", "tool_call.decided"];

test("every event type has a test", () => {
  const tested = new Set<string>([...CAUSES.map(([type]) => type), ...TESTED_WITH_A_MODEL]);
  expect([...tested].toSorted()).toEqual([...EVENT_TYPES].toSorted());
});

test.for(CAUSES)("%s from %s: once, with the record as the API shows it", async ([type, , run]) => {
  const fixture = await createFixture();
  const record = await run(fixture);
  const { workspace, endpoint } = fixture;
  const events = (await eventsOf(workspace)).filter((event) => event.type === type);
  expect(events).toHaveLength(1);
  const [event] = events;
  expect(event.data).toEqual(record);
  expect(eventSchema.parse(event)).toEqual(event);
  expect(Object.keys(event)).toEqual(["id", "type", "created_at", "api_version", "workspace_id", "data"]);
  expect(event).toMatchObject({ api_version: "1.0.0", workspace_id: workspace.id });
  const deliveries = (await deliveriesOf(workspace)).filter(({ event_id: id }) => id === event.id);
  const atMs = Date.parse(event.created_at);
  const times = { created_at: atMs, next_attempt_at: atMs };
  expect(deliveries).toMatchObject([{ webhook_id: endpoint.id, event_type: type, status: "pending", trigger: "event", ...times }]);
  expect(deliveries[0]!.id).toMatch(UUID_V7);
  expect(Number.parseInt(deliveries[0]!.id.replace("-", "").slice(0, 12), 16)).toBe(atMs);
  expect(shardOf(deliveries[0]!.id)).toBe(shardOf(workspace.id));
});

test("a turn that runs twice writes its events once", async () => {
  const { workspace, agent } = await createFixture();
  const question = questionOf(workspace.id, agent.id, { message: KNOWN });
  const { db } = newOperation(env, new Meter(), workspace.id);
  const handoff = {
    reason: "customer_request" as const,
    summary: KNOWN,
    isOff: false,
    opensAtMs: null,
    routingText: { texts: [], language: "en" },
  };
  const outcome = { text: "Then.", citations: [], confidence: 1, handoff, agentName: "Ada", agentVersion: 1, nowMs: question.nowMs + 1 };
  for (let run = 0; run < 3; run++) await beginTurn(db, question);
  for (let run = 0; run < 3; run++) await finishTurn(db, question, outcome);
  expect((await typesOf(workspace)).toSorted()).toEqual(["conversation.created", "handoff.created", "message.ai_replied"]);
  expect(await deliveriesOf(workspace)).toHaveLength(3);
});

describe("who gets an event", () => {
  test("the subscribed and enabled endpoints of the same workspace", async () => {
    const { workspace, endpoint, ask } = await createFixture();
    const created = await listen(workspace, ["conversation.created", "lead.created"]);
    const replied = await listen(workspace, ["message.ai_replied"]);
    await listen(workspace, ["source.failed"]);
    const disabled = await listen(workspace);
    await workspace.call("PATCH", `/webhooks/${disabled.id}`, { enabled: false });
    const neighbour = await createFixture({}, createNeighbour(workspace));
    await ask();
    const got = (await deliveriesOf(workspace)).map(({ webhook_id: id, event_type: type }) => `${id} ${type}`);
    expect(got.toSorted()).toEqual(
      [
        `${endpoint.id} conversation.created`,
        `${endpoint.id} message.ai_replied`,
        `${created.id} conversation.created`,
        `${replied.id} message.ai_replied`,
      ].toSorted(),
    );
    expect(await eventsOf(neighbour.workspace)).toEqual([]);
    expect(await deliveriesOf(neighbour.workspace)).toEqual([]);
  });

  test("without subscribers the event is not stored", async () => {
    const { workspace, endpoint, ask } = await createFixture();
    await workspace.call("PATCH", `/webhooks/${endpoint.id}`, { events: ["lead.created"] });
    await ask();
    expect(await eventsOf(workspace)).toEqual([]);
    await workspace.call("DELETE", `/webhooks/${endpoint.id}`);
    await ask();
    expect(await eventsOf(workspace)).toEqual([]);
  });

  test.for(PLAN_NAMES.flatMap((plan) => [undefined, true, false].map((override) => [plan, override] as const)))(
    "with the plan %s and the override %s as limitsOf says",
    async ([plan, override]) => {
      const { workspace, ask } = await createFixture();
      await operate("PATCH", `/workspaces/${workspace.id}`, { plan, ...(override !== undefined && { limits: { webhooks: override } }) });
      await ask();
      const { webhooks } = limitsOf(plan, override === undefined ? {} : { webhooks: override });
      expect((await deliveriesOf(workspace)).length > 0).toBe(webhooks);
    },
  );

  test("a hundred endpoints get one delivery each, with its own id", async () => {
    const { workspace, ask } = await createFixture();
    for (let at = 1; at < 100; at++) await listen(workspace, ["conversation.created"]);
    await ask();
    const deliveries = (await deliveriesOf(workspace)).filter(({ event_type: type }) => type === "conversation.created");
    expect(deliveries).toHaveLength(100);
    expect(new Set(deliveries.map(({ webhook_id: id }) => id)).size).toBe(100);
    for (const { id } of deliveries) expect(id).toMatch(UUID_V7);
  });
});
