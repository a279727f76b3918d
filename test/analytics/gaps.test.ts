import { expect, test } from "vitest";
import { groupGaps } from "../../src/analytics/gaps.ts";
import { costOf, query } from "../harness.ts";
import { createWidget } from "../widget/widget.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** An agent and what visitors ask it. */
async function createFixture(agentSettings: Record<string, unknown> = {}) {
  const { workspace, agent } = await createWidget({ agent: agentSettings });
  const path = `/agents/${agent.id}`;
  return {
    workspace,
    agent,
    ask: async (message: string, user = crypto.randomUUID()) =>
      (await workspace.call("POST", `${path}/messages`, { message, user: { id: user } })).body,
    rate: (answer: any, rating: string, comment?: string) =>
      workspace.call("POST", `/conversations/${answer.conversation_id}/messages/${answer.message_id}/feedback`, { rating, comment }),
    list: async (page = "") => (await workspace.call("GET", `${path}/gaps${page}`)).body,
    teach: (question: string) => workspace.call("POST", `${path}/answers`, { question, answer: "Yes: 15 percent." }),
  };
}

const shown = (gaps: any) => gaps.data.map(({ question, unanswered, rated_down: down }: any) => [question, unanswered, down]);

test("unanswered questions are grouped by what they ask, with counts, times and the latest examples", async () => {
  const { ask, rate, list } = await createFixture();
  const first = await ask("Is there a student discount?");
  const second = await ask("is there a student discount");
  const third = await ask("Do students get a discount?");
  // The question has already been counted as unanswered.
  await rate(third, "down");
  await ask("How is bread baked?");
  await ask("When are refunds paid?");
  const answered = await ask("When do you pay refunds?");
  await rate(answered, "down", "Which days?");
  await rate(await ask("How long is the warranty?"), "up");
  const gaps = await list();
  expect(shown(gaps)).toEqual([
    ["is there a student discount", 3, 0],
    ["When do you pay refunds?", 0, 1],
    ["How is bread baked?", 1, 0],
  ]);
  expect(gaps).toMatchObject({ total: 3, has_more: false });
  const [discount, refunds] = gaps.data;
  expect(discount.count).toBe(3);
  expect(discount.examples.map((one: any) => [one.question, one.conversation_id, one.kind])).toEqual([
    ["Do students get a discount?", third.conversation_id, "unanswered"],
    ["is there a student discount", second.conversation_id, "unanswered"],
    ["is there a student discount", first.conversation_id, "unanswered"],
  ]);
  expect(discount.examples[0].at).toBe(discount.last_at);
  expect(discount.examples[2].at).toBe(discount.first_at);
  expect(refunds.examples).toMatchObject([
    { conversation_id: answered.conversation_id, message_id: answered.message_id, kind: "rated_down", comment: "Which days?" },
  ]);
  expect(shown(await list("?limit=1&offset=2"))).toEqual([["How is bread baked?", 1, 0]]);
});

test("a question whose answer the agent was not sure enough of counts as unanswered", async () => {
  const { ask, list } = await createFixture({ confidence_threshold: 1 });
  expect((await ask("When are refunds paid?")).handoff_reason).toBe("low_confidence");
  expect(shown(await list())).toEqual([["When are refunds paid?", 1, 0]]);
});

test("an answer that several rated down counts once, and one that was rated up again not at all", async () => {
  const { workspace, agent, ask, rate, list } = await createFixture();
  const answer = await ask("When are refunds paid?");
  await rate(answer, "down");
  await query(
    workspace.id,
    `INSERT INTO message_feedback SELECT '${crypto.randomUUID()}', workspace_id, agent_id, conversation_id, message_id, 'visitor', rating, comment,
      created_at, updated_at FROM message_feedback WHERE agent_id = ?`,
    agent.id,
  );
  expect(shown(await list())).toEqual([["When are refunds paid?", 0, 1]]);
  await query(workspace.id, "UPDATE message_feedback SET rating = 'up' WHERE agent_id = ?", agent.id);
  expect((await list()).total).toBe(0);
});

test("a gap closes with a curated answer, and opens again when the question stays unanswered after that", async () => {
  const { ask, rate, list, teach } = await createFixture();
  await ask("Is there a student discount?");
  expect((await list()).total).toBe(1);
  await teach("Do students get a discount?");
  expect((await list()).total).toBe(0);
  const answer = await ask("Do students get a discount?");
  expect(answer.answer).toBe("Yes: 15 percent.");
  await rate(answer, "down");
  const [gap] = (await list()).data;
  expect(gap).toMatchObject({ count: 2, unanswered: 1, rated_down: 1 });
});

test("the parameter days limits the list to questions of these days", async () => {
  const { workspace, agent, ask, list } = await createFixture();
  await ask("Is there a student discount?");
  await query(workspace.id, "UPDATE handoffs SET requested_at = requested_at - ? WHERE agent_id = ?", 10 * DAY_MS, agent.id);
  await query(
    workspace.id,
    "UPDATE unanswered_questions SET last_asked_at = last_asked_at - ? WHERE workspace_id = ?",
    10 * DAY_MS,
    workspace.id,
  );
  await query(workspace.id, "UPDATE unanswered_question_days SET day = day - 10 WHERE workspace_id = ?", workspace.id);
  await ask("How is bread baked?");
  expect(shown(await list("?days=7"))).toEqual([["How is bread baked?", 1, 0]]);
  expect((await list("?days=30")).total).toBe(2);
  expect((await workspace.call("GET", `/agents/${agent.id}/gaps?days=366`)).status).toBe(422);
});

test("the questions of an erased person are removed from the gaps", async () => {
  const { workspace, ask, rate, list } = await createFixture();
  await ask("Is there a student discount for Ada Lovelace?", "ada");
  await rate(await ask("When are refunds paid to Ada Lovelace?", "ada"), "down");
  await ask("How is bread baked?", "ada");
  await ask("how is bread baked", "bob");
  expect((await list()).total).toBe(3);
  await workspace.call("DELETE", "/privacy/visitors?external_id=ada");
  const left = await list();
  expect(shown(left)).toEqual([["how is bread baked", 1, 0]]);
  expect(left.data[0].examples).toHaveLength(1);
});

test("a list of gaps costs one round trip", async () => {
  const { ask, list } = await createFixture();
  await ask("Is there a student discount?");
  expect((await costOf(() => list())).d1_trips).toBe(1);
});

test("an answer that several rated down has the time and the comment of the latest rating", () => {
  const rating = (at: number) => ({ question: "Do students pay less?", conversationId: "c", messageId: "m", comment: `at ${at}`, at });
  const curated = [{ question: "Do students pay less?", updatedAt: 2 }];
  const gaps = groupGaps({ questions: [], ratedDown: [rating(3), rating(1)], curated }, "en");
  expect(gaps).toMatchObject([{ ratedDown: 1, lastAt: 3, examples: [{ comment: "at 3" }] }]);
});

test("as many questions as are read at most are grouped in linear time", () => {
  const questions = Array.from({ length: 200 }, (_, at) => ({
    question: `${"Where is the parcel that I am waiting for ".repeat(12)}${at}`.slice(-500),
    count: 1,
    firstAt: 1,
    lastAt: at,
    examples: "[]",
  }));
  const ratedDown = questions.map(({ question }, at) => ({
    question: question.split("").toReversed().join(""),
    conversationId: "c",
    messageId: String(at),
    comment: null,
    at,
  }));
  const curated = questions.map(({ question }) => ({ question: question.replaceAll("parcel", "lamp"), updatedAt: 0 }));
  expect(groupGaps({ questions, ratedDown, curated }, "de").length).toBeGreaterThan(0);
});
