import { expect, test } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { KNOWN } from "../chat/handbook.ts";
import { createKey, query, send } from "../harness.ts";
import { createWidget } from "../widget/widget.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** An agent with answers, and how the team rates them. */
async function createFixture() {
  const { workspace, agent } = await createWidget();
  const answer = async () => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN.message });
    return { conversationId: body.conversation_id as string, messageId: body.message_id as string };
  };
  const rate = (of: Awaited<ReturnType<typeof answer>>, body: unknown, token = workspace.key) =>
    send("POST", `/api/v1/conversations/${of.conversationId}/messages/${of.messageId}/feedback`, { token, body });
  const list = async (filters = "") => (await workspace.call("GET", `/feedback?${filters}`)).body;
  return { workspace, agent, answer, rate, list };
}

const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);

test("each API key rates an answer once, and its last rating counts", async () => {
  const { workspace, agent, answer, rate, list } = await createFixture();
  const answered = await answer();
  const first = await rate(answered, { rating: "down", comment: "Which days?" });
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({
    agent_id: agent.id,
    conversation_id: answered.conversationId,
    message_id: answered.messageId,
    rating: "down",
    comment: "Which days?",
  });
  expect((await rate(answered, { rating: "up" })).body).toMatchObject({ id: first.body.id, rating: "up", comment: null });
  const other = await createKey(workspace, ["conversations:write"]);
  expect((await rate(answered, { rating: "down" }, other.key)).body.author).toBe(other.id);
  expect((await list()).data.map(({ author, rating }: any) => [author, rating])).toEqual([
    [other.id, "down"],
    [first.body.author, "up"],
  ]);
  expect((await workspace.call("GET", "/analytics/overview?days=1")).body.feedback).toEqual({ up: 1, down: 1 });
});

test("an answer takes ratings of 200 API keys, and of its visitor", async () => {
  const { workspace, agent, answer, rate } = await createFixture();
  const answered = await answer();
  await rate(answered, { rating: "down" });
  const others = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
    INSERT INTO message_feedback (id, workspace_id, agent_id, conversation_id, message_id, author, rating, created_at, updated_at)
    SELECT ? || i, ?, ?, ?, ?, 'key-' || i, 'up', 1, 1 FROM n`;
  await query(workspace.id, others, workspace.id, workspace.id, agent.id, answered.conversationId, answered.messageId);
  const { key } = await createKey(workspace, ["conversations:write"]);
  const refused = await rate(answered, { rating: "up" }, key);
  expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
  expect((await rate(answered, { rating: "up" })).status).toBe(200);
  expect((await rate(await answer(), { rating: "up" }, key)).status).toBe(200);
});

test("only answers of the agent are rated, and only as up or down", async () => {
  const { workspace, answer, rate, list } = await createFixture();
  const answered = await answer();
  const transcript = (await workspace.call("GET", `/conversations/${answered.conversationId}`)).body;
  const messageId = transcript.messages.find(({ role }: any) => role === "user").id;
  const other = await answer();
  for (const of of [
    { ...answered, messageId },
    { ...answered, messageId: other.messageId },
  ]) {
    expect((await rate(of, { rating: "up" })).body.error.code).toBe("not_found");
  }
  for (const body of [{}, { rating: "sideways" }, { rating: "up", comment: "x".repeat(2001) }])
    expect((await rate(answered, body)).status).toBe(422);
  expect((await list()).total).toBe(0);
});

/** Ratings of these times, oldest first; returns their ids, newest first. */
async function addRatings(workspaceId: string, agentId: string, given: readonly (readonly ["up" | "down", atMs: number])[]) {
  const ids: string[] = [];
  for (const [rating, atMs] of given) {
    const [id, other] = [newId(shardOf(workspaceId), atMs), newId(shardOf(workspaceId), atMs)];
    const columns = "id, workspace_id, agent_id, conversation_id, message_id, author, rating, created_at, updated_at";
    const row = [id, workspaceId, agentId, other, other, "visitor", rating, atMs, atMs];
    await query(workspaceId, `INSERT INTO message_feedback (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...row);
    ids.unshift(id);
  }
  return ids;
}

test("ratings are listed newest first, by agent, rating and time, with exact totals and steady cursors", async () => {
  const { workspace, agent, answer, rate, list } = await createFixture();
  const sinceMs = Date.parse("2026-03-02T12:00:00Z");
  // The second one is of the day on which the range begins, and not in it.
  const given = [
    ["up", sinceMs - DAY_MS],
    ["down", sinceMs - 1],
    ["down", sinceMs],
    ["up", sinceMs + DAY_MS],
  ] as const;
  const made = await addRatings(workspace.id, agent.id, given);
  const since = `since=${new Date(sinceMs).toISOString()}`;
  for (const [filters, expected] of [
    ["", made],
    [`agent_id=${agent.id}`, made],
    [`agent_id=${crypto.randomUUID()}`, []],
    ["rating=down", [made[1], made[2]]],
    [`agent_id=${agent.id}&rating=up`, [made[0], made[3]]],
    [since, [made[0], made[1]]],
    [`${since}&rating=down&agent_id=${agent.id}`, [made[1]]],
  ] as const) {
    const page = await list(filters);
    expect([filters, idsOf(page), page.total]).toEqual([filters, expected, expected.length]);
  }
  const first = await list("limit=3");
  expect([idsOf(first), first.total, first.has_more]).toEqual([made.slice(0, 3), 4, true]);
  const newer = (await rate(await answer(), { rating: "up" })).body.id;
  const rest = await list(`limit=3&cursor=${first.next_cursor}`);
  expect([idsOf(rest), rest.next_cursor]).toEqual([made.slice(3), null]);
  expect(idsOf(await list("limit=2"))).toEqual([newer, made[0]]);
  expect(idsOf(await list("offset=4"))).toEqual([made[3]]);
});

test("totals follow a changed rating and an erased conversation", async () => {
  const { workspace, answer, rate, list } = await createFixture();
  const answered = await answer();
  await rate(answered, { rating: "up" });
  await rate(answered, { rating: "down" });
  expect([(await list("rating=up")).total, (await list("rating=down")).total]).toEqual([0, 1]);
  await query(workspace.id, "DELETE FROM message_feedback WHERE conversation_id = ?", answered.conversationId);
  expect((await list()).total).toBe(0);
});
