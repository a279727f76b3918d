import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { beginTurn } from "../../src/chat/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { questionOf } from "../chat/question.ts";
import { conversations, createMailbox, mailService, receive } from "../email/mailbox.ts";
import { sendMail } from "../../src/email/outbound.ts";
import { createAgent, createWorkspace, learn, listen, operate, query, send } from "../harness.ts";

const KNOWN = "When are refunds paid?";

afterEach(() => {
  vi.useRealTimers();
});

/** An agent in a workspace whose conversations have room for so many messages. */
async function createFixture(room: number) {
  const workspace = await createWorkspace({ limits: { messages_per_conversation: room } });
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await learn(workspace, agent.id, "Refunds are paid within five working days.");
  const ask = (conversationId?: string) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN, conversation_id: conversationId });
  const read = async (id: string) => (await workspace.call("GET", `/conversations/${id}`)).body;
  return { workspace, agentId: agent.id, ask, read };
}

test("a question in a conversation without room for it and its answer is refused, and neither stored nor counted", async () => {
  const { workspace, ask, read } = await createFixture(5);
  const { conversation_id: id } = (await ask()).body;
  expect((await ask(id)).status).toBe(200);
  const before = await read(id);
  const { status, body } = await ask(id);
  expect([status, body.error.code, body.error.message]).toEqual([403, "plan_required", expect.stringContaining("conversation_id")]);
  expect(await read(id)).toEqual(before);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(2);
  expect((await ask()).status).toBe(200);
});

test("a resolved conversation without room is not reopened", async () => {
  const { workspace, ask, read } = await createFixture(2);
  const { conversation_id: id } = (await ask()).body;
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  expect((await ask(id)).status).toBe(403);
  expect(await read(id)).toMatchObject({ status: "resolved", reopened_count: 0 });
});

test("a reply of the team in a conversation without room is refused, and changes nothing", async () => {
  const { workspace, ask, read } = await createFixture(3);
  await listen(workspace);
  const { conversation_id: id } = (await ask()).body;
  await workspace.call("PATCH", `/conversations/${id}`, { status: "needs_human" });
  await query(id, "UPDATE conversations SET message_count = 3 WHERE id = ?", id);
  const before = await read(id);
  const eventsOf = () => query(id, "SELECT type FROM events WHERE conversation_id = ? ORDER BY id", id);
  const events = await eventsOf();
  const reply = () => workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello", resolve: true });
  const { status, body } = await reply();
  expect([status, body.error.code]).toEqual([403, "plan_required"]);
  expect(await read(id)).toEqual(before);
  expect(await eventsOf()).toEqual(events);
  await query(id, "UPDATE conversations SET message_count = 2 WHERE id = ?", id);
  expect((await reply()).status).toBe(201);
  expect(await read(id)).toMatchObject({ status: "resolved", message_count: 3 });
});

test("the operator's new limit holds from the next question on", async () => {
  const { workspace, ask } = await createFixture(2);
  const { conversation_id: id } = (await ask()).body;
  expect((await ask(id)).status).toBe(403);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages_per_conversation: 4 } });
  expect((await ask(id)).status).toBe(200);
});

test("a visitor's request is refused with the reason that the conversation is too long, and a new one has room", async () => {
  const { agentId, read } = await createFixture(2);
  const write = (body: object) => send("POST", `/widget/v1/agents/${agentId}/messages`, { body: { message: KNOWN, ...body } });
  const { conversation_id: id, visitor_token: token } = (await write({})).body;
  const { status, headers, body } = await write({ conversation_id: id, visitor_token: token });
  expect([status, body.error.code]).toEqual([429, "rate_limited"]);
  expect(body.error.message).toBe("This conversation is too long to go on. Please start a new one.");
  expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0);
  expect((await read(id)).message_count).toBe(2);
  expect((await write({ visitor_token: token })).status).toBe(200);
});

test("a mail that has no room in its conversation begins a new one, once", async () => {
  const mailbox = await createMailbox();
  await operate("PATCH", `/workspaces/${mailbox.workspace.id}`, { limits: { messages_per_conversation: 2 } });
  await receive({ to: mailbox.address });
  const { mails, environment } = mailService();
  const [{ messages }] = await conversations(mailbox);
  await sendMail(environment, { messageId: messages[1].id });
  const to = (mails[0]!.replyTo as { email: string }).email;
  const again = { to, headers: { "Message-ID": "<second@example.net>" } };
  expect(await receive(again)).toBeUndefined();
  expect(await receive(again)).toBeUndefined();
  const talks = await conversations(mailbox);
  expect(talks.map(({ message_count: count }) => count)).toEqual([2, 2]);
});

test("a question that an earlier attempt stored is answered, whatever room is left", async () => {
  const { workspace, agentId, ask, read } = await createFixture(4);
  const { conversation_id: conversationId } = (await ask()).body;
  const question = questionOf(workspace.id, agentId, { conversationId, isNew: false, message: KNOWN, maxMessages: 4 });
  await beginTurn(newOperation(env, new Meter(), workspace.id).db, question);
  const { result } = await env.SESSION.getByName(`${workspace.id}/${conversationId}`).ask(question);
  expect(result.outcome).toBe("answered");
  expect((await read(conversationId)).message_count).toBe(4);
});

test("over the API, only messages that humans are to answer count among the day's messages of visitors", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 3, 1, 12) });
  const { workspace, agentId, ask, read } = await createFixture(100);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { visitor_messages_per_day: 2 } });
  const usage = async () => (await workspace.call("GET", "/usage")).body.usage;
  const { conversation_id: withAgent } = (await ask()).body;
  for (let asked = 0; asked < 3; asked++) expect((await ask(withAgent)).status).toBe(200);
  const { conversation_id: withHuman } = (await ask()).body;
  await workspace.call("PATCH", `/conversations/${withHuman}`, { status: "human_active" });
  expect(await usage()).toMatchObject({ messages: 5, visitor_messages_today: 0 });

  const written = await Promise.all([ask(withHuman), ask(withHuman), ask(withHuman)]);
  expect(written.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
  const refused = await ask(withHuman);
  expect(refused.body.error).toMatchObject({
    code: "rate_limited",
    message: expect.stringContaining("No more messages can be taken today."),
  });
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect((await read(withHuman)).message_count).toBe(4);
  expect(await usage()).toMatchObject({ messages: 5, visitor_messages_today: 2 });

  // The agent goes on answering: these messages use the quota.
  expect((await ask(withAgent)).status).toBe(200);
  expect((await ask()).status).toBe(200);
  await workspace.call("PATCH", `/conversations/${withHuman}`, { status: "open" });
  expect((await ask(withHuman)).status).toBe(200);
  const asVisitor = await send("POST", `/widget/v1/agents/${agentId}/messages`, { body: { message: KNOWN } });
  expect(asVisitor.status).toBe(429);
});

test("on a full day a visitor's wish for a human is refused, unless a human has the conversation", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 3, 1, 12) });
  const { workspace, agentId, read } = await createFixture(100);
  const asked = await send("POST", `/widget/v1/agents/${agentId}/messages`, { body: { message: KNOWN } });
  const { conversation_id: id, visitor_token: token } = asked.body;
  const handOff = () => send("POST", `/widget/v1/conversations/${id}/handoff`, { token });
  const setLimit = (perDay: number) => operate("PATCH", `/workspaces/${workspace.id}`, { limits: { visitor_messages_per_day: perDay } });
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  await setLimit(1);
  const refused = await handOff();
  expect([refused.status, refused.body.error?.code]).toEqual([429, "rate_limited"]);
  expect(await read(id)).toMatchObject({ status: "resolved", reopened_count: 0, handoff: null, message_count: 2 });
  await setLimit(2);
  expect(await handOff()).toMatchObject({ status: 200, body: { status: "needs_human", handoff: { reason: "customer_request" } } });
  expect((await workspace.call("GET", "/usage")).body.usage.visitor_messages_today).toBe(2);
  expect(await handOff()).toMatchObject({ status: 200, body: { status: "needs_human" } });
});

test("the team writes as many messages a day as the plan allows, in all conversations together", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 3, 1, 22) });
  const { workspace, ask, read } = await createFixture(100);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { team_messages_per_day: 2 } });
  const [first, second] = [(await ask()).body.conversation_id, (await ask()).body.conversation_id];
  const reply = (id: string, key: string) =>
    workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello" }, { "Idempotency-Key": key });
  const replies = await Promise.all([reply(first, "a"), reply(second, "b"), reply(first, "c")]);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 429]);
  const usage = async () => (await workspace.call("GET", "/usage")).body.usage;
  expect(await usage()).toMatchObject({ team_messages_today: 2, visitor_messages_today: 0 });
  const before = [await read(first), await read(second)];
  const refused = await reply(first, "d");
  expect([refused.status, refused.body.error.code, refused.headers.get("Retry-After")]).toEqual([429, "rate_limited", "7200"]);
  expect([await read(first), await read(second)]).toEqual(before);
  // A repeated request for an accepted reply gets the same answer, although the limit is reached.
  const taken = replies.findIndex(({ status }) => status === 201);
  expect((await reply([first, second, first][taken], ["a", "b", "c"][taken]!)).body).toEqual(replies[taken]!.body);
  vi.setSystemTime(Date.UTC(2027, 3, 2));
  expect((await reply(first, "e")).status).toBe(201);
  expect(await usage()).toMatchObject({ team_messages_today: 1 });
});
