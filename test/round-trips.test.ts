import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { newId, shardOf } from "../src/platform/db/ids.ts";
import { distantTrips } from "./distance.ts";
import { costOf, createAgent, createWorkspace, evict, learn, listen, newAddress, operate, query, send } from "./harness.ts";

afterEach(() => Reflect.set(env, "DATABASE_REGIONS", ""));

/*
 * Round trips are the price of everything at the edge. A warm gate admits in one hop; then one D1 trip reads or writes.
 * A question adds its session's hop, the index's beside the first trip, and a second trip for the answer.
 */

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const ask = async (body: Record<string, unknown> = {}): Promise<string> => {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", ...body });
    return asked.body.conversation_id;
  };
  return { workspace, agent, ask, path: `/agents/${agent.id}` };
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** A request's object calls and D1 round trips, and its status, so that an error does not pass for a cheap success. */
async function cost(request: () => Promise<{ status: number }>): Promise<[status: number, hops: number, trips: number]> {
  let status = 0;
  const spent = await costOf(async () => {
    ({ status } = await request());
  });
  return [status, spent.object_hops, spent.d1_trips];
}

const setStatus = (id: string, status: string) => query(id, "UPDATE conversations SET status = ? WHERE id = ?", status, id);
const leave = (agentId: string) =>
  send("POST", `/widget/v1/agents/${agentId}/leads`, { body: { name: "Ann", email: "ann@example.com" }, headers: newAddress() });
const visit = (agentId: string) =>
  send("POST", `/widget/v1/agents/${agentId}/messages`, { body: { message: "When are refunds paid?" }, headers: newAddress() });
const unknownId = ({ workspace }: Fixture) => newId(shardOf(workspace.id), Date.now());

const onEndpoint = async (workspace: Fixture["workspace"], method: string, action = "", body?: object) => {
  const { id } = await listen(workspace);
  return () => workspace.call(method, `/webhooks/${id}${action}`, body);
};

/** Every operation with its setup and request. */
const OPERATIONS: [
  name: string,
  status: number,
  hops: number,
  trips: number,
  prepare: (fixture: Fixture) => Promise<() => Promise<{ status: number }>>,
][] = [
  [
    "GET /me",
    200,
    1,
    0,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/me"),
  ],
  [
    "GET /usage",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/usage"),
  ],
  [
    "GET /agents",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/agents"),
  ],
  [
    "GET /agents/{id}",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("GET", path),
  ],
  ["GET /agents/{id}, unknown", 404, 1, 1, async (fixture) => () => fixture.workspace.call("GET", `/agents/${unknownId(fixture)}`)],
  [
    "GET /conversations/{id}",
    200,
    1,
    1,
    async ({ workspace, ask }) => {
      const id = await ask({ user: { id: "ann" } });
      return () => workspace.call("GET", `/conversations/${id}`);
    },
  ],
  [
    "GET the trace of an answer",
    200,
    2,
    1,
    async ({ workspace, agent }) => {
      const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
      return () => workspace.call("GET", `/conversations/${body.conversation_id}/messages/${body.message_id}/trace`);
    },
  ],
  [
    "GET /conversations",
    200,
    1,
    1,
    async ({ workspace, ask }) => {
      await ask({ user: { id: "ann" } });
      return () => workspace.call("GET", "/conversations");
    },
  ],
  [
    "GET /conversations, filtered, after a cursor",
    200,
    1,
    1,
    async ({ workspace, agent, ask }) => {
      for (let at = 0; at < 3; at++) await ask({ user: { id: "ann" } });
      const list = `/conversations?agent_id=${agent.id}&status=ai_handled&channel=api&limit=1`;
      const { body } = await workspace.call("GET", list);
      return () => workspace.call("GET", `${list}&cursor=${encodeURIComponent(body.next_cursor)}`);
    },
  ],
  [
    "PATCH /conversations/{id}",
    200,
    1,
    1,
    async ({ workspace, ask }) => {
      const id = await ask();
      return () => workspace.call("PATCH", `/conversations/${id}`, { status: "resolved", tags: ["refunds"] });
    },
  ],
  [
    "POST /conversations/bulk",
    200,
    1,
    2,
    async ({ workspace, ask }) => {
      const ids = [await ask(), await ask()];
      return () => workspace.call("POST", "/conversations/bulk", { ids, status: "resolved", add_tags: ["refunds"] });
    },
  ],
  [
    "PATCH /conversations/{id}, unknown",
    404,
    1,
    1,
    async (fixture) => () => fixture.workspace.call("PATCH", `/conversations/${unknownId(fixture)}`, { status: "resolved" }),
  ],
  [
    "POST a human's reply",
    201,
    1,
    1,
    async ({ workspace, ask }) => {
      const id = await ask();
      return () => workspace.call("POST", `/conversations/${id}/messages`, { content: "They are on their way.", resolve: true });
    },
  ],
  [
    "POST /conversations",
    201,
    1,
    1,
    async ({ workspace, agent }) =>
      () =>
        workspace.call("POST", "/conversations", { agent_id: agent.id, channel: "api", user: { id: "ann" }, content: "Hello" }),
  ],
  [
    "POST a note",
    201,
    1,
    1,
    async ({ workspace, ask }) => {
      const id = await ask();
      return () => workspace.call("POST", `/conversations/${id}/notes`, { content: "She called." });
    },
  ],
  [
    "POST a rating of an answer",
    200,
    1,
    1,
    async ({ workspace, agent }) => {
      const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
      return () =>
        workspace.call("POST", `/conversations/${body.conversation_id}/messages/${body.message_id}/feedback`, { rating: "down" });
    },
  ],
  [
    "GET /agents/{id}/gaps",
    200,
    1,
    1,
    async ({ workspace, path, ask }) => {
      await ask({ message: "How is bread baked?" });
      return () => workspace.call("GET", `${path}/gaps`);
    },
  ],
  [
    "GET /agents/{id}/drafts",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("GET", `${path}/drafts`),
  ],
  [
    "POST …/drafts/{id}/accept, which indexes the answer",
    200,
    2,
    2,
    async ({ workspace, path, ask }) => {
      const id = await ask({ message: "How is bread baked?" });
      await workspace.call("POST", `/conversations/${id}/messages`, { content: "In an oven." });
      const [draft] = (await workspace.call("GET", `${path}/drafts`)).body.data;
      return () => workspace.call("POST", `${path}/drafts/${draft.id}/accept`);
    },
  ],
  [
    "POST a human's reply that becomes a draft",
    201,
    1,
    1,
    async ({ workspace, ask }) => {
      const id = await ask({ message: "How is bread baked?" });
      return () => workspace.call("POST", `/conversations/${id}/messages`, { content: "In an oven." });
    },
  ],
  [
    "GET /feedback",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/feedback?rating=down"),
  ],
  [
    "GET /leads",
    200,
    1,
    1,
    async ({ workspace, agent }) => {
      await leave(agent.id);
      return () => workspace.call("GET", "/leads");
    },
  ],
  [
    "GET /leads, searched",
    200,
    2,
    1,
    async ({ workspace, agent }) => {
      await leave(agent.id);
      return () => workspace.call("GET", "/leads?q=ann");
    },
  ],
  [
    "GET /leads, searched for what nobody left",
    200,
    2,
    0,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/leads?q=nobody"),
  ],
  [
    "GET /analytics/overview",
    200,
    1,
    1,
    async ({ workspace, ask }) => {
      await ask();
      return () => workspace.call("GET", "/analytics/overview");
    },
  ],
  [
    "GET /analytics/versions",
    200,
    1,
    1,
    async ({ workspace, agent, ask }) => {
      await ask();
      return () => workspace.call("GET", `/analytics/versions?agent_id=${agent.id}`);
    },
  ],
  [
    "PATCH /agents/{id}, which publishes a version",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("PATCH", path, { instructions: "Rhyme." }),
  ],
  [
    "PATCH the draft of an agent",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("PATCH", `${path}/versions/draft`, { instructions: "Rhyme." }),
  ],
  [
    "POST …/versions/publish",
    200,
    1,
    1,
    async ({ workspace, path }) => {
      await workspace.call("PATCH", `${path}/versions/draft`, { instructions: "Rhyme." });
      return () => workspace.call("POST", `${path}/versions/publish`, { rollout: 0.5 });
    },
  ],
  [
    "a question that a version answers which is rolled out",
    200,
    3,
    2,
    async ({ workspace, path }) => {
      await workspace.call("PATCH", `${path}/versions/draft`, { instructions: "Rhyme." });
      await workspace.call("POST", `${path}/versions/publish`, { rollout: 1 });
      return () => workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" });
    },
  ],
  [
    "GET /privacy/visitors",
    200,
    1,
    1,
    async ({ workspace, ask }) => {
      await ask({ user: { id: "ann" } });
      return () => workspace.call("GET", "/privacy/visitors?external_id=ann");
    },
  ],
  [
    "GET sources",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("GET", `${path}/sources`),
  ],
  [
    // The second trip acknowledges the text, once the object has it.
    "POST sources, a text",
    202,
    2,
    2,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/sources`, { type: "text", name: "A", text: "B" }),
  ],
  [
    "POST sources, a website",
    202,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/sources`, { type: "website", name: "A", url: "https://example.com" }),
  ],
  [
    "POST sources, one too many",
    403,
    1,
    1,
    async ({ workspace, path }) => {
      await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { sources: 1 } });
      return () => workspace.call("POST", `${path}/sources`, { type: "text", name: "A", text: "B" });
    },
  ],
  [
    "POST sync",
    202,
    1,
    1,
    async ({ workspace, agent, path }) => {
      const { id } = await learn(workspace, agent.id, "Shipping takes nine days.");
      return () => workspace.call("POST", `${path}/sources/${id}/sync`);
    },
  ],
  [
    "GET pages of a source",
    200,
    2,
    1,
    async ({ workspace, agent, path }) => {
      const { id } = await learn(workspace, agent.id, "Shipping takes nine days.");
      return () => workspace.call("GET", `${path}/sources/${id}/pages`);
    },
  ],
  [
    "DELETE source",
    204,
    2,
    2,
    async ({ workspace, agent, path }) => {
      const { id } = await learn(workspace, agent.id, "Shipping takes nine days.");
      return () => workspace.call("DELETE", `${path}/sources/${id}`);
    },
  ],
  [
    "GET answers",
    200,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("GET", `${path}/answers`),
  ],
  [
    "POST answers",
    201,
    2,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/answers`, { question: "Do you ship?", answer: "Yes." }),
  ],
  [
    "DELETE answer",
    204,
    2,
    2,
    async ({ workspace, path }) => {
      const { body } = await workspace.call("POST", `${path}/answers`, { question: "Do you ship?", answer: "Yes." });
      return () => workspace.call("DELETE", `${path}/answers/${body.id}`);
    },
  ],
  [
    "POST evaluations",
    202,
    1,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/evaluations`, { cases: [{ question: "When?", expect: { refusal: true } }] }),
  ],
  [
    "POST a case of an evaluation",
    201,
    1,
    1,
    async ({ workspace, path }) => {
      const { body } = await workspace.call("POST", `${path}/evaluations`, { cases: [{ question: "When?", expect: { refusal: true } }] });
      return () => workspace.call("POST", `${path}/evaluations/${body.id}/cases`, { question: "Who?", expect: { refusal: true } });
    },
  ],
  [
    "GET an evaluation, compared with another one",
    200,
    1,
    1,
    async ({ workspace, path }) => {
      const { body } = await workspace.call("POST", `${path}/evaluations`, { cases: [{ question: "When?", expect: { refusal: true } }] });
      return () => workspace.call("GET", `${path}/evaluations/${body.id}?compare_to=${body.id}`);
    },
  ],
  [
    "POST search",
    200,
    2,
    1,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/search`, { query: "refunds" }),
  ],
  [
    "a question that begins a conversation",
    200,
    3,
    2,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?", user: { id: "ann" } }),
  ],
  [
    "a question by OpenAI's protocol, with the messages before it",
    200,
    3,
    2,
    async ({ workspace, agent }) => {
      const messages = ["When are refunds paid?", "And how long does that take?"].map((content) => ({ role: "user", content }));
      return () => workspace.call("POST", "/openai/chat/completions", { model: agent.id, messages });
    },
  ],
  [
    "GET /openai/models",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/openai/models"),
  ],
  [
    "a question that is handed over",
    200,
    3,
    2,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/messages`, { message: "What is the capital of France?" }),
  ],
  [
    "a follow-up",
    200,
    3,
    2,
    async ({ workspace, path, ask }) => {
      const id = await ask();
      return () => workspace.call("POST", `${path}/messages`, { message: "How are they paid?", conversation_id: id });
    },
  ],
  [
    "a question with an Idempotency-Key: a trip to take the key, and one to keep the answer",
    200,
    3,
    4,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" }, { "Idempotency-Key": "one" }),
  ],
  [
    "a streamed question with an Idempotency-Key: the key's trip before its first event",
    200,
    3,
    2,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?", stream: true }, { "Idempotency-Key": "one" }),
  ],
  [
    "GET /conversations/{id}/messages/{id}/stream of a finished answer",
    200,
    1,
    1,
    async ({ workspace, path }) => {
      const { body } = await workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" });
      return () => workspace.call("GET", `/conversations/${body.conversation_id}/messages/${body.message_id}/stream`);
    },
  ],
  [
    "GET /conversations/{id}/messages/{id}/stream, unknown: the session is asked, and D1 again",
    404,
    2,
    2,
    async (fixture) => {
      const id = await fixture.ask();
      return () => fixture.workspace.call("GET", `/conversations/${id}/messages/${unknownId(fixture)}/stream`);
    },
  ],
  [
    "the same again: the answer that was kept",
    200,
    1,
    1,
    async ({ workspace, path }) => {
      const ask = () => workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" }, { "Idempotency-Key": "one" });
      await ask();
      return ask;
    },
  ],
  [
    "the ninth question of a conversation",
    200,
    3,
    2,
    async ({ workspace, path, ask }) => {
      const id = await ask();
      for (let at = 0; at < 7; at++) await ask({ conversation_id: id });
      return () => workspace.call("POST", `${path}/messages`, { message: "How are they paid?", conversation_id: id });
    },
  ],
  [
    "a follow-up whose session object was evicted: it searches again once it knows the earlier turns",
    200,
    4,
    2,
    async ({ workspace, path, ask }) => {
      const id = await ask();
      await evict(env.SESSION.getByName(`${workspace.id}/${id}`));
      return () => workspace.call("POST", `${path}/messages`, { message: "How are they paid?", conversation_id: id });
    },
  ],
  [
    "a question of a workspace with redaction: the setting is read with what a question reads anyway",
    200,
    3,
    2,
    async ({ workspace, path }) => {
      await workspace.call("PATCH", "/privacy/redaction", { card: true, patterns: [{ name: "number", pattern: "KD-[0-9]+" }] });
      return () => workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" });
    },
  ],
  [
    "a question that opens a resolved conversation: the search knew the turns before it",
    200,
    4,
    2,
    async ({ workspace, path, ask }) => {
      const id = await ask();
      await setStatus(id, "resolved");
      return () => workspace.call("POST", `${path}/messages`, { message: "How are they paid?", conversation_id: id });
    },
  ],
  [
    "a message while a human has the conversation",
    200,
    3,
    1,
    async ({ workspace, path, ask }) => {
      const id = await ask();
      await setStatus(id, "human_active");
      return () => workspace.call("POST", `${path}/messages`, { message: "Are you there?", conversation_id: id });
    },
  ],
  [
    "a question past the quota",
    402,
    3,
    1,
    async ({ workspace, path }) => {
      await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 0 } });
      return () => workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?" });
    },
  ],
  [
    "a visitor's question",
    200,
    2,
    3,
    async ({ agent }) =>
      () =>
        visit(agent.id),
  ],
  [
    "a visitor's lead",
    201,
    1,
    2,
    async ({ agent }) =>
      () =>
        leave(agent.id),
  ],
  [
    "a visitor's question past the day's limit",
    429,
    0,
    1,
    async ({ workspace, agent }) => {
      await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { visitor_messages_per_day: 0 } });
      return () => visit(agent.id);
    },
  ],
  [
    "a visitor's lead past the day's limit",
    429,
    0,
    1,
    async ({ workspace, agent }) => {
      await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { leads_per_day: 0 } });
      return () => leave(agent.id);
    },
  ],
  [
    "GET /webhooks",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/webhooks"),
  ],
  [
    "POST /webhooks",
    201,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("POST", "/webhooks", { url: "https://hooks.example.com/", events: ["*"] }),
  ],
  ["GET /webhooks/{id}", 200, 1, 1, async ({ workspace }) => onEndpoint(workspace, "GET")],
  ["PATCH /webhooks/{id}", 200, 1, 1, async ({ workspace }) => onEndpoint(workspace, "PATCH", "", { enabled: false })],
  ["DELETE /webhooks/{id}", 204, 1, 1, async ({ workspace }) => onEndpoint(workspace, "DELETE")],
  ["POST rotate-secret", 200, 1, 1, async ({ workspace }) => onEndpoint(workspace, "POST", "/rotate-secret")],
  [
    "GET /events",
    200,
    1,
    1,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/events"),
  ],
  ["GET deliveries", 200, 1, 1, async ({ workspace }) => onEndpoint(workspace, "GET", "/deliveries")],
  [
    "POST redeliver",
    202,
    1,
    1,
    async ({ workspace, ask }) => {
      await listen(workspace, ["conversation.created"]);
      await ask();
      const done = "UPDATE deliveries SET status = 'succeeded' WHERE workspace_id = ? RETURNING id";
      const [delivery] = await query<{ id: string }>(workspace.id, done, workspace.id);
      return () => workspace.call("POST", `/webhooks/deliveries/${delivery!.id}/redeliver`);
    },
  ],
  [
    "what fails validation asks nobody but the gate",
    422,
    1,
    0,
    async ({ workspace, path }) =>
      () =>
        workspace.call("POST", `${path}/messages`, {}),
  ],
  [
    "the operator's GET /health: one trip to each database",
    200,
    0,
    2,
    async () => () => send("GET", "/operator/v1/health", { token: env.OPERATOR_TOKEN }),
  ],
  [
    "an unknown path",
    404,
    1,
    0,
    async ({ workspace }) =>
      () =>
        workspace.call("GET", "/nothing"),
  ],
  ["no key", 401, 0, 0, async () => () => send("GET", "/api/v1/me")],
  [
    "a key that was made up",
    401,
    0,
    0,
    async ({ workspace }) =>
      () =>
        send("GET", "/api/v1/me", { token: `${workspace.key.slice(0, -4)}AAAA` }),
  ],
];

test.for(OPERATIONS)("%s: %i with %i hops and %i trips", async ([, status, hops, trips, prepare]) => {
  const fixture = await createFixture();
  const request = await prepare(fixture);
  expect(await cost(request)).toEqual([status, hops, trips]);
});

const REGION = "weur";

test.for(OPERATIONS.filter(([name]) => !name.startsWith("the operator's")))(
  "far from the workspace's region: %s: one distant trip",
  async ([, status, , , prepare]) => {
    Reflect.set(env, "DATABASE_REGIONS", `0=${REGION}, 1=${REGION}`);
    const fixture = await createFixture();
    const request = await prepare(fixture);
    let answered = 0;
    const trips = await distantTrips(REGION, async () => {
      ({ status: answered } = await request());
    });
    // A request that is refused without storage does not leave the edge.
    expect([answered, trips]).toEqual([status, status === 401 ? [] : ["ENTRY"]]);
  },
);

/** The operations that cause events. */
const CAUSES = OPERATIONS.filter(([name]) => /question|follow-up|PATCH .conversations|reply/.test(name));

test.for(CAUSES)("with webhooks listening: %s: %i with %i hops and %i trips, as without", async ([, status, hops, trips, prepare]) => {
  const fixture = await createFixture();
  for (let at = 0; at < 3; at++) await listen(fixture.workspace);
  const request = await prepare(fixture);
  expect(await cost(request)).toEqual([status, hops, trips]);
});

test("a streamed question costs as much as a plain one, with one round trip before its first event", async () => {
  const { workspace, path } = await createFixture();
  const log = vi.spyOn(console, "log");
  await workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?", stream: true });
  const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
  log.mockRestore();
  expect(lines.findLast(({ event }) => event === "request")).toMatchObject({ status: 200, object_hops: 3, d1_trips: 1 });
  // The hops to the gate and to the session itself do not count.
  expect(lines.findLast(({ job }) => job === "turn")).toMatchObject({ outcome: "answered", object_hops: 1, d1_trips: 2 });
});

test("a question writes 32 rows of D1 where it begins a conversation, a further one 24", async () => {
  const { workspace, ask, path } = await createFixture();
  await ask();
  const body = { message: "When are refunds paid?" };
  const written = async (more: object) =>
    (await costOf(() => workspace.call("POST", `${path}/messages`, { ...body, ...more }))).rows_written;
  expect(await written({})).toBe(32);
  expect(await written({ conversation_id: await ask() })).toBe(24);
});

test("with subscribed webhooks, a contact form and a hand-off request cost no extra round trip", async () => {
  const spend = async (listens: boolean) => {
    const { workspace, agent } = await createFixture();
    if (listens) await listen(workspace);
    const { body } = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hello" }, headers: newAddress() });
    const headers = { ...newAddress(), Authorization: `Bearer ${body.visitor_token}` };
    const handOff = () => send("POST", `/widget/v1/conversations/${body.conversation_id}/handoff`, { headers });
    return [await cost(() => leave(agent.id)), await cost(handOff)];
  };
  const without = await spend(false);
  expect(without.map(([status]) => status)).toEqual([201, 200]);
  expect(await spend(true)).toEqual(without);
});

test("an evicted gate loads its workspace once", async () => {
  const { workspace } = await createFixture();
  await evict(env.GATE.getByName(workspace.id));
  expect(await cost(() => workspace.call("GET", "/me"))).toEqual([200, 1, 1]);
  expect(await cost(() => workspace.call("GET", "/me"))).toEqual([200, 1, 0]);
});

test("the cost of a read does not grow with the workspace", async () => {
  const { workspace, agent, ask } = await createFixture();
  const conversation = await ask({ user: { id: "ann" } });
  const rows = async () => ({
    conversation: (await costOf(() => workspace.call("GET", `/conversations/${conversation}`))).rows_read,
    page: (await costOf(() => workspace.call("GET", "/agents?limit=1"))).rows_read,
    agent: (await costOf(() => workspace.call("GET", `/agents/${agent.id}`))).rows_read,
    question: (await costOf(() => ask())).rows_read,
  });
  const before = await rows();
  for (let at = 0; at < 20; at++) await ask({ user: { id: `user-${at}` } });
  for (let at = 0; at < 20; at++) await createAgent(workspace, { name: `Agent ${at}` });
  for (let at = 0; at < 20; at++) {
    await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "url", name: "A", url: "https://example.com" });
  }
  const after = await rows();
  // A range of an index is read to its end: one row past it, which may not have been there before.
  for (const name of ["conversation", "page", "agent", "question"] as const) {
    expect([name, after[name] - before[name] <= 2]).toEqual([name, true]);
  }
});
