import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createWorkspace, evict, learn, query, type Workspace } from "../harness.ts";
import { HANDBOOK, KNOWN, UNKNOWN } from "./handbook.ts";

const CATALOGUE = `# Price

The price of the kettle is 40 euros.

The price of the toaster is 25 euros.

# Warranty

The warranty of the kettle lasts three years.

The warranty of the toaster lasts two years.
`;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HANDOFF_MESSAGE = "A colleague will reply.";

async function createExpert(settings: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { name: "Ada", handoff_message: HANDOFF_MESSAGE, ...settings });
  const source = await learn(workspace, agent.id, HANDBOOK);
  const ask = (body: Record<string, unknown>) => workspace.call("POST", `/agents/${agent.id}/messages`, body);
  return { workspace, agent, source, ask };
}

const usedMessages = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body.usage.messages;

/** The hand-offs of a conversation. */
async function handoffsOf(conversationId: string) {
  return query(conversationId, "SELECT * FROM handoffs WHERE conversation_id = ?", conversationId);
}

test("a new agent learns a text and answers from it, with its source", async () => {
  const { ask, source } = await createExpert();
  expect(source).toMatchObject({ status: "ready", pages_indexed: 1, chunks_count: 3 });
  const asked = await ask({ message: KNOWN.message });
  expect(asked.status).toBe(200);
  expect(asked.body).toEqual({
    answer: expect.stringContaining(KNOWN.answer),
    citations: [
      {
        title: expect.stringContaining("Handbook"),
        url: null,
        source_id: source.id,
        type: "text",
        snippet: expect.stringContaining("Refunds are paid"),
        score: expect.any(Number),
      },
    ],
    confidence: expect.any(Number),
    needs_human: false,
    conversation_id: expect.stringMatching(UUID),
    message_id: expect.stringMatching(UUID),
    status: "ai_handled",
    handoff_reason: null,
    required_action: null,
  });
  expect(asked.body.confidence).toBeGreaterThan(0.5);
  expect(asked.body.confidence).toBeLessThanOrEqual(1);
  expect(asked.body.citations[0].score).toBeGreaterThan(0);
});

test("the answer is in the transcript under its message_id", async () => {
  const { workspace, agent, ask } = await createExpert();
  const { body } = await ask({ message: KNOWN.message });
  const { messages } = (await workspace.call("GET", `/conversations/${body.conversation_id}`)).body;
  expect(messages).toMatchObject([
    { role: "user", author: { type: "visitor", id: null, name: null }, content: KNOWN.message, citations: [], confidence: null },
    {
      id: body.message_id,
      role: "assistant",
      author: { type: "agent", id: agent.id, name: "Ada" },
      content: body.answer,
      citations: body.citations,
      confidence: body.confidence,
      needs_human: false,
    },
  ]);
});

test("a question that nothing answers gets the hand-off message, no citation, and a hand-off with the message as its trigger", async () => {
  const { workspace, agent, ask } = await createExpert();
  const asked = await ask({ message: UNKNOWN });
  expect(asked.status).toBe(200);
  expect(asked.body).toEqual({
    answer: HANDOFF_MESSAGE,
    citations: [],
    confidence: expect.any(Number),
    needs_human: true,
    conversation_id: expect.stringMatching(UUID),
    message_id: expect.stringMatching(UUID),
    status: "needs_human",
    handoff_reason: "missing_knowledge",
    required_action: null,
  });
  expect(asked.body.confidence).toBeLessThan(0.5);
  const conversation = (await workspace.call("GET", `/conversations/${asked.body.conversation_id}`)).body;
  expect(conversation).toMatchObject({ status: "needs_human", message_count: 2 });
  const [question, answer] = conversation.messages;
  expect(answer).toMatchObject({ id: asked.body.message_id, content: HANDOFF_MESSAGE, needs_human: true, citations: [] });
  expect(question).toMatchObject({ content: UNKNOWN, needs_human: false });
  expect(await handoffsOf(conversation.id)).toEqual([
    {
      id: expect.stringMatching(UUID),
      workspace_id: workspace.id,
      agent_id: agent.id,
      conversation_id: conversation.id,
      reason: "missing_knowledge",
      summary: UNKNOWN,
      trigger_message_id: question.id,
      question_key: UNKNOWN.toLowerCase().replace("?", ""),
      failure: null,
      opens_at: null,
      status: "pending",
      requested_at: expect.any(Number),
      accepted_at: null,
      replied_at: null,
      resolved_at: null,
    },
  ]);
});

test("an agent without knowledge hands off", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN.message });
  expect(asked.body).toMatchObject({ answer: agent.handoff_message, needs_human: true, citations: [], status: "needs_human" });
  expect(await handoffsOf(asked.body.conversation_id)).toMatchObject([{ reason: "missing_knowledge" }]);
});

test("a request for a human is a hand-off, even where the knowledge has an answer", async () => {
  const { workspace, agent, ask } = await createExpert();
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "I want to talk to a human", answer: "No." });
  const asked = await ask({ message: "I want to talk to a human" });
  expect(asked.body).toMatchObject({ answer: HANDOFF_MESSAGE, citations: [], confidence: 0, needs_human: true, status: "needs_human" });
  expect(await handoffsOf(asked.body.conversation_id)).toMatchObject([{ reason: "customer_request", status: "pending" }]);
});

test("an answer below the agent's threshold is a hand-off", async () => {
  const { ask } = await createExpert({ confidence_threshold: 1 });
  const asked = await ask({ message: KNOWN.message });
  expect(asked.body).toMatchObject({ answer: HANDOFF_MESSAGE, citations: [], needs_human: true, status: "needs_human" });
  expect(asked.body.confidence).toBeGreaterThan(0.5);
  expect(asked.body.confidence).toBeLessThan(1);
  expect(await handoffsOf(asked.body.conversation_id)).toMatchObject([{ reason: "low_confidence" }]);
});

test("a threshold of 0 lets every answer through", async () => {
  const { ask } = await createExpert({ confidence_threshold: 0 });
  expect((await ask({ message: KNOWN.message })).body).toMatchObject({ needs_human: false, status: "ai_handled" });
});

test("a curated answer that matches is given unchanged, and before any text", async () => {
  const { workspace, agent, ask } = await createExpert({ confidence_threshold: 1 });
  const curated = {
    question: "When are refunds paid?",
    answer: "On Fridays.\n\n  *Always*, and “only” then — see <https://example.com/?a=1&b=2>. 🙂",
  };
  const { body: added } = await workspace.call("POST", `/agents/${agent.id}/answers`, curated);
  const asked = await ask({ message: "when are refunds paid" });
  expect(asked.body).toMatchObject({ answer: curated.answer, confidence: 1, needs_human: false, status: "ai_handled" });
  expect(asked.body.citations).toEqual([
    { title: curated.question, url: null, source_id: added.id, type: "answer", snippet: curated.answer, score: 1 },
  ]);
});

test("a citation's snippet is truncated between characters, with an ellipsis", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  // The 300th UTF-16 unit is the first half of the emoji.
  const answer = `${"a".repeat(299)}🙂${"b".repeat(50)}`;
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "How long is the riddle?", answer });
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "How long is the riddle?" });
  expect(asked.body.answer).toBe(answer);
  const { snippet } = asked.body.citations[0];
  expect(snippet.endsWith("…")).toBe(true);
  expect(snippet.isWellFormed()).toBe(true);
  expect(answer.startsWith(snippet.slice(0, -1))).toBe(true);
});

test("a hand-off's summary is truncated between characters", async () => {
  const { ask } = await createExpert();
  const message = `${"z".repeat(499)}🙂 ${"y".repeat(100)}`;
  const { body } = await ask({ message });
  const [handoff] = await handoffsOf(body.conversation_id);
  expect(message.startsWith(String(handoff!.summary))).toBe(true);
  expect(String(handoff!.summary).length).toBeGreaterThan(400);
});

test("a follow-up is searched for with the earlier turns of its own conversation only", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, CATALOGUE, "Catalogue");
  const ask = async (message: string, conversationId?: string) => {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, {
      message,
      user: { id: "ann" },
      ...(conversationId && { conversation_id: conversationId }),
    });
    return asked.body;
  };
  const price = await ask("What is the price of the kettle?");
  const warranty = await ask("How long is the warranty of the kettle?");
  expect(price.answer).toContain("40 euros");
  expect(warranty.answer).toContain("three years");
  // The same words, asked at once, mean another thing in each conversation.
  const [priceToo, warrantyToo] = await Promise.all([
    ask("And the toaster?", price.conversation_id),
    ask("And the toaster?", warranty.conversation_id),
  ]);
  expect(priceToo).toMatchObject({ conversation_id: price.conversation_id, status: "ai_handled", needs_human: false });
  expect(priceToo.answer).toContain("25 euros");
  expect(priceToo.answer).not.toContain("two years");
  expect(warrantyToo.answer).toContain("two years");
  expect(warrantyToo.answer).not.toContain("25 euros");
  // An object that has forgotten its conversation reads it again.
  await evict(env.SESSION.getByName(`${workspace.id}/${warranty.conversation_id}`));
  expect((await ask("And the kettle?", warranty.conversation_id)).answer).toContain("three years");
  const { messages, message_count: count } = (await workspace.call("GET", `/conversations/${price.conversation_id}`)).body;
  expect(count).toBe(4);
  expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});

test("identifiers are accepted in upper case too", async () => {
  const { workspace, agent, ask } = await createExpert();
  const first = await ask({ message: KNOWN.message });
  const again = await workspace.call("POST", `/agents/${agent.id.toUpperCase()}/messages`, {
    message: KNOWN.message,
    conversation_id: first.body.conversation_id.toUpperCase(),
  });
  expect(again.status).toBe(200);
  expect(again.body.conversation_id).toBe(first.body.conversation_id);
});

test("a message of 2,000 code points is accepted", async () => {
  const { workspace, ask } = await createExpert();
  const message = "🙂".repeat(2000);
  const asked = await ask({ message });
  expect(asked.status).toBe(200);
  const { messages } = (await workspace.call("GET", `/conversations/${asked.body.conversation_id}`)).body;
  expect(messages[0].content).toBe(message);
});

test("each question to the agent counts, also one that is handed off", async () => {
  const { workspace, ask } = await createExpert();
  expect(await usedMessages(workspace)).toBe(0);
  const { body } = await ask({ message: KNOWN.message });
  await ask({ message: KNOWN.message, conversation_id: body.conversation_id });
  await ask({ message: UNKNOWN });
  expect(await usedMessages(workspace)).toBe(3);
});
