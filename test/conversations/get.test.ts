import { expect, test } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { createAgent, createNeighbour, createWorkspace, learn, query, type Workspace } from "../harness.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const id = () => expect.stringMatching(UUID);
const time = () => expect.stringMatching(TIME);

async function createFixture(beside?: Workspace) {
  const workspace = await (beside ? createNeighbour(beside) : createWorkspace());
  const agent = await createAgent(workspace, { name: "Ada" });
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const ask = async (body: Record<string, unknown>) => (await workspace.call("POST", `/agents/${agent.id}/messages`, body)).body;
  return { workspace, agent, source, ask };
}

test("an answered conversation has every field", async () => {
  const { workspace, agent, source, ask } = await createFixture();
  const asked = await ask({ message: "When are refunds paid?", user: { id: "u1", name: "Ann", email: "ann@example.com" } });
  const got = await workspace.call("GET", `/conversations/${asked.conversation_id}`);
  expect(got.status).toBe(200);
  expect(got.body).toEqual({
    id: asked.conversation_id,
    agent_id: agent.id,
    channel: "api",
    status: "ai_handled",
    subject: "When are refunds paid?",
    tags: [],
    snoozed_until: null,
    assignee: null,
    team_id: null,
    priority: "normal",
    visitor: { id: id(), anon_id: "api:u1", external_id: "u1", name: "Ann", email: "ann@example.com", verified: true },
    message_count: 2,
    unread_count: 0,
    last_message_preview: asked.answer,
    last_message_at: time(),
    handoff: null,
    csat: null,
    resolved_at: null,
    resolved_by: null,
    first_human_reply_at: null,
    reopened_count: 0,
    created_at: time(),
    updated_at: time(),
    messages: [
      {
        id: id(),
        conversation_id: asked.conversation_id,
        role: "user",
        author: { type: "visitor", id: got.body.visitor.id, name: "Ann" },
        content: "When are refunds paid?",
        citations: [],
        confidence: null,
        needs_human: false,
        agent_version: null,
        attachments: [],
        created_at: time(),
      },
      {
        id: asked.message_id,
        conversation_id: asked.conversation_id,
        role: "assistant",
        author: { type: "agent", id: agent.id, name: "Ada" },
        content: asked.answer,
        citations: [
          {
            title: "Handbook › Refunds",
            url: null,
            source_id: source.id,
            type: "text",
            snippet: expect.any(String),
            score: expect.any(Number),
          },
        ],
        confidence: asked.confidence,
        needs_human: false,
        agent_version: 1,
        attachments: [],
        created_at: time(),
      },
    ],
    has_more_messages: false,
    team_open: true,
    opens_at: null,
  });
  expect(got.body.last_message_at).toBe(got.body.messages[1].created_at);
  expect(got.body.updated_at).toBe(got.body.last_message_at);
  expect(got.body.created_at).toBe(got.body.messages[0].created_at);
});

test("a handed-off conversation shows its hand-off, and no visitor if none was given", async () => {
  const { workspace, ask } = await createFixture();
  const asked = await ask({ message: "What is the capital of France?" });
  const { body } = await workspace.call("GET", `/conversations/${asked.conversation_id}`);
  expect(body).toMatchObject({ status: "needs_human", visitor: null, last_message_preview: asked.answer });
  expect(body.handoff).toEqual({
    id: id(),
    conversation_id: body.id,
    reason: "missing_knowledge",
    summary: "What is the capital of France?",
    trigger_message_id: body.messages[0].id,
    status: "pending",
    requested_at: time(),
    accepted_at: null,
    resolved_at: null,
    team_open: true,
    opens_at: null,
  });
});

test("optional fields are shown when they are set", async () => {
  const { workspace, ask } = await createFixture();
  const asked = await ask({ message: "I want to talk to a human" });
  const conversationId = asked.conversation_id;
  await query(
    conversationId,
    `UPDATE conversations SET status = 'resolved', subject = 'Refund', tags = '["vip","refund"]', csat_score = 5, csat_comment = 'Good',
       resolved_at = 1767225600001, resolved_by = 'human', first_human_reply_at = 1767225600000 WHERE id = ?`,
    conversationId,
  );
  await query(
    conversationId,
    "UPDATE handoffs SET status = 'resolved', accepted_at = 1, resolved_at = 2 WHERE conversation_id = ?",
    conversationId,
  );
  const { body } = await workspace.call("GET", `/conversations/${conversationId}`);
  expect(body).toMatchObject({
    status: "resolved",
    subject: "Refund",
    tags: ["vip", "refund"],
    csat: { score: 5, comment: "Good" },
    resolved_at: "2026-01-01T00:00:00.001Z",
    resolved_by: "human",
    first_human_reply_at: "2026-01-01T00:00:00.000Z",
    handoff: { status: "resolved", accepted_at: "1970-01-01T00:00:00.001Z", resolved_at: "1970-01-01T00:00:00.002Z" },
  });
});

test("the latest of several hand-offs is shown", async () => {
  const { workspace, ask } = await createFixture();
  const first = await ask({ message: "I want to talk to a human" });
  const conversationId = first.conversation_id;
  await query(conversationId, "UPDATE handoffs SET status = 'resolved', resolved_at = 2 WHERE conversation_id = ?", conversationId);
  await query(conversationId, "UPDATE conversations SET status = 'open' WHERE id = ?", conversationId);
  await ask({ message: "What is the capital of France?", conversation_id: conversationId });
  const { body } = await workspace.call("GET", `/conversations/${conversationId}`);
  expect(body.handoff).toMatchObject({ reason: "missing_knowledge", status: "pending", trigger_message_id: body.messages[2].id });
});

test("a long message is previewed by its first 200 characters", async () => {
  const { workspace, ask } = await createFixture();
  const asked = await ask({ message: "I want to talk to a human" });
  const message = "🙂".repeat(300);
  await ask({ message, conversation_id: asked.conversation_id });
  const { body } = await workspace.call("GET", `/conversations/${asked.conversation_id}`);
  expect(body.last_message_preview).toBe("🙂".repeat(200));
  expect(body.messages.at(-1).content).toBe(message);
});

test("an unknown conversation is 404, and one of another workspace reads the same", async () => {
  const { workspace } = await createFixture();
  const other = await createFixture(workspace);
  const { conversation_id: theirs } = await other.ask({ message: "When are refunds paid?" });
  const unknown = await workspace.call("GET", `/conversations/${newId(shardOf(workspace.id), Date.now())}`);
  const foreign = await workspace.call("GET", `/conversations/${theirs}`);
  const elsewhere = await workspace.call("GET", `/conversations/${newId(250, Date.now())}`);
  for (const { status, body } of [unknown, foreign, elsewhere]) {
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ code: "not_found", message: unknown.body.error.message });
  }
});

test("an id in upper case is accepted, and anything else is 422", async () => {
  const { workspace, ask } = await createFixture();
  const { conversation_id: conversationId } = await ask({ message: "When are refunds paid?" });
  expect((await workspace.call("GET", `/conversations/${conversationId.toUpperCase()}`)).body.id).toBe(conversationId);
  expect((await workspace.call("GET", "/conversations/1")).body.detail).toMatchObject([
    { loc: ["path", "conversation_id"], type: "uuid_parsing" },
  ]);
});
