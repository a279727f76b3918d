import { expect, test } from "vitest";
import { sendMail } from "../../src/email/outbound.ts";
import { conversations, createMailbox, type Mailbox, mailService, outbox, receive } from "../email/mailbox.ts";
import { createAgent, createWorkspace, listen, query } from "../harness.ts";
import { missing } from "../platform/http/items.ts";

const GRACE = { id: "grace", name: "Grace Hopper" };

/** Sends the waiting mails, and returns them. */
async function sendAll(mailbox: Mailbox) {
  const { mails, environment } = mailService();
  for (const row of await outbox(mailbox)) if (row.status === "pending") await sendMail(environment, { messageId: row.message_id });
  return mails;
}

test("a mail of the team starts a conversation, and the answer to it comes back there", async () => {
  const mailbox = await createMailbox();
  const { workspace, agentId, address } = mailbox;
  const to = { email: "Ann@Example.net", name: "Ann" };
  const first = { agent_id: agentId, channel: "email", to, subject: "Your order", content: "It was damaged.", author: GRACE };
  const { status, body } = await workspace.call("POST", "/conversations", first);
  expect([status, body]).toMatchObject([
    201,
    {
      channel: "email",
      status: "human_active",
      subject: "Your order",
      visitor: { anon_id: "email:ann@example.net", email: "Ann@Example.net", name: "Ann", verified: false },
      message_count: 1,
      unread_count: 0,
      messages: [{ role: "human", content: "It was damaged.", author: GRACE }],
    },
  ]);
  const [mail] = await sendAll(mailbox);
  expect(mail).toMatchObject({ from: { email: address }, to: "ann@example.net", subject: "Your order", text: "It was damaged.\n" });
  expect(mail!.headers).not.toHaveProperty("In-Reply-To");

  const replyTo = (mail!.replyTo as { email: string }).email;
  await receive({
    from: "Ann <ann@example.net>",
    to: replyTo,
    subject: "Re: Your order",
    text: "Send another one.",
    headers: { "Message-ID": "<1@example.net>" },
  });
  const all = await conversations(mailbox);
  expect(all).toHaveLength(1);
  expect(all[0]).toMatchObject({
    id: body.id,
    status: "human_active",
    unread_count: 1,
    messages: [{ role: "human" }, { role: "user", content: "Send another one." }],
  });
  await workspace.call("POST", `/conversations/${body.id}/messages`, { content: "It is on its way." });
  expect(await sendAll(mailbox)).toMatchObject([{ subject: "Re: Your order", headers: { "In-Reply-To": "<1@example.net>" } }]);
});

test("a mail without a subject has the beginning of its text", async () => {
  const { workspace, agentId } = await createMailbox();
  const content = `Your parcel\r\nBcc: eve@example.com ${"x".repeat(100)}`;
  const { body } = await workspace.call("POST", "/conversations", {
    agent_id: agentId,
    channel: "email",
    to: { email: "a@example.net" },
    content,
  });
  expect(body.subject).toBe(`Your parcel Bcc: eve@example.com ${"x".repeat(100)}`.slice(0, 80));
});

test("over the API the conversation is the user's, with its events, and no first response is counted", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await listen(workspace);
  const first = {
    agent_id: agent.id,
    channel: "api",
    user: { id: "u-1", name: "Ada", email: "ada@example.com" },
    content: "How do you like it?",
  };
  const { status, body } = await workspace.call("POST", "/conversations", first);
  expect([status, body]).toMatchObject([
    201,
    { channel: "api", subject: "How do you like it?", visitor: { anon_id: "api:u-1", external_id: "u-1", verified: true } },
  ]);
  const { messages, ...conversation } = (await workspace.call("GET", `/conversations/${body.id}`)).body;
  expect(body).toEqual({ ...conversation, messages });
  const ask = (user: object) => workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Well", conversation_id: body.id, user });
  expect((await ask({ id: "u-2" })).status).toBe(409);
  expect((await ask({ id: "u-1" })).body).toMatchObject({ status: "human_active", message_id: null });
  const stored = await query<{ type: string }>(workspace.id, "SELECT type FROM events WHERE workspace_id = ? ORDER BY id", workspace.id);
  expect(stored.map(({ type }) => type).toSorted()).toEqual(["conversation.created", "message.human_replied"]);
  const replied = await workspace.call("POST", `/conversations/${body.id}/messages`, { content: "And the colour?" });
  expect(replied.status).toBe(201);
  const { totals, times } = (await workspace.call("GET", "/analytics/overview")).body;
  expect([totals.human_replies, times.median_first_response_seconds]).toEqual([2, null]);
});

test("nothing is stored for an unknown agent, for one without a mailbox, or when whom it goes to does not fit the channel", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const start = (body: object) =>
    workspace.call("POST", "/conversations", { agent_id: agent.id, channel: "email", content: "Hello", ...body });
  const to = { email: "ann@example.net" };
  expect((await start({ to, agent_id: workspace.id })).status).toBe(404);
  expect((await start({ to })).body.error).toMatchObject({ code: "conflict", message: expect.stringContaining("email_address") });
  expect((await start({})).body.detail).toEqual([missing("body.to", expect.anything())]);
  const crossed = [
    { to, user: { id: "u" } },
    { channel: "api", to },
  ].map(async (body) => (await start(body)).body.detail[0].loc.join("."));
  expect(await Promise.all(crossed)).toEqual(["body.user", "body.to"]);
  for (const table of ["conversations", "messages", "visitors", "email_threads"]) {
    expect(await query(workspace.id, `SELECT 1 FROM ${table} WHERE workspace_id = ?`, workspace.id)).toEqual([]);
  }
});

test("conversations that the team starts count toward the plan's messages of the team a day", async () => {
  const workspace = await createWorkspace({ limits: { team_messages_per_day: 2 } });
  const agent = await createAgent(workspace);
  const start = () => workspace.call("POST", "/conversations", { agent_id: agent.id, channel: "api", content: "Hello" });
  expect([(await start()).status, (await start()).status]).toEqual([201, 201]);
  const refused = await start();
  expect(refused.body.error.code).toBe("rate_limited");
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect((await workspace.call("GET", "/usage")).body.usage.team_messages_today).toBe(2);
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
});

test("a repeated request starts one conversation, whose stored response is erased with it", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const first = { agent_id: agent.id, channel: "api", user: { id: "u-1" }, content: "Hello" };
  const start = () => workspace.call("POST", "/conversations", first, { "Idempotency-Key": "one" });
  const [one, two] = [await start(), await start()];
  expect(two.body).toEqual(one.body);
  expect(two.headers.get("Idempotent-Replayed")).toBe("true");
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
  await workspace.call("DELETE", "/privacy/visitors?external_id=u-1");
  expect(await query(workspace.id, "SELECT 1 FROM idempotency_records WHERE workspace_id = ?", workspace.id)).toEqual([]);
});
