import { describe, expect, test } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { costOf, createAgent, createKey, createWorkspace, databases, learn, query, send, type Workspace } from "../harness.ts";
import { DAY_MS } from "./history.ts";

const TEXT = "# Refunds\n\nRefunds are paid within five working days.";
const KNOWN = "When are refunds paid?";
const UNKNOWN = "What is the capital of France?";
const NO_RATES = { ai_resolution: null, durable_resolution_7d: null, handoff: null, reopen: null, unanswered: null };
const NO_TOTALS = { conversations: 0, messages: 0, ai_replies: 0, human_replies: 0, leads: 0, handoffs: 0 };

const overview = async (workspace: Workspace, search = "") => (await workspace.call("GET", `/analytics/overview${search}`)).body;

/** An agent that knows about refunds. */
async function createExpert() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, TEXT);
  const ask = async (message: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message })).body.conversation_id as string;
  return { workspace, agent, ask };
}

test("an empty workspace has zeros, nulls and an entry for each day", async () => {
  const workspace = await createWorkspace();
  const body = await overview(workspace);
  const to = body.range.to as string;
  const from = new Date(Date.parse(to) - 29 * DAY_MS).toISOString().slice(0, 10);
  expect(body).toEqual({
    range: { days: 30, from, to },
    agent_id: null,
    totals: NO_TOTALS,
    rates: NO_RATES,
    csat: { average: null, count: 0 },
    feedback: { up: 0, down: 0 },
    times: { median_first_response_seconds: null, median_team_reply_seconds: null, median_resolution_seconds: null },
    handoff_reasons: {
      customer_request: 0,
      missing_knowledge: 0,
      low_confidence: 0,
      unsupported_request: 0,
      tool_failure: 0,
      model_failure: 0,
      approval_required: 0,
      approval_expired: 0,
    },
    by_channel: { widget: 0, hosted: 0, email: 0, api: 0, playground: 0 },
    by_status: { open: 0, ai_handled: 0, needs_human: 0, human_active: 0, resolved: 0 },
    daily: Array.from({ length: 30 }, (_, at) => ({
      date: new Date(Date.parse(from) + at * DAY_MS).toISOString().slice(0, 10),
      ...NO_TOTALS,
    })),
    top_unanswered: [],
    previous: { totals: NO_TOTALS, rates: NO_RATES },
  });
  expect((await overview(workspace, "?days=365")).daily).toHaveLength(365);
});

test("API operations are counted, for the workspace and for the agent", async () => {
  const { workspace, agent, ask } = await createExpert();
  const idle = await createAgent(workspace, { name: "Idle" });
  const known = await ask(KNOWN);
  const unknown = await ask(UNKNOWN);
  await ask("what is the CAPITAL of france");
  await workspace.call("PATCH", `/conversations/${known}`, { status: "resolved" });
  await workspace.call("POST", `/conversations/${unknown}/messages`, { content: "Paris.", resolve: true });
  const whole = await overview(workspace, "?days=1");
  expect(whole).toMatchObject({
    totals: { conversations: 3, messages: 7, ai_replies: 3, human_replies: 1, leads: 0, handoffs: 2 },
    rates: { ai_resolution: 0.3333, durable_resolution_7d: null, handoff: 0.6667, reopen: 0, unanswered: 0.6667 },
    handoff_reasons: { missing_knowledge: 2, customer_request: 0 },
    by_channel: { api: 3 },
    by_status: { needs_human: 1, resolved: 2 },
    top_unanswered: [{ question: "what is the CAPITAL of france", count: 2 }],
  });
  expect(whole.daily).toEqual([{ date: whole.range.to, ...whole.totals }]);
  const csv = await workspace.call("GET", "/analytics/overview?days=2", undefined, { Accept: "text/csv" });
  expect(csv.headers.get("Content-Type")).toBe("text/csv; charset=utf-8");
  const [head, yesterday, today] = csv.body.split("\r\n");
  expect(head).toBe("date,conversations,messages,ai_replies,human_replies,leads,handoffs");
  expect(yesterday).toMatch(/^\d{4}-\d\d-\d\d,0,0,0,0,0,0$/);
  expect(today).toBe(`${whole.range.to},3,7,3,1,0,2`);
  expect(await overview(workspace, `?days=1&agent_id=${agent.id.toUpperCase()}`)).toEqual({ ...whole, agent_id: agent.id });
  const ofIdle = await overview(workspace, `?days=1&agent_id=${idle.id}`);
  expect(ofIdle).toMatchObject({ agent_id: idle.id, totals: NO_TOTALS, rates: NO_RATES, by_status: { resolved: 0 }, top_unanswered: [] });
});

test("nothing in the playground is reported, but its questions use the quota", async () => {
  const { workspace, agent } = await createExpert();
  const tryOut = async (message: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, channel: "playground" })).body;
  const before = await overview(workspace);
  const known = await tryOut(KNOWN);
  const unknown = await tryOut(UNKNOWN);
  const rating = `/conversations/${known.conversation_id}/messages/${known.message_id}/feedback`;
  for (const value of ["up", "down"]) expect((await workspace.call("POST", rating, { rating: value })).status).toBe(200);
  await query(workspace.id, "UPDATE conversations SET csat_score = 5 WHERE id = ?", known.conversation_id);
  for (const status of ["resolved", "open", "resolved"])
    await workspace.call("PATCH", `/conversations/${known.conversation_id}`, { status });
  await workspace.call("POST", `/conversations/${unknown.conversation_id}/messages`, { content: "Paris.", resolve: true });
  expect(await overview(workspace)).toEqual(before);
  expect((await workspace.call("GET", `/agents/${agent.id}/gaps`)).body.data).toEqual([]);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(2);
  expect((await workspace.call("GET", "/conversations?channel=playground")).body.total).toBe(2);
  expect((await workspace.call("GET", "/feedback")).body.total).toBe(1);
});

test("the first response is the first reply, by the agent or a human", async () => {
  const workspace = await createWorkspace();
  const [first, second] = [newId(shardOf(workspace.id), Date.now()), newId(shardOf(workspace.id), Date.now())];
  const atMs = Date.now() - 60_000;
  const say = (conversationId: string, role: string, sinceMs: number) =>
    query(
      workspace.id,
      `INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at) VALUES (?, ?, ?, ?, 'member', 'Hello', ?)`,
      crypto.randomUUID(),
      workspace.id,
      conversationId,
      role,
      atMs + sinceMs,
    );
  for (const [id, [human, ai]] of [[first, [2_000, 50_000]] as const, [second, [50_000, 2_000]] as const]) {
    await query(
      workspace.id,
      `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
       VALUES (?1, ?2, 'a', 'api', 'open', ?3, ?3, ?3)`,
      id,
      workspace.id,
      atMs,
    );
    const reply = () => query(workspace.id, "UPDATE conversations SET first_human_reply_at = ? WHERE id = ?", atMs + human, id);
    if (human < ai) await reply();
    await say(id, "assistant", ai);
    if (human > ai) await reply();
  }
  const { median_first_response_seconds: median } = (await overview(workspace, "?days=2")).times;
  expect(median).toBeGreaterThan(2 * 0.953);
  expect(median).toBeLessThan(2 * 1.047);
  const [day] = await query(
    workspace.id,
    "SELECT first_responses FROM analytics_days WHERE workspace_id = ? AND agent_id = ''",
    workspace.id,
  );
  expect(day).toEqual({ first_responses: '{"83":2}' });
});

test("the team's reply time runs from each hand-off to the first reply while it is open", async () => {
  const { workspace, ask } = await createExpert();
  const id = await ask(UNKNOWN);
  const handOffBefore = (seconds: number) =>
    query(
      workspace.id,
      "UPDATE handoffs SET requested_at = ? WHERE status = 'pending' AND conversation_id = ?",
      Date.now() - seconds * 1000,
      id,
    );
  const reply = () => workspace.call("POST", `/conversations/${id}/messages`, { content: "Paris." });
  const median = async () => (await overview(workspace, "?days=2")).times.median_team_reply_seconds;
  // Only the team's replies count, and taking a conversation over is none.
  await handOffBefore(600);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "human_active" });
  expect(await median()).toBeNull();
  await reply();
  expect(Math.abs((await median()) / 600 - 1)).toBeLessThan(0.06);
  await reply();
  const replies = () =>
    query(
      workspace.id,
      "SELECT day, team_replies FROM analytics_days WHERE workspace_id = ? AND agent_id = '' AND team_replies <> '{}'",
      workspace.id,
    );
  expect(await replies()).toMatchObject([{ team_replies: expect.stringMatching(/^\{"\d+":1\}$/) }]);
  // A hand-off that is resolved without a reply waited for nobody's.
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  await reply();
  expect(await replies()).toMatchObject([{ team_replies: expect.stringMatching(/^\{"\d+":1\}$/) }]);
});

describe("an invalid request", () => {
  test("names each invalid field", async () => {
    const workspace = await createWorkspace();
    const typesOf = async (search: string) => {
      const { status, body } = await workspace.call("GET", `/analytics/overview?${search}`);
      return [status, ...body.detail.map((item: any) => `${item.loc.join(".")} ${item.type}`)];
    };
    expect(await typesOf("days=0")).toEqual([422, "query.days greater_than_equal"]);
    expect(await typesOf("days=366")).toEqual([422, "query.days less_than_equal"]);
    for (const days of ["x", "", "1.5", "1e1"]) expect(await typesOf(`days=${days}`)).toEqual([422, "query.days int_parsing"]);
    expect(await typesOf("days=0&agent_id=A%20B")).toEqual([422, "query.days greater_than_equal", "query.agent_id value_error"]);
  });

  test("another workspace's agent is not found, and the scope is required", async () => {
    const workspace = await createWorkspace();
    const foreign = await createAgent(await createWorkspace());
    for (const id of [foreign.id, crypto.randomUUID()])
      expect((await workspace.call("GET", `/analytics/overview?agent_id=${id}`)).status).toBe(404);
    const { key } = await createKey(workspace, ["conversations:read"]);
    expect((await send("GET", "/api/v1/analytics/overview", { token: key })).body.error.code).toBe("insufficient_scope");
  });
});

test("erasing a conversation keeps past numbers, and erases its question", async () => {
  const { workspace, ask } = await createExpert();
  const secret = await ask("Where does Ada Lovelace live?");
  const shared = await ask(UNKNOWN);
  await ask("what is the capital of france");
  const before = await overview(workspace);
  expect(before.top_unanswered).toEqual([
    { question: "what is the capital of france", count: 2 },
    { question: "Where does Ada Lovelace live?", count: 1 },
  ]);
  for (const id of [secret, shared]) {
    for (const table of ["handoffs", "messages"]) await query(workspace.id, `DELETE FROM ${table} WHERE conversation_id = ?`, id);
    await query(workspace.id, "DELETE FROM conversations WHERE id = ?", id);
  }
  const question = { question: "what is the capital of france", count: 1 };
  const byStatus = { ...before.by_status, needs_human: 1 };
  expect(await overview(workspace)).toEqual({ ...before, by_status: byStatus, top_unanswered: [question] });
  // The columns have no ids, in which any three letters from a to f may occur.
  const kept = await query(workspace.id, "SELECT question, question_key FROM unanswered_questions WHERE workspace_id = ?", workspace.id);
  expect(kept).toHaveLength(2);
  expect(JSON.stringify(kept)).not.toMatch(/ada|lovelace/i);
});

test("a question is deleted a year after it was last asked", async () => {
  const workspace = await createWorkspace();
  const handOff = (key: string, atMs: number) =>
    query(
      workspace.id,
      `INSERT INTO handoffs (id, workspace_id, agent_id, conversation_id, reason, summary, question_key, status, requested_at)
       VALUES (?1, ?2, 'a', ?1, 'missing_knowledge', ?3, ?3, 'resolved', ?4)`,
      crypto.randomUUID(),
      workspace.id,
      key,
      atMs,
    );
  const nowMs = Date.now();
  await handOff("old", nowMs - 400 * DAY_MS);
  await handOff("again", nowMs - 370 * DAY_MS);
  await handOff("again", nowMs);
  const kept = await query(
    workspace.id,
    "SELECT question, asked FROM unanswered_questions WHERE workspace_id = ? AND agent_id = ''",
    workspace.id,
  );
  expect(kept).toEqual([{ question: "again", asked: 1 }]);
});

/** The number of days over which the conversations below are spread. */
const SPREAD_DAYS = 50;
const QUESTIONS = 7;
/** The reads of its days at both ends of a range, in the index and in the table. */
const ROWS_PER_QUESTION = 4;
/** Whether it is there, whether it has days, and it. */
const ROWS_PER_SPAN = 3;

/** A workspace with `count` conversations, every fifth of them with an unanswered question, one of `questions`. */
async function populate(count: number, questions = QUESTIONS) {
  const workspace = await createWorkspace();
  const shard = shardOf(workspace.id);
  const agent = await createAgent(workspace);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const rows = Array.from({ length: count }, (_, at) => ({
    id: newId(shard, Date.now()),
    at_ms: today - (at % SPREAD_DAYS) * DAY_MS,
    question: at % 5 === 0 ? `question ${at % questions}` : null,
  }));
  const db = databases[shard]!;
  const json = JSON.stringify(rows);
  const insert =
    db.prepare(`INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
    SELECT value ->> 'id', ?1, ?2, 'api', 'open', value ->> 'at_ms', value ->> 'at_ms', value ->> 'at_ms' FROM json_each(?3)`);
  const handOff = db.prepare(`INSERT INTO handoffs (id, workspace_id, agent_id, conversation_id, reason, question_key, status, requested_at)
    SELECT value ->> 'id', ?1, ?2, value ->> 'id', 'missing_knowledge', value ->> 'question', 'pending', value ->> 'at_ms'
      FROM json_each(?3) WHERE value ->> 'question' IS NOT NULL`);
  await db.batch([insert.bind(workspace.id, agent.id, json), handOff.bind(workspace.id, agent.id, json)]);
  return { workspace, agent };
}

test("an overview costs one round trip, and reads no more rows than the range has days", async () => {
  const sizes = [await populate(100), await populate(5000)];
  const [few, many] = await Promise.all(sizes.map(({ workspace }) => overview(workspace, "?days=365")));
  expect([few.totals.conversations, many.totals.conversations]).toEqual([100, 5000]);
  for (const ofAgent of [false, true]) {
    const read = async (days: number) => {
      const costs = [];
      for (const { workspace, agent } of sizes) {
        const look = () => overview(workspace, `?days=${days}${ofAgent ? `&agent_id=${agent.id}` : ""}`);
        // The first adds up spans.
        await look();
        costs.push(await costOf(look));
      }
      expect(costs.map((cost) => cost.d1_trips)).toEqual([1, 1]);
      // The number of rows varies with the questions that are counted, which depends on how often they were asked.
      expect(Math.abs(costs[1]!.rows_read - costs[0]!.rows_read)).toBeLessThanOrEqual(ROWS_PER_QUESTION * QUESTIONS);
      return costs[0]!.rows_read;
    };
    const [day, year] = [await read(1), await read(365)];
    // Each day is read at most three times: for its entry, the sums, and the counters by name. The year before has no days.
    expect(year - day).toBeLessThanOrEqual(3 * SPREAD_DAYS + ROWS_PER_SPAN * Math.floor(365 / 16) + ROWS_PER_QUESTION * QUESTIONS);
  }
});

test("at most the hundred most frequent and the hundred latest unanswered questions are read", async () => {
  // Every fifth conversation has a question, so there are as many as a number without the factor five.
  const [some, many] = [await populate(3000, 301), await populate(6000, 1201)];
  const costs = [];
  for (const { workspace } of [some, many]) costs.push((await costOf(() => overview(workspace))).rows_read);
  expect(Math.abs(costs[1]! - costs[0]!)).toBeLessThanOrEqual(200);
  // For each question, its row and two of its days are read.
  expect(costs[1]).toBeLessThan(2000);
  expect((await overview(some.workspace, "?days=365")).top_unanswered).toHaveLength(10);
});
