import { expect, test } from "vitest";
import { sendMail } from "../../src/email/outbound.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createNeighbour, deliver, envWith, operate, query } from "../harness.ts";
import { conversations, createMailbox, mailService, mime, outbox, receive } from "./mailbox.ts";

const MINUTE_MS = 60_000;

/** Sends the waiting mails, and returns them. */
async function sendAll(mailbox: Awaited<ReturnType<typeof createMailbox>>) {
  const { mails, environment } = mailService();
  for (const row of await outbox(mailbox)) if (row.status === "pending") await sendMail(environment, { messageId: row.message_id });
  return mails;
}

test("a thread of four mails is one conversation", async () => {
  const mailbox = await createMailbox();
  const { workspace, address } = mailbox;
  await receive({ to: address, subject: "My refund", headers: { "Message-ID": "<first@example.net>" } });
  const [answer] = await sendAll(mailbox);
  expect(answer).toMatchObject({ to: "ada@example.net", subject: "Re: My refund", headers: { "In-Reply-To": "<first@example.net>" } });
  expect(answer!.text).toContain("within five working days");
  const replyTo = (answer!.replyTo as { email: string }).email;

  await receive({
    to: replyTo,
    subject: "Re: My refund",
    text: `I want to talk to a human.\n\nOn Tue, Nov 3, 2026 Help <${address}> wrote:\n> ${answer!.text}`,
    headers: { "Message-ID": "<second@example.net>" },
  });
  const [handOff] = await sendAll(mailbox);
  expect(handOff).toMatchObject({ text: "A colleague will write to you.\n", headers: { "In-Reply-To": "<second@example.net>" } });

  const [{ id }] = await conversations(mailbox);
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "Grace here: it was paid today." });
  const [human] = await sendAll(mailbox);
  expect(human!.text).toBe("Grace here: it was paid today.\n");
  expect(human!.headers!["References"]!.split(" ").slice(1)).toEqual(["<first@example.net>", "<second@example.net>"]);

  // While a human has it the agent is silent, and no mail goes out.
  await receive({ to: replyTo, text: "Thank you!" });
  expect(await sendAll(mailbox)).toEqual([]);
  const all = await conversations(mailbox);
  expect(all).toHaveLength(1);
  expect(all[0]).toMatchObject({ channel: "email", subject: "My refund", status: "human_active" });
  expect(all[0].visitor).toMatchObject({
    anon_id: "email:ada@example.net",
    email: "ada@example.net",
    name: "Ada Lovelace",
    verified: false,
  });
  expect(all[0].messages.map(({ role, content }: any) => `${role}: ${content.slice(0, 30)}`)).toEqual([
    "user: When are refunds paid?",
    expect.stringContaining("assistant: "),
    "user: I want to talk to a human.",
    "assistant: A colleague will write to you.",
    "human: Grace here: it was paid today.",
    "user: Thank you!",
  ]);
});

test("a thread of long ids is answered: References keeps the thread's id and the latest ones", async () => {
  const mailbox = await createMailbox();
  const id = (mail: number) => `<${mail}.${"x".repeat(700)}@example.net>`;
  await receive({ to: mailbox.address, headers: { "Message-ID": id(1) } });
  const [first] = await sendAll(mailbox);
  const to = (first!.replyTo as { email: string }).email;
  for (const mail of [2, 3, 4]) await receive({ to, headers: { "Message-ID": id(mail) } });
  const answers = await sendAll(mailbox);
  expect((await outbox(mailbox)).map(({ status }) => status)).toEqual(["sent", "sent", "sent", "sent"]);
  const [thread, ...others] = answers.at(-1)!.headers!["References"]!.split(" ");
  expect(thread).toMatch(/^<t\.[a-z2-7]{42}@example\.com>$/);
  expect(others).toEqual([id(3), id(4)]);
});

test("a question's identifier sorts before its answer's", async () => {
  const mailbox = await createMailbox();
  for (let mail = 0; mail < 8; mail++) await receive({ to: mailbox.address, from: `sender-${mail}@example.net` });
  const { id } = mailbox.workspace;
  const rows = await query<{ role: string }>(id, "SELECT role FROM messages WHERE workspace_id = ? ORDER BY conversation_id, id", id);
  expect(rows.map(({ role }) => role)).toEqual(Array.from({ length: 8 }, () => ["user", "assistant"]).flat());
});

test("a Message-ID that contains headers is not repeated in the answer", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address, headers: { "Message-ID": "=?utf-8?Q?<a@b>=0D=0ABcc:_eve@example.com?=" } });
  const [answer] = await sendAll(mailbox);
  expect(answer!.headers).not.toHaveProperty("In-Reply-To");
  expect(answer!.headers!["References"]).toMatch(/^<t\.[a-z2-7]{42}@example\.com>$/);
});

test("a reply to the mailbox itself is recognized by the ids that it replies to", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const [answer] = await sendAll(mailbox);
  await receive({ to: mailbox.address, headers: { References: `${answer!.headers!["References"]} <2@mail.example>` } });
  expect(await conversations(mailbox)).toHaveLength(1);
});

test("a token is ignored for another sender, another agent, or when it is forged", async () => {
  const [mailbox, other] = [await createMailbox(), await createMailbox()];
  await receive({ to: mailbox.address });
  const [answer] = await sendAll(mailbox);
  const replyTo = (answer!.replyTo as { email: string }).email;
  await receive({ to: replyTo, from: "mallory@example.net" });
  await receive({ to: replyTo.replace(/.(?=@)/, (letter) => (letter === "a" ? "b" : "a")) });
  await receive({ to: other.address, headers: { References: answer!.headers!["References"]! } });
  const [mine, others] = [await conversations(mailbox), await conversations(other)];
  expect(mine.map(({ messages }) => messages.length)).toEqual([2, 2, 2]);
  expect(others.map(({ messages }) => messages.length)).toEqual([2]);
});

test("a mail that is delivered twice, or ten times at once, is answered once", async () => {
  const mailbox = await createMailbox();
  const sent = { to: mailbox.address };
  const bytes = mime(sent);
  await Promise.all(Array.from({ length: 10 }, () => receive(sent, { bytes })));
  await receive(sent, { bytes, nowMs: Date.now() + 5 * MINUTE_MS });
  const [conversation, ...none] = await conversations(mailbox);
  expect(none).toEqual([]);
  expect(conversation.messages).toHaveLength(2);
  expect(await outbox(mailbox)).toHaveLength(1);
});

test("the same Message-ID from another sender is another mail", async () => {
  const mailbox = await createMailbox();
  const headers = { "Message-ID": "<1@example.net>" };
  await receive({ to: mailbox.address, headers });
  await receive({ to: mailbox.address, headers, from: "Bob <bob@example.net>" });
  const all = await conversations(mailbox);
  expect(all.map(({ visitor }) => visitor.email).toSorted()).toEqual(["ada@example.net", "bob@example.net"]);
  expect(await outbox(mailbox)).toHaveLength(2);
});

test("a mail with several senders is refused, and continues no conversation", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const [answer] = await sendAll(mailbox);
  const to = (answer!.replyTo as { email: string }).email;
  const [envelopeFrom, several] = ["mallory@example.org", "names several senders"];
  expect(await receive({ to, envelopeFrom, from: "ada@example.net, mallory@example.org" })).toContain(several);
  expect(await receive({ to, envelopeFrom, from: "ada@example.net\r\nFrom: mallory@example.org" })).toContain(several);
  expect((await conversations(mailbox)).map(({ messages }) => messages.length)).toEqual([2]);
});

test("the name of a sender is one line", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address, from: "=?utf-8?q?Ada=0D=0AThe=09team?= <ada@example.net>" });
  expect((await conversations(mailbox))[0].visitor.name).toBe("Ada The team");
});

test("automated mail gets no answer, and neither does a sender who exceeds the hourly limit", async () => {
  const mailbox = await createMailbox();
  expect(await receive({ to: mailbox.address, headers: { "Auto-Submitted": "auto-replied" } })).toBeUndefined();
  expect(await receive({ to: mailbox.address, envelopeFrom: "<>" })).toBeUndefined();
  expect(await conversations(mailbox)).toEqual([]);
  for (let count = 0; count < 25; count++) await receive({ to: mailbox.address, text: "Ping" });
  expect(await conversations(mailbox)).toHaveLength(20);
  await receive({ to: mailbox.address, text: "Later" }, { nowMs: Date.now() + 61 * MINUTE_MS });
  expect((await workspaceTotal(mailbox)).total).toBe(21);
});

const workspaceTotal = async ({ workspace }: Awaited<ReturnType<typeof createMailbox>>) =>
  (await workspace.call("GET", "/conversations?channel=email&limit=1")).body;

test("mail that cannot be accepted is refused with a reason", async () => {
  const mailbox = await createMailbox();
  expect(await receive({ to: "nobody-here@example.com" })).toBe("This mailbox does not exist.");
  expect(await receive({ to: "nonsense" })).toBe("This mailbox does not exist.");
  expect(await receive({ to: mailbox.address }, { bytes: `Subject: x\r\n\r\n${"x".repeat(10 * 1024 * 1024)}` })).toContain("too large");
  const nested = Array.from({ length: 30 }, (_, at) => `Content-Type: multipart/mixed; boundary="b${at}"\r\n\r\n--b${at}\r\n`).join("");
  expect(await receive({ to: mailbox.address, raw: nested })).toContain("could not be read");
  const parted = (parts: number) => `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${"--b\r\n\r\na\r\n".repeat(parts)}--b--\r\n`;
  expect(await receive({ to: mailbox.address, raw: parted(10_001) })).toContain("could not be read");
  expect(await receive({ to: mailbox.address }, { bytes: `Subject: x\r\n\r\n${"\n".repeat(30_001)}` })).toContain("could not be read");
  await operate("PATCH", `/workspaces/${mailbox.workspace.id}/agents/${mailbox.agentId}`, { status: "paused" });
  expect(await receive({ to: mailbox.address })).toContain("does not accept mail at the moment");
  expect(await conversations(mailbox)).toEqual([]);
  expect(await query(mailbox.workspace.id, "SELECT * FROM email_threads WHERE workspace_id = ?", mailbox.workspace.id)).toEqual([]);
});

test("a mail that the mail service refuses is retried, and given up in the end", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const { environment } = mailService(() => "E_RATE_LIMIT_EXCEEDED");
  const messageId = (await outbox(mailbox))[0]!.message_id;
  const waits: number[] = [];
  let nowMs = Date.now();
  for (let attempt = 1; attempt <= 7; attempt++) {
    await sendMail(environment, { messageId }, nowMs);
    // Too early: nothing is tried.
    await sendMail(environment, { messageId }, nowMs + 1);
    const [row] = await outbox(mailbox);
    expect(row!.attempt_count).toBe(attempt);
    if (row!.status === "failed") break;
    waits.push((row!.next_attempt_at - nowMs) / MINUTE_MS);
    nowMs = row!.next_attempt_at;
  }
  expect(waits).toEqual([1, 5, 30, 120, 360, 960]);
  expect(await outbox(mailbox)).toMatchObject([{ status: "failed", error: "E_RATE_LIMIT_EXCEEDED" }]);
});

test.each(["E_SENDER_NOT_VERIFIED", "E_SENDER_DOMAIN_NOT_AVAILABLE", "E_RECIPIENT_NOT_ALLOWED"])(
  "a mail that is refused for the configuration (%s) is sent once that is mended",
  async (code) => {
    const mailbox = await createMailbox();
    await receive({ to: mailbox.address });
    const messageId = (await outbox(mailbox))[0]!.message_id;
    let fault: string | undefined = code;
    const { mails, environment } = mailService(() => fault);
    const nowMs = Date.now();
    await sendMail(environment, { messageId }, nowMs);
    expect(await outbox(mailbox)).toMatchObject([{ status: "pending", error: code, next_attempt_at: nowMs + MINUTE_MS }]);
    let attemptAt = nowMs;
    for (let attempt = 2; attempt <= 8; attempt++) {
      const due = (await outbox(mailbox))[0]!.next_attempt_at;
      expect(due - attemptAt).toBeLessThanOrEqual(60 * MINUTE_MS);
      await sendMail(environment, { messageId }, (attemptAt = due));
    }
    fault = undefined;
    await sendMail(environment, { messageId }, attemptAt + 60 * MINUTE_MS);
    expect(await outbox(mailbox)).toMatchObject([{ status: "sent", error: null }]);
    expect(mails).toHaveLength(1);
  },
);

test("a mail that has waited for the configuration is not lost to a rate limit", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const messageId = (await outbox(mailbox))[0]!.message_id;
  let fault: string | undefined = "E_SENDER_NOT_VERIFIED";
  const { mails, environment } = mailService(() => fault);
  let nowMs = Date.now();
  for (let attempt = 1; attempt <= 10; attempt++) {
    // All mails that have waited are sent at once after the correction.
    if (attempt === 9) fault = "E_RATE_LIMIT_EXCEEDED";
    await sendMail(environment, { messageId }, nowMs);
    nowMs = (await outbox(mailbox))[0]!.next_attempt_at;
  }
  fault = undefined;
  await sendMail(environment, { messageId }, nowMs);
  expect(await outbox(mailbox)).toMatchObject([{ status: "sent", attempt_count: 11 }]);
  expect(mails).toHaveLength(1);
});

test("a permanent error is not retried", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const { environment } = mailService(() => "E_RECIPIENT_SUPPRESSED");
  await sendMail(environment, { messageId: (await outbox(mailbox))[0]!.message_id });
  expect(await outbox(mailbox)).toMatchObject([{ status: "failed", attempt_count: 1 }]);
});

test("the same wake-up ten times at once sends one mail; the sweep wakes mails whose wake-up was lost", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const messageId = (await outbox(mailbox))[0]!.message_id;
  const woken: unknown[] = [];
  const queue = { sendBatch: async (messages: { body: unknown }[]) => void woken.push(...messages.map(({ body }) => body)) };
  await sweep(envWith({ EMAIL_QUEUE: queue }), Date.now() + 2 * MINUTE_MS);
  expect(woken).toContainEqual({ messageId });
  const { mails, environment } = mailService();
  await Promise.all(Array.from({ length: 10 }, () => sendMail(environment, { messageId })));
  expect(mails).toHaveLength(1);
  await deliver("support-agent-email", { messageId });
  expect(await outbox(mailbox)).toMatchObject([{ status: "sent", attempt_count: 1 }]);
});

test("no mail is sent for a workspace that is deleted", async () => {
  const mailbox = await createMailbox();
  await receive({ to: mailbox.address });
  const messageId = (await outbox(mailbox))[0]!.message_id;
  await operate("DELETE", `/workspaces/${mailbox.workspace.id}`);
  const { mails, environment } = mailService();
  expect(await sendMail(environment, { messageId })).toBe("given_up");
  expect(mails).toEqual([]);
  expect(await outbox(mailbox)).toMatchObject([{ status: "failed", error: "no_mailbox" }]);
});

test("no mail is sent for conversations of other channels", async () => {
  const mailbox = await createMailbox();
  const { workspace, agentId } = mailbox;
  await workspace.call("POST", `/agents/${agentId}/messages`, { message: "When are refunds paid?" });
  expect(await outbox(mailbox)).toEqual([]);
});

test("erasing a person leaves nothing of their mails", async () => {
  const mailbox = await createMailbox();
  const { workspace } = mailbox;
  await receive({ to: mailbox.address, subject: "Mark my words" });
  const erased = await workspace.call("DELETE", "/privacy/visitors?email=ADA@example.net");
  expect(erased.body.deleted).toMatchObject({ conversations: 1, email_outbox: 1, email_threads: 1 });
  for (const table of ["email_threads", "email_outbox"]) {
    expect(await query(workspace.id, `SELECT * FROM ${table} WHERE workspace_id = ?`, workspace.id)).toEqual([]);
  }
});

test.each(["email=ADA@example.net", "anon_id=email:ada@example.net"])(
  "erasing by %s finds a mail that started no conversation",
  async (person) => {
    const mailbox = await createMailbox();
    const { workspace } = mailbox;
    await receive({ to: mailbox.address });
    await receive({ to: mailbox.address, from: "Bob <bob@example.net>" });
    // This is the state after the objects died before they stored the questions.
    await query(workspace.id, "DELETE FROM conversations WHERE workspace_id = ?", workspace.id);
    const erased = await workspace.call("DELETE", `/privacy/visitors?${person}`);
    expect(erased.body.deleted).toMatchObject({ conversations: 0, email_threads: 1 });
    expect(await query(workspace.id, "SELECT address FROM email_threads WHERE workspace_id = ?", workspace.id)).toEqual([
      { address: "bob@example.net" },
    ]);
  },
);

test("another workspace's mailbox gets its own conversations", async () => {
  const mailbox = await createMailbox();
  const neighbour = await createNeighbour(mailbox.workspace);
  await receive({ to: mailbox.address });
  expect((await neighbour.call("GET", "/conversations")).body.total).toBe(0);
});

test("a mailbox with a plus sign receives replies, also beside the one without", async () => {
  // A reply's address has room for a short name only.
  const name = crypto.randomUUID().slice(0, 8);
  const plain = await createMailbox({ email_address: `${name}@example.com` });
  const mailbox = await createMailbox({ email_address: `${name}+eu@example.com` });
  await receive({ to: `${name}+eu@example.com`, subject: "My refund" });
  const [answer] = await sendAll(mailbox);
  const { email } = answer!.replyTo as { email: string };
  await receive({ to: email, subject: "Re: My refund", text: "I want to talk to a human." });
  const all = await conversations(mailbox);
  expect(all).toHaveLength(1);
  expect(all[0]).toMatchObject({ status: "needs_human" });
  expect(await conversations(plain)).toEqual([]);
});
