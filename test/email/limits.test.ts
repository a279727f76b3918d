import { expect, test } from "vitest";
import { groupOf } from "../../src/email/domains.ts";
import { countRows, operate, send } from "../harness.ts";
import { jobIn, watch } from "../platform/telemetry/watch.ts";
import { conversations, createMailbox, type Mailbox, receive } from "./mailbox.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** An early time of a day, so that a test ends on the same day. */
const MORNING = Math.ceil(Date.now() / DAY_MS) * DAY_MS + 1_000;
const MANY_TODAY = "This mailbox has received many mails from you or your organization today. Send it again tomorrow.";

/** A mailbox whose workspace takes so many messages of visitors a day. */
async function createMailboxWith(perDay: number): Promise<Mailbox> {
  const mailbox = await createMailbox();
  await operate("PATCH", `/workspaces/${mailbox.workspace.id}`, { limits: { visitor_messages_per_day: perDay } });
  return mailbox;
}

/** Delivers a mail of each sender, one after the other. Returns the reasons for which they were rejected. */
async function receiveEach({ address }: Mailbox, senders: string[], nowMs = MORNING): Promise<(string | undefined)[]> {
  const reasons = [];
  for (const from of senders) reasons.push(await receive({ to: address, from }, { nowMs }));
  return reasons;
}

test("all addresses of a domain together may use half of the day's messages, and everybody else the rest", async () => {
  const mailbox = await createMailboxWith(6);
  const ofDomain = ["a@evil.co.uk", "b@evil.co.uk", "c@mail.evil.co.uk", "d@evil.co.uk", "e@x.mail.evil.co.uk"];
  expect(await receiveEach(mailbox, ofDomain)).toEqual([undefined, undefined, undefined, MANY_TODAY, MANY_TODAY]);
  expect(await receiveEach(mailbox, ["ann@acme.co.uk", "bob@blue.example", "eve@red.example"])).toEqual([undefined, undefined, undefined]);
  const full = "This mailbox does not accept mail at the moment. Try again later.";
  expect(await receiveEach(mailbox, ["dan@green.example", "a@evil.co.uk"])).toEqual([full, full]);
  expect(await conversations(mailbox)).toHaveLength(6);
  expect(await receiveEach(mailbox, ["a@evil.co.uk"], MORNING + DAY_MS)).toEqual([undefined]);
});

test("at a mailbox provider each address is a sender of its own, whatever its tag", async () => {
  const mailbox = await createMailboxWith(6);
  const mails = ["ada@gmail.com", "bob@gmail.com", "bob+1@gmail.com", "Bob+2@googlemail.com", "bob+3@gmail.com", "bob+4@gmail.com"];
  expect(await receiveEach(mailbox, mails)).toEqual([undefined, undefined, undefined, undefined, undefined, MANY_TODAY]);
});

test("the group of an address is its registered domain, or the address at a mailbox provider", () => {
  const groups = {
    "ann@acme.example": "acme.example",
    "ann@Mail.Acme.co.uk": "acme.co.uk",
    "ann@ada.github.io": "ada.github.io",
    "ann@github.io": "github.io",
    "ann@münchen.example": "xn--mnchen-3ya.example",
    "Ann.Lee+shop@gmail.com": "ann.lee@gmail.com",
    "ann@yahoo.co.jp": "ann@yahoo.co.jp",
    "ann@intranet": "intranet",
    "ann@gmail.com/.evil.example": "evil.example",
  };
  for (const [address, group] of Object.entries(groups)) expect(groupOf(address), address).toBe(group);
});

test("mails that are not accepted leave nothing behind", async () => {
  const mailbox = await createMailboxWith(2);
  expect(await receiveEach(mailbox, ["a@evil.example"])).toEqual([undefined]);
  const before = await countRows();
  expect(await receiveEach(mailbox, ["a@evil.example", "b@evil.example", "c@evil.example"])).toEqual([MANY_TODAY, MANY_TODAY, MANY_TODAY]);
  expect(await countRows()).toEqual(before);
});

test("a sender's mails beyond twenty in an hour are not recorded", async () => {
  const mailbox = await createMailboxWith(1_000);
  await receiveEach(mailbox, Array<string>(20).fill("ann@acme.example"));
  const before = await countRows();
  const watched = await watch(() => receive({ to: mailbox.address, from: "ann@acme.example" }, { nowMs: MORNING }));
  expect(jobIn(watched, "inbound_email")).toMatchObject({ outcome: "ignored", reason: "too_many" });
  expect(await countRows()).toEqual(before);
});

test("a mail that is delivered again is answered once, even when its domain has used up its share meanwhile", async () => {
  const mailbox = await createMailboxWith(2);
  const sent = { to: mailbox.address, from: "ann@acme.example", headers: { "Message-ID": "<same@acme.example>" } };
  expect(await receive(sent, { nowMs: MORNING })).toBeUndefined();
  expect(await receive(sent, { nowMs: MORNING + 60_000 })).toBeUndefined();
  expect(await conversations(mailbox)).toHaveLength(1);
});

test("visitors of the website have what a mail domain leaves", async () => {
  const mailbox = await createMailboxWith(2);
  const nowMs = Date.now();
  await receiveEach(mailbox, ["a@evil.example", "b@evil.example", "c@evil.example"], nowMs);
  await operate("PATCH", `/workspaces/${mailbox.workspace.id}/agents/${mailbox.agentId}`, { allowed_origins: ["*"] });
  const asked = await send("POST", `/widget/v1/agents/${mailbox.agentId}/messages`, { body: { message: "When are refunds paid?" } });
  expect(asked.status).toBe(200);
});
