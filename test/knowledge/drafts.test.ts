import { expect, test } from "vitest";
import { mergeDrafts, withoutSalutation } from "../../src/knowledge/merge-drafts.ts";
import { createWidget } from "../widget/widget.ts";
import { query } from "../harness.ts";

const QUESTION = "Is there a student discount?";
const REPLY = "Yes, students get 15 percent off with the code CAMPUS.";

/** An agent, what visitors ask it, and what the team does with its drafts. */
async function createFixture(settings: Parameters<typeof createWidget>[0] = {}) {
  const { workspace, agent } = await createWidget(settings);
  const path = `/agents/${agent.id}`;
  const ask = async (message: string, conversationId?: string) =>
    (await workspace.call("POST", `${path}/messages`, { message, conversation_id: conversationId })).body;
  const reply = (id: string, content: string, more: object = {}) =>
    workspace.call("POST", `/conversations/${id}/messages`, { content, ...more });
  return {
    workspace,
    agent,
    ask,
    reply,
    /** A conversation with a question that nothing answers, and a reply. */
    talk: async (question: string, content: string) => {
      const { conversation_id: id } = await ask(question);
      const { body } = await reply(id, content);
      return { conversation_id: id as string, message_id: body.id as string, question };
    },
    list: async (page = "") => (await workspace.call("GET", `${path}/drafts${page}`)).body,
    decide: (id: string, action: "accept" | "dismiss", body?: object) => workspace.call("POST", `${path}/drafts/${id}/${action}`, body),
    answers: async () => (await workspace.call("GET", `${path}/answers`)).body.data,
  };
}

test("a human's reply to a question that the agent could not answer becomes a draft, which teaches it nothing", async () => {
  const { agent, ask, talk, list, answers } = await createFixture();
  const conversation = await talk(QUESTION, REPLY);
  const { data, ...page } = await list();
  expect(page).toEqual({ total: 1, limit: 20, offset: 0, has_more: false });
  expect(data).toEqual([
    {
      id: expect.any(String),
      agent_id: agent.id,
      question: QUESTION,
      answer: REPLY,
      count: 1,
      conversations: [conversation],
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  ]);
  expect(await answers()).toEqual([]);
  expect((await ask(QUESTION)).needs_human).toBe(true);
});

test("an accepted draft answers the next visitor at once, and accepted twice it is one answer", async () => {
  const { talk, list, decide, answers, ask } = await createFixture();
  await talk(QUESTION, REPLY);
  const [draft] = (await list()).data;
  const [accepted, again] = await Promise.all([decide(draft.id, "accept"), decide(draft.id, "accept")]);
  expect([accepted.status, again.status]).toEqual([200, 200]);
  expect(await answers()).toEqual([accepted.body]);
  expect(again.body).toEqual(accepted.body);
  expect(accepted.body).toMatchObject({ question: QUESTION, answer: REPLY, metadata: {} });
  expect(await ask("Do students get a discount?")).toMatchObject({ answer: REPLY, needs_human: false });
  expect((await list()).total).toBe(0);
  expect((await decide(draft.id, "accept", { answer: "Another." })).body).toEqual(accepted.body);
  expect((await decide(draft.id, "dismiss")).status).toBe(404);
});

test("a draft is accepted in words of one's own", async () => {
  const { talk, list, decide, answers } = await createFixture();
  await talk(QUESTION, REPLY);
  const [draft] = (await list()).data;
  const edited = { question: "Who gets a discount?", answer: "Students do.", metadata: { team: "store" } };
  for (const body of [{ question: "" }, { answer: "x".repeat(8001) }]) expect((await decide(draft.id, "accept", body)).status).toBe(422);
  await decide(draft.id, "accept", edited);
  expect(await answers()).toMatchObject([edited]);
});

test("replies that say the same to the same question are one draft, and are accepted or dismissed together", async () => {
  const { talk, list, decide } = await createFixture();
  const first = await talk(QUESTION, REPLY);
  const second = await talk("do students get a discount?", "Hi Ada,\n\nyes, with the code CAMPUS students get 15 percent off.");
  await talk(QUESTION, "No, students do not get anything off with the code CAMPUS.");
  await talk("Is there a discount for teachers?", "Yes, teachers get 20 percent off.");
  const { data, total } = await list();
  expect(total).toBe(3);
  const merged = data.find(({ count }: any) => count === 2);
  expect(merged).toMatchObject({ question: QUESTION, answer: REPLY, conversations: [second, first] });
  expect((await list("?limit=1&offset=1")).data).toEqual([data[1]]);
  // A group is dismissed by the id of either draft, together with a later one that says the same.
  expect((await decide(merged.id, "dismiss")).status).toBe(204);
  expect((await decide(merged.id, "dismiss")).status).toBe(204);
  await talk("Any discounts for students?", REPLY);
  expect((await list()).total).toBe(2);
});

test("of several replies the longest is the draft, until the visitor writes again", async () => {
  const { ask, reply, list } = await createFixture();
  const { conversation_id: id } = await ask(QUESTION);
  const answerOf = async () => (await list()).data.map(({ answer }: any) => answer);
  await reply(id, "I ask my colleagues.");
  expect(await answerOf()).toEqual(["I ask my colleagues."]);
  await reply(id, REPLY);
  await reply(id, "Sorry for the delay.");
  expect(await answerOf()).toEqual([REPLY]);
  await ask("And how is bread baked?", id);
  await reply(id, "Bread is baked in an oven that is hot. ".repeat(3));
  expect(await answerOf()).toEqual([REPLY]);
});

test("a draft carries the question that the reply answers, not always the one that was handed off", async () => {
  const { ask, reply, list } = await createFixture();
  const { conversation_id: first } = await ask(QUESTION);
  await ask("Can I talk to a person about our contract?", first);
  await reply(first, "Of course, I have your contract here. What do you want to change?");
  const { conversation_id: second } = await ask(QUESTION);
  await ask("yes please connect me", second);
  await reply(second, REPLY);
  expect((await list()).data.map(({ question, answer }: any) => [question, answer])).toEqual([
    [QUESTION, REPLY],
    ["Can I talk to a person about our contract?", "Of course, I have your contract here. What do you want to change?"],
  ]);
});

test("replies in other conversations are no drafts: answered ones, those of visitors who asked for a human, and resolved ones", async () => {
  const { workspace, talk, ask, reply, list } = await createFixture();
  await talk("When are refunds paid?", "Within five working days.");
  await talk("I want to talk to a human.", "Here I am.");
  const { conversation_id: id } = await ask(QUESTION);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  await reply(id, REPLY);
  expect((await list()).total).toBe(0);
  // The reply that resolves the hand-off counts.
  const { conversation_id: other } = await ask(QUESTION);
  await reply(other, REPLY, { resolve: true });
  expect((await list()).total).toBe(1);
});

test("a draft that the plan has no room for stays a draft", async () => {
  const { talk, list, decide } = await createFixture({ limits: { answers_per_agent: 0 } });
  await talk(QUESTION, REPLY);
  const [draft] = (await list()).data;
  expect((await decide(draft.id, "accept")).body.error.code).toBe("plan_required");
  expect((await list()).data).toEqual([draft]);
});

test("of an agent 200 drafts are kept, those that wait before those that were decided", async () => {
  const { workspace, agent, talk, list } = await createFixture();
  const { conversation_id } = await talk(QUESTION, REPLY);
  const insert = (status: string, count: number) =>
    query(
      workspace.id,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?4)
        INSERT INTO answer_drafts (id, workspace_id, agent_id, conversation_id, message_id, question, answer, status, created_at, updated_at)
        SELECT ?3 || i, ?1, ?2, ?5, 'm', 'question ' || i, 'answer ' || i, ?3, 1, 1 FROM n`,
      workspace.id,
      agent.id,
      status,
      count,
      conversation_id,
    );
  const count = async (status: string) => {
    const [row] = await query<{ n: number }>(
      workspace.id,
      "SELECT count(*) AS n FROM answer_drafts WHERE agent_id = ? AND status = ?",
      agent.id,
      status,
    );
    return row!.n;
  };
  await insert("dismissed", 250);
  expect([await count("pending"), await count("dismissed")]).toEqual([1, 199]);
  await insert("pending", 250);
  expect([await count("pending"), await count("dismissed")]).toEqual([200, 0]);
  expect((await list()).total).toBeLessThanOrEqual(200);
});

test("drafts are erased with the person who asked, and are in their export", async () => {
  const { workspace, agent, reply, list } = await createFixture();
  for (const user of ["ada", "bob"]) {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: QUESTION, user: { id: user } });
    await reply(asked.body.conversation_id, REPLY);
  }
  const [both] = (await list()).data;
  expect(both.count).toBe(2);
  const exported = (await workspace.call("GET", "/privacy/export?external_id=ada")).body;
  const [conversation] = (typeof exported === "string" ? JSON.parse(exported) : exported).conversations;
  expect(conversation.drafts).toMatchObject([{ id: both.id, question: QUESTION, answer: REPLY, status: "pending" }]);
  const erased = await workspace.call("DELETE", "/privacy/visitors?external_id=ada");
  expect(erased.body.deleted.answer_drafts).toBe(1);
  const [left] = (await list()).data;
  expect(left).toMatchObject({ question: QUESTION, count: 1 });
  expect(left.id).not.toBe(both.id);
  await workspace.call("DELETE", `/agents/${agent.id}`);
  expect(await query(workspace.id, "SELECT 1 FROM answer_drafts WHERE workspace_id = ?", workspace.id)).toEqual([]);
});

test.for([
  ["Hi Ada,\n\nyes, we do.", "Yes, we do."],
  ["Hello Ada Lovelace! We ship daily.", "We ship daily."],
  ["Guten Tag Frau Lovelace, wir liefern.", "Wir liefern."],
  ["Dear Ada, of course.", "Of course."],
  ["Hello.", "Hello."],
  ["Yes, we do.", "Yes, we do."],
  ["Hi is our shortest domain, and it is not for sale.", "Hi is our shortest domain, and it is not for sale."],
])("%j is suggested as %j", ([reply, answer]) => {
  expect(withoutSalutation(reply!)).toBe(answer);
});

test("as many drafts as are kept, alike but for their ends, are compared in time", () => {
  const row = (at: number) => ({
    id: String(at).padStart(3, "0"),
    workspaceId: "w",
    agentId: "a",
    conversationId: "c",
    messageId: "m",
    question: "Where is my parcel?",
    answer: `${Array.from({ length: 40 }, (_, n) => `Lamp ${n} of the shelf is good.`).join(" ")} Chair ${at} is not.`,
    status: "pending" as const,
    answerId: null,
    createdAt: 1,
    updatedAt: 1,
  });
  const rows = Array.from({ length: 200 }, (_, at) => row(100 + at));
  expect(mergeDrafts(rows, "en")).toHaveLength(200);
  const long = rows.map((one) => ({ ...one, answer: one.answer.repeat(3) }));
  expect(mergeDrafts([...long, { ...long[0]!, id: "copy" }], "en")).toHaveLength(200);
});
