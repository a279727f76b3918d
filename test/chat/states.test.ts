import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import {
  countRows,
  createAgent,
  createNeighbour,
  createWorkspace,
  learn,
  operate,
  query,
  unfinishedIn,
  type Workspace,
} from "../harness.ts";
import { HANDBOOK, KNOWN } from "./handbook.ts";

async function createFixture(beside?: Workspace) {
  const workspace = await (beside ? createNeighbour(beside) : createWorkspace());
  const agent = await createAgent(workspace, { handoff_message: "A colleague will reply." });
  await learn(workspace, agent.id, HANDBOOK);
  const ask = (body: Record<string, unknown> = {}, agentId = agent.id) =>
    workspace.call("POST", `/agents/${agentId}/messages`, { message: KNOWN.message, ...body });
  const begin = async (body: Record<string, unknown> = {}): Promise<string> => (await ask(body)).body.conversation_id;
  const setStatus = (id: string, status: string) => query(id, "UPDATE conversations SET status = ? WHERE id = ?", status, id);
  return { workspace, agent, ask, begin, setStatus };
}

const conversationOf = async (workspace: Workspace, id: string) => (await workspace.call("GET", `/conversations/${id}`)).body;
const usedMessages = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body.usage.messages;

// --- Refused: nothing is stored --------------------------------------------------------------------------------------

/** Asks a question that is refused, and expects that it changes no row and leaves nothing in the session's storage. */
async function refused(workspace: Workspace, path: string, body: { conversation_id?: string } & Record<string, unknown>) {
  const before = await countRows();
  const visitors = await query(workspace.id, "SELECT * FROM visitors WHERE workspace_id = ? ORDER BY id", workspace.id);
  const conversations = await query(workspace.id, "SELECT * FROM conversations WHERE workspace_id = ? ORDER BY id", workspace.id);
  const sessions = new Set((await listDurableObjectIds(env.SESSION)).map(String));
  const answer = await workspace.call("POST", path, { message: KNOWN.message, ...body });
  for (const id of await listDurableObjectIds(env.SESSION)) {
    if (!sessions.has(String(id))) expect(await storageOf(id)).toEqual({ entries: [], alarm: null });
  }
  expect(await countRows()).toEqual(before);
  expect(await query(workspace.id, "SELECT * FROM visitors WHERE workspace_id = ? ORDER BY id", workspace.id)).toEqual(visitors);
  expect(await query(workspace.id, "SELECT * FROM conversations WHERE workspace_id = ? ORDER BY id", workspace.id)).toEqual(conversations);
  if (body.conversation_id) {
    expect(await unfinishedIn(workspace.id, body.conversation_id)).toEqual({ entries: [], alarm: null });
  }
  return { status: answer.status, code: answer.body.error?.code };
}

function storageOf(id: DurableObjectId) {
  return runInDurableObject(env.SESSION.get(id), async (_, { storage }) => ({
    entries: [...(await storage.list())],
    alarm: await storage.getAlarm(),
  }));
}

const USER = { id: "user-1", name: "Ann" };

test("an unknown agent is 404", async () => {
  const { workspace } = await createFixture();
  const unknown = newId(shardOf(workspace.id), Date.now());
  expect(await refused(workspace, `/agents/${unknown}/messages`, { user: USER })).toEqual({ status: 404, code: "not_found" });
});

test("another workspace's agent is 404", async () => {
  const { workspace } = await createFixture();
  const other = await createFixture(workspace);
  expect(await refused(workspace, `/agents/${other.agent.id}/messages`, { user: USER })).toEqual({ status: 404, code: "not_found" });
});

test("an unknown conversation is 404, whichever shard its identifier names", async () => {
  const { workspace, agent } = await createFixture();
  for (const shard of [0, 1, 200]) {
    const id = newId(shard, Date.now());
    const path = `/agents/${agent.id}/messages`;
    expect(await refused(workspace, path, { conversation_id: id, user: USER })).toEqual({ status: 404, code: "not_found" });
  }
});

test("another workspace's conversation is 404, and stays as it was", async () => {
  const { workspace, agent } = await createFixture();
  const other = await createFixture(workspace);
  const conversation = await other.begin();
  const before = await conversationOf(other.workspace, conversation);
  const path = `/agents/${agent.id}/messages`;
  expect(await refused(workspace, path, { conversation_id: conversation })).toEqual({ status: 404, code: "not_found" });
  expect(await conversationOf(other.workspace, conversation)).toEqual(before);
});

test("another agent's conversation is 409", async () => {
  const { workspace, begin } = await createFixture();
  const other = await createAgent(workspace, { name: "Other" });
  const conversation = await begin();
  const path = `/agents/${other.id}/messages`;
  expect(await refused(workspace, path, { conversation_id: conversation, user: USER })).toEqual({ status: 409, code: "conflict" });
});

test("a conversation of each other channel is 409", async () => {
  const { workspace, agent, begin } = await createFixture();
  for (const channel of ["widget", "hosted", "email", "playground"]) {
    const conversation = await begin();
    await query(conversation, "UPDATE conversations SET channel = ? WHERE id = ?", channel, conversation);
    const path = `/agents/${agent.id}/messages`;
    expect(await refused(workspace, path, { conversation_id: conversation, user: USER })).toEqual({ status: 409, code: "conflict" });
  }
});

test("another user's conversation is 409, and does not reveal that user's name", async () => {
  const { workspace, agent, begin } = await createFixture();
  const conversation = await begin({ user: USER });
  const path = `/agents/${agent.id}/messages`;
  for (const user of [{ id: "user-2", name: "Ben" }, { id: "USER-1" }]) {
    expect(await refused(workspace, path, { conversation_id: conversation, user })).toEqual({ status: 409, code: "conflict" });
  }
});

test("a paused agent is 409, for a new conversation and for one of its own, until it is active again", async () => {
  const { workspace, agent, begin, ask } = await createFixture();
  const conversation = await begin();
  const setAgent = (status: string) => operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { status });
  await setAgent("paused");
  const path = `/agents/${agent.id}/messages`;
  expect(await refused(workspace, path, { user: USER })).toEqual({ status: 409, code: "conflict" });
  expect(await refused(workspace, path, { conversation_id: conversation, user: USER })).toEqual({ status: 409, code: "conflict" });
  await setAgent("active");
  expect((await ask({ conversation_id: conversation })).status).toBe(200);
});

test("a used-up quota is 402, for new and existing conversations", async () => {
  const { workspace, agent, begin } = await createFixture();
  const conversation = await begin();
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
  const path = `/agents/${agent.id}/messages`;
  expect(await refused(workspace, path, { user: USER })).toEqual({ status: 402, code: "quota_exceeded" });
  expect(await refused(workspace, path, { conversation_id: conversation, user: USER })).toEqual({ status: 402, code: "quota_exceeded" });
  expect(await usedMessages(workspace)).toBe(1);
});

test("404 comes before 409, and 409 before 402", async () => {
  const { workspace, agent, begin } = await createFixture();
  const conversation = await begin({ user: USER });
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 0 } });
  await operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { status: "paused" });
  const other = await createAgent(workspace, { name: "Other" });
  const unknown = newId(shardOf(workspace.id), Date.now());
  const asked = async (agentId: string, body: { conversation_id?: string }) =>
    (await refused(workspace, `/agents/${agentId}/messages`, body)).status;
  expect(await asked(unknown, {})).toBe(404);
  expect(await asked(agent.id, { conversation_id: unknown })).toBe(404);
  expect(await asked(other.id, { conversation_id: conversation })).toBe(409);
  expect(await asked(agent.id, {})).toBe(409);
  expect(await asked(other.id, {})).toBe(402);
});

// --- A human has the conversation ------------------------------------------------------------------------------------

for (const status of ["needs_human", "human_active"]) {
  test(`while it is ${status} the message is stored, the agent stays silent and no quota is used`, async () => {
    const { workspace, begin, ask, setStatus } = await createFixture();
    const conversation = await begin();
    await setStatus(conversation, status);
    const asked = await ask({ message: "Are you still there?", conversation_id: conversation, user: USER });
    expect(asked.status).toBe(200);
    expect(asked.body).toEqual({
      answer: "",
      citations: [],
      confidence: 0,
      needs_human: true,
      conversation_id: conversation,
      message_id: null,
      status,
      handoff_reason: null,
      required_action: null,
    });
    const after = await conversationOf(workspace, conversation);
    expect(after).toMatchObject({
      status,
      message_count: 3,
      last_message_preview: "Are you still there?",
      visitor: { anon_id: "api:user-1" },
    });
    expect(after.messages.at(-1)).toMatchObject({ role: "user", content: "Are you still there?" });
    expect(await usedMessages(workspace)).toBe(1);
    expect(await query(conversation, "SELECT * FROM handoffs WHERE conversation_id = ?", conversation)).toEqual([]);
    expect(await unfinishedIn(workspace.id, conversation)).toEqual({ entries: [], alarm: null });
  });
}

test("a conversation with a human accepts messages past the quota", async () => {
  const { workspace, begin, ask, setStatus } = await createFixture();
  const conversation = await begin();
  await setStatus(conversation, "human_active");
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
  expect((await ask({ conversation_id: conversation })).body).toMatchObject({ status: "human_active", message_id: null });
  expect((await conversationOf(workspace, conversation)).message_count).toBe(3);
  expect(await usedMessages(workspace)).toBe(1);
});

test("another agent or user is 409 while a human has the conversation too", async () => {
  const { workspace, agent, begin, setStatus } = await createFixture();
  const other = await createAgent(workspace, { name: "Other" });
  const conversation = await begin({ user: USER });
  await setStatus(conversation, "human_active");
  expect(await refused(workspace, `/agents/${other.id}/messages`, { conversation_id: conversation })).toMatchObject({ status: 409 });
  const user = { id: "user-2" };
  expect(await refused(workspace, `/agents/${agent.id}/messages`, { conversation_id: conversation, user })).toMatchObject({ status: 409 });
});

test("after a hand-off the agent is silent until a human gives the conversation back", async () => {
  const { workspace, begin, ask, setStatus } = await createFixture();
  const conversation = await begin({ message: "I want to talk to a human" });
  expect((await ask({ conversation_id: conversation })).body).toMatchObject({ status: "needs_human", message_id: null });
  expect(await query(conversation, "SELECT reason FROM handoffs WHERE conversation_id = ?", conversation)).toEqual([
    { reason: "customer_request" },
  ]);
  await setStatus(conversation, "open");
  const answered = await ask({ conversation_id: conversation });
  expect(answered.body).toMatchObject({ status: "ai_handled", needs_human: false, answer: expect.stringContaining(KNOWN.answer) });
  expect(await usedMessages(workspace)).toBe(2);
});

// --- Resolved --------------------------------------------------------------------------------------------------------

const resolve = (id: string) =>
  query(id, "UPDATE conversations SET status = 'resolved', resolved_at = 5, resolved_by = 'api' WHERE id = ?", id);

test("a message to a resolved conversation reopens it", async () => {
  const { workspace, begin, ask } = await createFixture();
  const conversation = await begin();
  await resolve(conversation);
  expect(await conversationOf(workspace, conversation)).toMatchObject({ status: "resolved", resolved_by: "api", reopened_count: 0 });
  expect((await ask({ conversation_id: conversation })).body).toMatchObject({ status: "ai_handled", needs_human: false });
  const reopened = { status: "ai_handled", resolved_at: null, resolved_by: null, reopened_count: 1, message_count: 4 };
  expect(await conversationOf(workspace, conversation)).toMatchObject(reopened);
  // An open one is not opened again.
  await ask({ conversation_id: conversation });
  expect(await conversationOf(workspace, conversation)).toMatchObject({ reopened_count: 1 });
  await resolve(conversation);
  await ask({ conversation_id: conversation, message: "I want to talk to a human" });
  expect(await conversationOf(workspace, conversation)).toMatchObject({ status: "needs_human", reopened_count: 2 });
});

test("a resolved conversation stays resolved when the quota is used up", async () => {
  const { workspace, agent, begin } = await createFixture();
  const conversation = await begin();
  await resolve(conversation);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
  const path = `/agents/${agent.id}/messages`;
  expect(await refused(workspace, path, { conversation_id: conversation })).toEqual({ status: 402, code: "quota_exceeded" });
});

test("messages from before a resolution are no context for later ones, in the same object or another", async () => {
  const { workspace, agent } = await createFixture();
  await learn(
    workspace,
    agent.id,
    "# Price\n\nThe price of the toaster is 25 euros.\n\n# Colour\n\nThe colour of the toaster is red.",
    "Toaster",
  );
  const ask = async (message: string, id?: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, ...(id && { conversation_id: id }) })).body;
  const fresh = await ask("And the toaster?");
  const { conversation_id: id, answer } = await ask("What is the colour of the lamp, and what is the price of the lamp?");
  expect(answer).toBeDefined();
  await query(id, "UPDATE conversations SET status = 'open' WHERE id = ?", id);
  const colour = await ask("What is the colour of the toaster?", id);
  expect(colour.answer).toContain("red");
  const withContext = await ask("And the toaster?", id);
  await resolve(id);
  const without = await ask("And the toaster?", id);
  expect(without.answer).toBe(fresh.answer);
  expect(without.confidence).toBe(fresh.confidence);
  expect(without.confidence).not.toBe(withContext.confidence);
  // The messages after the resolution are context again.
  const next = await ask("What is the price of the toaster?", id);
  expect(next.answer).toContain("25 euros");
  const [row] = await query<{ context_after: string }>(id, "SELECT context_after FROM conversations WHERE id = ?", id);
  const { messages } = await conversationOf(workspace, id);
  const at = messages.findIndex((message: { id: string }) => message.id === row!.context_after);
  expect(messages[at + 1]).toMatchObject({ role: "user", content: "And the toaster?" });
  expect(messages.slice(at + 1)).toHaveLength(4);
});
