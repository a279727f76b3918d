import { expect, test } from "vitest";
import { type DayRange, spannedDays, spansIn } from "../../src/analytics/definitions.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { costOf, createAgent, createWorkspace, query, type Workspace } from "../harness.ts";
import { DAY_MS, seeded } from "./history.ts";

const YEAR = "/analytics/overview?days=365";

const overview = async (workspace: Workspace, path = YEAR) => (await workspace.call("GET", path)).body;

const spansOf = (workspace: Workspace) =>
  query(
    workspace.id,
    "SELECT agent_id, day, first_responses, resolutions, team_replies, channels FROM analytics_spans WHERE workspace_id = ? ORDER BY agent_id, day",
    workspace.id,
  );

/** A conversation that began so many days ago, and was answered after ten seconds. */
async function begin(workspace: Workspace, agentId: string, daysAgo: number): Promise<string> {
  const id = newId(shardOf(workspace.id), Date.now());
  const atMs = Date.now() - daysAgo * DAY_MS;
  await query(
    workspace.id,
    `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
     VALUES (?1, ?2, ?3, 'api', 'open', ?4, ?4, ?4)`,
    id,
    workspace.id,
    agentId,
    atMs,
  );
  await query(
    workspace.id,
    `INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at)
     VALUES (?1, ?2, ?3, 'assistant', 'agent', 'Hello', ?4)`,
    crypto.randomUUID(),
    workspace.id,
    id,
    atMs + 10_000,
  );
  return id;
}

test("whole spans of a range end before its last day", () => {
  const daysOf = ({ fromDay, toDay }: DayRange) => Array.from({ length: Math.max(0, toDay - fromDay + 1) }, (_, at) => fromDay + at);
  for (let toDay = 20_000; toDay < 20_016; toDay++) {
    for (const days of [...Array(50).keys()].map((at) => at + 1).concat(365)) {
      const range = { fromDay: toDay - days + 1, toDay };
      // The span of the last day is not whole until that day is over.
      const whole = daysOf(range).filter((day) => day % 16 === 0 && day + 15 < toDay);
      const spanned = spannedDays(range);
      expect(spansIn(spanned)).toEqual(whole);
      expect(daysOf(spanned)).toEqual(whole.flatMap((day) => daysOf({ fromDay: day, toDay: day + 15 })));
    }
  }
});

test("an overview adds up the spans of past days once, and reads them from then on", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  for (const daysAgo of [0, 40, 40, 340]) await begin(workspace, agent.id, daysAgo);
  const first = await costOf(() => overview(workspace));
  expect(first).toMatchObject({ d1_trips: 2 });
  const spans = await spansOf(workspace);
  expect(spans).toMatchObject([
    { agent_id: "", first_responses: '{"101":1}', resolutions: "{}", channels: '{"api":1}' },
    { agent_id: "", first_responses: '{"101":2}', resolutions: "{}", channels: '{"api":2}' },
  ]);
  expect(await costOf(() => overview(workspace))).toMatchObject({ d1_trips: 1, rows_written: 0 });
  // The figures come from the spans.
  await query(workspace.id, `UPDATE analytics_spans SET channels = '{"api":70}' WHERE workspace_id = ?`, workspace.id);
  expect((await overview(workspace)).by_channel.api).toBe(141);
  await overview(workspace, `${YEAR}&agent_id=${agent.id}`);
  expect(await spansOf(workspace)).toHaveLength(4);
});

test("an overview counts the days themselves where their spans cannot be stored", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  for (const daysAgo of [0, 40, 340]) await begin(workspace, agent.id, daysAgo);
  const refusal =
    "CREATE TRIGGER full BEFORE INSERT ON analytics_spans BEGIN SELECT RAISE(ABORT, 'database or disk is full: SQLITE_FULL'); END";
  await query(workspace.id, refusal);
  const { status, body } = await workspace.call("GET", YEAR);
  await query(workspace.id, "DROP TRIGGER full");
  expect(status).toBe(200);
  expect(await spansOf(workspace)).toEqual([]);
  expect(body).toEqual(await overview(workspace));
  expect(await spansOf(workspace)).toHaveLength(2);
  expect(body).toEqual(await overview(workspace));
  expect(body.by_channel.api).toBe(3);
});

test("a change of an old day counts in the next overview, and leaves other spans alone", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ofAgent = `${YEAR}&agent_id=${agent.id}`;
  const old = await begin(workspace, agent.id, 40);
  await begin(workspace, agent.id, 340);
  for (const path of [YEAR, ofAgent]) expect((await overview(workspace, path)).times.median_resolution_seconds).toBeNull();
  const [farthest] = await spansOf(workspace);
  await workspace.call("PATCH", `/conversations/${old}`, { status: "resolved" });
  expect((await spansOf(workspace)).map(({ day }) => day)).toEqual([farthest!["day"], farthest!["day"]]);
  for (const path of [YEAR, ofAgent]) {
    const { median_resolution_seconds: median } = (await overview(workspace, path)).times;
    expect(Math.abs(median / (40 * 24 * 3600) - 1)).toBeLessThan(0.05);
  }
  expect(await spansOf(workspace)).toHaveLength(4);
});

test("erasing a person keeps the numbers of spans, which hold nothing of them", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "I want a human.", user: { id: "ada" } });
  const { conversation_id: id } = asked.body;
  await query(workspace.id, "UPDATE conversations SET created_at = created_at - ? WHERE id = ?", 40 * DAY_MS, id);
  await query(workspace.id, "UPDATE analytics_days SET day = day - 40 WHERE workspace_id = ?", workspace.id);
  const before = await overview(workspace);
  const spans = await spansOf(workspace);
  expect(spans).toHaveLength(1);
  await workspace.call("DELETE", "/privacy/visitors?external_id=ada");
  expect(await query(workspace.id, "SELECT id FROM conversations WHERE id = ?", id)).toEqual([]);
  const { by_status: before_, ...numbers } = before;
  expect(await overview(workspace)).toMatchObject({ ...numbers, by_status: { ...before_, needs_human: 0 } });
  expect(await spansOf(workspace)).toEqual(spans);
});

test("the most frequent questions are those that a count of all finds, whatever was asked before the range", async () => {
  const workspace = await createWorkspace();
  const random = seeded(7);
  const today = Math.floor(Date.now() / DAY_MS);
  const asked = Array.from({ length: 400 }, () => ({
    id: crypto.randomUUID(),
    question: `question ${Math.floor(random() ** 2 * 60)}`,
    at: (today - Math.floor(random() ** 2 * 200)) * DAY_MS,
  })).sort((a, b) => a.at - b.at);
  await query(
    workspace.id,
    `INSERT INTO handoffs (id, workspace_id, agent_id, conversation_id, reason, summary, question_key, status, requested_at)
     SELECT value ->> 'id', ?1, 'a', value ->> 'id', 'missing_knowledge', value ->> 'question', value ->> 'question', 'resolved', value ->> 'at'
       FROM json_each(?2)`,
    workspace.id,
    JSON.stringify(asked),
  );
  for (const days of [1, 7, 30, 90, 365]) {
    const inRange = asked.filter(({ at }) => at / DAY_MS > today - days);
    const counts = [...Map.groupBy(inRange, ({ question }) => question)].map(([question, all]) => ({
      question,
      count: all.length,
      lastAt: all.at(-1)!.at,
    }));
    const ranked = counts.sort((a, b) => b.count - a.count || b.lastAt - a.lastAt || (a.question < b.question ? -1 : 1));
    const expected = ranked.slice(0, 10).map(({ question, count }) => ({ question, count }));
    expect((await overview(workspace, `/analytics/overview?days=${days}`)).top_unanswered, `${days} days`).toEqual(expected);
  }
});
