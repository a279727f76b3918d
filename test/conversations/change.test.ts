import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { replyAsHuman } from "../../src/conversations/conversations.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createAgent, createWorkspace, databases, learn, listen, query, type Workspace } from "../harness.ts";
import { join } from "../members/team.ts";

const TEXT = "# Refunds\n\nRefunds are paid within five working days.";
const UNKNOWN = "What is the capital of France?";
const KNOWN = "When are refunds paid?";

afterEach(() => void vi.useRealTimers());

/** A conversation that the agent has answered, or handed to a human. */
async function converse(question = KNOWN) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, TEXT);
  await listen(workspace);
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: question, user: { id: "u-1", name: "Ada" } });
  const id: string = asked.body.conversation_id;
  const ask = (message: string) => workspace.call("POST", `/agents/${agent.id}/messages`, { message, conversation_id: id });
  return { workspace, id, path: `/conversations/${id}`, ask };
}

/** The events of a workspace as they would be sent, oldest first. */
async function eventsOf({ id }: Workspace): Promise<any[]> {
  const db = databases[shardOf(id)]!;
  const { results } = await db.prepare("SELECT payload FROM events WHERE workspace_id = ? ORDER BY id").bind(id).all<{ payload: string }>();
  return results.map(({ payload }) => JSON.parse(payload));
}

describe("PATCH", () => {
  test("a tag has at most 200 characters; a longer one that is stored stays readable", async () => {
    const { workspace, id, path } = await converse();
    const refused = await workspace.call("PATCH", path, { tags: ["🏷".repeat(200), "x".repeat(201)] });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toMatchObject([{ loc: ["body", "tags", 1], type: "string_too_long", ctx: { max_length: 200 } }]);
    expect((await workspace.call("PATCH", path, { tags: ["🏷".repeat(200)] })).status).toBe(200);
    await query(id, "UPDATE conversations SET tags = ? WHERE id = ?", JSON.stringify(["x".repeat(5_000)]), id);
    expect((await workspace.call("PATCH", path, { status: "resolved" })).body.tags).toEqual(["x".repeat(5_000)]);
  });

  test("resolves a conversation, once, with its event", async () => {
    const { workspace, path, id } = await converse();
    const first = await workspace.call("PATCH", path, { status: "resolved", tags: ["billing", "billing", "vip"] });
    expect(first).toMatchObject({ status: 200, body: { status: "resolved", resolved_by: "api", tags: ["billing", "vip"] } });
    const again = await workspace.call("PATCH", path, { status: "resolved", tags: null });
    expect(again.body).toMatchObject({ resolved_at: first.body.resolved_at, tags: ["billing", "vip"] });
    const resolved = (await eventsOf(workspace)).filter(({ type }) => type === "conversation.resolved");
    expect(resolved).toHaveLength(1);
    expect(resolved[0]).toMatchObject({ api_version: "1.0.0", workspace_id: workspace.id, data: { id, status: "resolved" } });
  });

  test("open gives a handed-off conversation back to the agent and resolves its hand-off", async () => {
    const { workspace, path, ask } = await converse(UNKNOWN);
    expect((await ask(KNOWN)).body).toMatchObject({ status: "needs_human", needs_human: false });
    const opened = await workspace.call("PATCH", path, { status: "open" });
    expect(opened.body).toMatchObject({ status: "open", handoff: { status: "resolved" } });
    expect((await ask(KNOWN)).body).toMatchObject({ status: "ai_handled", needs_human: false });
  });

  test("human_active accepts the hand-off", async () => {
    const { workspace, path } = await converse(UNKNOWN);
    const { body } = await workspace.call("PATCH", path, { status: "human_active" });
    expect(body.handoff).toMatchObject({ status: "accepted", accepted_at: expect.any(String), resolved_at: null });
  });

  test("an empty change changes nothing, and ai_handled cannot be set", async () => {
    const { workspace, path } = await converse();
    const {
      messages: _,
      has_more_messages: _more,
      team_open: _open,
      opens_at: _opensAt,
      ...conversation
    } = (await workspace.call("GET", path)).body;
    expect((await workspace.call("PATCH", path, {})).body).toEqual(conversation);
    const refused = await workspace.call("PATCH", path, { status: "ai_handled", tags: Array.from({ length: 21 }, String) });
    expect(refused.body.detail.map((item: any) => [item.loc.join("."), item.type])).toEqual([
      ["body.status", "literal_error"],
      ["body.tags", "too_long"],
    ]);
  });

  test("another workspace's conversation is not found, and stays as it is", async () => {
    const { path, workspace } = await converse();
    const other = await createWorkspace();
    expect((await other.call("PATCH", path, { status: "resolved" })).status).toBe(404);
    expect((await other.call("POST", `${path}/messages`, { content: "Hello" })).status).toBe(404);
    expect((await workspace.call("GET", path)).body).toMatchObject({ status: "ai_handled", message_count: 2 });
  });
});

describe("a human's reply", () => {
  test("a reply takes the conversation over: the hand-off is accepted and the agent stays silent", async () => {
    const { workspace, path, ask } = await converse(UNKNOWN);
    const replied = await workspace.call("POST", `${path}/messages`, { content: "Paris, as it happens." });
    const message = { role: "human", author: { type: "member" }, content: "Paris, as it happens." };
    expect(replied).toMatchObject({ status: 201, body: { ...message, conversation_status: "human_active" } });
    expect((await ask(KNOWN)).body).toMatchObject({ message_id: null, status: "human_active" });
    const { body } = await workspace.call("GET", path);
    expect(body).toMatchObject({ status: "human_active", handoff: { status: "accepted" }, first_human_reply_at: replied.body.created_at });
    expect(body.messages.map(({ role }: any) => role)).toEqual(["user", "assistant", "human", "user"]);
  });

  test("the time of the first reply stays when the team replies again", async () => {
    const { workspace, path } = await converse(UNKNOWN);
    const first = await workspace.call("POST", `${path}/messages`, { content: "Paris." });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    const second = await workspace.call("POST", `${path}/messages`, { content: "In France, that is." });
    expect(Date.parse(second.body.created_at)).toBeGreaterThan(Date.parse(first.body.created_at));
    expect((await workspace.call("GET", path)).body.first_human_reply_at).toBe(first.body.created_at);
  });

  test("a reply whose answer was lost and that is sent again does not close what the visitor has asked since", async () => {
    const { workspace, id, path, ask } = await converse(KNOWN);
    const ids = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const reply = () => {
      const left = [...ids];
      const op = { ...newOperation(env, new Meter(), workspace.id), conversationId: id, newId: () => left.shift()! };
      return replyAsHuman(op, { content: "It is paid.", author: null, resolve: true, perDay: 100, maxMessages: 100 });
    };
    await reply();
    expect((await ask(UNKNOWN)).body).toMatchObject({ status: "needs_human" });
    const before = (await workspace.call("GET", path)).body;
    await reply();
    expect((await workspace.call("GET", path)).body).toEqual(before);
    expect(before).toMatchObject({ status: "needs_human", handoff: { status: "pending" }, message_count: 5 });
  });

  test("a signed-in member who resolves it is a human, and not the API", async () => {
    const { workspace, id, path } = await converse();
    const member = await join(workspace, "agent");
    expect((await member.call("PATCH", path, { status: "resolved" })).body.resolved_by).toBe("human");
    await member.call("PATCH", path, { status: "open" });
    await member.call("POST", "/conversations/bulk", { ids: [id], status: "resolved" });
    expect((await workspace.call("GET", path)).body.resolved_by).toBe("human");
  });

  test("a reply with resolve resolves it, and the next message reopens it", async () => {
    const { workspace, path, ask } = await converse(UNKNOWN);
    const replied = await workspace.call("POST", `${path}/messages`, { content: "Paris.", resolve: true });
    expect(replied.body.conversation_status).toBe("resolved");
    const handoff = { status: "resolved", accepted_at: expect.any(String) };
    expect((await workspace.call("GET", path)).body).toMatchObject({ resolved_by: "human", handoff });
    expect((await ask(KNOWN)).body).toMatchObject({ status: "ai_handled" });
    expect((await workspace.call("GET", path)).body).toMatchObject({ reopened_count: 1, resolved_at: null, resolved_by: null });
    const types = (await eventsOf(workspace)).map(({ type }): string => type);
    expect(types.toSorted()).toEqual([
      "conversation.created",
      "conversation.resolved",
      "handoff.created",
      "message.ai_replied",
      "message.ai_replied",
      "message.human_replied",
    ]);
  });
});

test("the records of events equal those of the API, field by field", async () => {
  const { workspace, path } = await converse(UNKNOWN);
  await workspace.call("PATCH", path, { tags: ["ünïcode", '"quoted"'] });
  const replied = await workspace.call("POST", `${path}/messages`, { content: "Line one\nLine “two”", resolve: true });
  const {
    messages,
    has_more_messages: _more,
    team_open: _open,
    opens_at: _opensAt,
    ...conversation
  } = (await workspace.call("GET", path)).body;
  const events = await eventsOf(workspace);
  const dataOf = (type: string) => events.find((event) => event.type === type).data;
  expect(dataOf("conversation.resolved")).toEqual(conversation);
  expect(dataOf("message.ai_replied")).toEqual(messages[1]);
  const { conversation_status: _, ...message } = replied.body;
  expect(dataOf("message.human_replied")).toEqual(message);
  expect(dataOf("handoff.created")).toEqual({ ...conversation.handoff, status: "pending", accepted_at: null, resolved_at: null });
  expect(Object.keys(dataOf("conversation.created"))).toEqual(Object.keys(conversation));
});

test("the sweep resolves conversations that are idle for the agent's idle time, and no others", async () => {
  const { workspace, path, id } = await converse();
  const { last_message_at: lastMessageAt } = (await workspace.call("GET", path)).body;
  const waited = Date.parse(lastMessageAt) + 1440 * 60_000;
  await sweep(env, waited - 1);
  expect((await workspace.call("GET", path)).body.status).toBe("ai_handled");
  await sweep(env, waited);
  expect((await workspace.call("GET", path)).body).toMatchObject({ id, status: "resolved", resolved_by: "auto" });
  await sweep(env, waited + 60_000);
  expect((await eventsOf(workspace)).filter(({ type }) => type === "conversation.resolved")).toHaveLength(1);
});
