import type { Email } from "postal-mime";
import { sessionOf } from "../chat/session.ts";
import { mailVisitor, questionLimits } from "../chat/question.ts";
import { wakeEmails } from "../events/outbox.ts";
import { secretValues } from "../platform/config.ts";
import { keyedHash, sha256Hex } from "../platform/crypto/hashes.ts";
import { directoryDb, newOperation, type Operation } from "../platform/db/client.ts";
import { seededIds, shardOf } from "../platform/db/ids.ts";
import { Fault, withoutData } from "../platform/telemetry/errors.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { normalizeEmail, toSingleLine } from "../platform/text.ts";
import { findAgentWithPlan } from "../agents/store.ts";
import type { RedactionSettings } from "../platform/db/columns.ts";
import { HOUR_MS } from "../platform/time.ts";
import { redactionOf } from "../redaction/redaction.ts";
import {
  ALL_SENDERS,
  type WindowCount,
  type LimitWindow,
  findFullWindow,
  startOfDay,
  type VisitorLimit,
  visitorLimitOf,
  windowsOf,
} from "../workspaces/usage-limits.ts";
import { listCounts } from "../workspaces/usage-limit-store.ts";
import { type Limits, limitsOf } from "../workspaces/plans.ts";
import { isMailAddress, readMessageId, recipientsOf, verifyThreadToken, tokensOf } from "./address.ts";
import { filesIn, type StoredFiles, storeFiles } from "./attachments.ts";
import { type Authentication, authenticationOf } from "./authentication.ts";
import { groupOf } from "./domains.ts";
import { hasSingleSender, parseMail, questionOf, subjectOf } from "./parse.ts";
import {
  deleteInboundEmail,
  eraseThread,
  findInboundEmail,
  listMailboxes,
  upsertThread,
  listThreads,
  recordInboundEmail,
} from "./store.ts";

/** The platform accepts mails up to 25 MiB; a question needs less. */
const MAX_MAIL_BYTES = 10 * 1024 * 1024;
/** The limit is larger than what a person sends. It stops a program that replies to every answer. */
const MAX_MAILS_PER_HOUR = 20;
const MAX_NAME_LENGTH = 120;

/** The texts for the senders of refused mails, by the reason of the refusal. */
const REFUSALS: Readonly<Record<string, string>> = {
  no_mailbox: "This mailbox does not exist.",
  too_large: "This mail is too large: send at most 10 MB, or a link.",
  unreadable: "This mail could not be read. Send it again as plain text.",
  many_authors: "This mail names several senders, or none clearly. Send it from one address.",
  unauthenticated:
    "This mail cannot be verified: neither SPF, DKIM nor DMARC confirms that it comes from its sender's domain. Ask your mail provider.",
  too_many_of_sender: "This mailbox has received many mails from you or your organization today. Send it again tomorrow.",
};
const UNAVAILABLE = "This mailbox does not accept mail at the moment. Try again later.";

/** A mail to an agent. */
interface IncomingMail {
  op: Operation;
  mailbox: Mailbox;
  /** What follows the mailbox and a plus sign in the address that the mail was sent to. */
  tag: string | null;
  mail: Email;
  /** The bytes of the mail. */
  raw: Uint8Array<ArrayBuffer>;
  sender: { address: string; name: string | null };
}

interface Mailbox {
  workspaceId: string;
  agentId: string;
  address: string;
}

/** What was done with a mail. A refused mail goes back to its sender. */
interface MailResult {
  outcome: "taken" | "ignored" | "refused";
  reason: string | null;
  /** Undefined if the mailbox does not exist. */
  workspaceId?: string;
  /** Undefined if the mail was refused or ignored before the check. */
  authentication?: Authentication;
}

/**
 * Receives a mail. The agent answers it in its conversation, or the mail is refused with a reason for the sender. Mail that a program
 * wrote is accepted without an answer.
 * @throws Error if the service fails, so that the sender's server tries again.
 */
export async function receiveMail(message: ForwardableEmailMessage, env: Env, nowMs = Date.now()): Promise<void> {
  const endOf = ({ reason, authentication, ...result }: MailResult) => ({ ...result, fields: { reason, authentication } });
  try {
    const { outcome, reason } = await measureJob(
      env,
      { job: "inbound_email", messages: 1 },
      (meter) => receive(message, env, meter, nowMs),
      endOf,
    );
    if (outcome === "refused") message.setReject(REFUSALS[reason!] ?? UNAVAILABLE);
  } catch (error) {
    throw withoutData(error);
  }
}

async function receive(message: ForwardableEmailMessage, env: Env, meter: Meter, nowMs: number): Promise<MailResult> {
  const recipients = recipientsOf(message.to);
  const directory = directoryDb(env, meter);
  const wanted = recipients.map(({ mailbox }) => mailbox);
  const [mailboxes] = await directory.batch([listMailboxes(directory, wanted)]);
  const mailbox = mailboxes.sort((a, b) => wanted.indexOf(a.address) - wanted.indexOf(b.address))[0];
  if (!mailbox) return refusal("no_mailbox");
  const { workspaceId } = mailbox;
  const { tag } = recipients[wanted.indexOf(mailbox.address)]!;
  return { ...(await receiveAt({ op: newOperation(env, meter, workspaceId, nowMs), mailbox, tag }, message)), workspaceId };
}

/** Receives a mail at a mailbox that exists. */
async function receiveAt(target: Omit<IncomingMail, "mail" | "raw" | "sender">, message: ForwardableEmailMessage): Promise<MailResult> {
  if (message.rawSize > MAX_MAIL_BYTES) return refusal("too_large");
  const raw = new Uint8Array(await new Response(message.raw).arrayBuffer());
  const mail = await parseMail(raw);
  if (!mail) return refusal("unreadable");
  const ignored = ignoreReason(mail, message.from, target.mailbox.address);
  if (ignored) return { outcome: "ignored", reason: ignored };
  if (!hasSingleSender(mail)) return refusal("many_authors");
  const sender = { address: mail.from!.address!.trim(), name: toSingleLine(mail.from!.name, MAX_NAME_LENGTH) || null };
  // The results repeat the envelope's address, which in quotes could hold a further result.
  const authentication = isMailAddress(message.from) ? authenticationOf(mail, sender.address) : "fail";
  if (authentication === "unavailable") throw new Fault("The DNS of the sender's domain could not be queried");
  if (authentication === "fail") return { ...refusal("unauthenticated"), authentication };
  return { ...(await acceptMail({ ...target, mail, raw, sender })), authentication };
}

/** Records the mail, and asks the agent unless too many mails were sent. A mail that is refused leaves no record. */
async function acceptMail(incoming: IncomingMail): Promise<MailResult> {
  const { op, mail, sender } = incoming;
  const { env, db, workspaceId, nowMs } = op;
  const { agentId } = incoming.mailbox;
  const from = normalizeEmail(sender.address);
  // The key includes the sender, since others may know the id of a mail, and some programs give every mail the same id.
  // The subject, which may hold what is masked, is left out of the hash, since a number could be found by trying them all.
  const headers = mail.headers.filter(({ key }) => key !== "subject");
  const mailKey = await sha256Hex(`${agentId}\n${from}\n${mail.messageId ?? JSON.stringify(headers)}`);
  // The hash is keyed, since these rows are kept for days after the sender's data is erased.
  const hashOf = (name: string) => keyedHash(secretValues(env.KEY_SECRET)[0], name);
  const [senderKey, group] = await Promise.all([
    hashOf(`email-sender/${agentId}/${from}`),
    hashOf(`email-group/${workspaceId}/${groupOf(from)}`),
  ]);
  const record = { workspaceId, mailKey, senderKey, createdAt: nowMs };
  const days = [ALL_SENDERS, group].map((one) => ({ flow: "messages" as const, sender: one, startMs: startOfDay(nowMs) }));
  const [, [recorded], [agent], sent] = await db.batch([
    recordInboundEmail(db, record, { limit: MAX_MAILS_PER_HOUR, sinceMs: nowMs - HOUR_MS }),
    findInboundEmail(db, workspaceId, mailKey),
    findAgentWithPlan(db, agentId),
    listCounts(db, workspaceId, days),
  ]);
  if (!recorded) return { outcome: "ignored", reason: "too_many" };
  const result = agent
    ? await askInTime(await redacted(incoming, agent.redaction), {
        mailKey,
        atMs: recorded.createdAt,
        limits: limitsOf(agent.plan, agent.overrides),
        group,
        sent,
      })
    : refusal("no_agent");
  if (result.outcome === "refused") await db.batch([deleteInboundEmail(db, workspaceId, mailKey)]);
  return result;
}

/** A mail of a workspace that may have texts masked. */
interface RedactedMail extends IncomingMail {
  redact: ((text: string) => string) | undefined;
}

async function redacted({ sender, ...incoming }: IncomingMail, settings: Partial<RedactionSettings>): Promise<RedactedMail> {
  const { env, workspaceId } = incoming.op;
  const redact = (await redactionOf(env, workspaceId, settings))?.text;
  return { ...incoming, sender: { ...sender, name: sender.name && (redact?.(sender.name) ?? sender.name) }, redact };
}

/** A mail as it was recorded, and the limits of its workspace. */
interface RecordedMail {
  mailKey: string;
  /** When it was first delivered, in Unix milliseconds. */
  atMs: number;
  limits: Limits;
  /** A hash of the sender's domain or, at a mailbox provider, of the address. */
  group: string;
  /** What was sent today, by all visitors and by the group. */
  sent: readonly WindowCount[];
}

/** Asks the agent, unless the day's messages are used up. */
async function askInTime(incoming: RedactedMail, { mailKey, atMs, limits, group, sent }: RecordedMail): Promise<MailResult> {
  const { workspaceId, nowMs } = incoming.op;
  const messageLimit: VisitorLimit = { ...visitorLimitOf(limits, "messages", group), isGroup: true };
  // What is sent is counted where it is stored. A flood of mails ends here, before it costs more. A repeated delivery may be counted already.
  const full = atMs === nowMs ? findFullWindow(windowsOf(messageLimit, nowMs), sent) : undefined;
  if (full) return refusal(full);
  const ids = await questionIds(workspaceId, mailKey, atMs);
  const limit: VisitorLimit = { ...visitorLimitOf(limits, "attachments", group), isGroup: true };
  const sentFiles = await filesIn(incoming.raw);
  const stored = await storeFiles(incoming.op, sentFiles, { questionId: ids.questionId, limits, limit, redact: incoming.redact });
  const result = await askAgent(incoming, { ids, limits, messageLimit, stored }, await findConversation(incoming));
  // If the conversation is full, the mail starts another one.
  return result.reason === "conversation_full" ? askAgent(incoming, { ids, limits, messageLimit, stored }) : result;
}

/** The result for a mail that is not accepted. @param reason a reason, or the window that is full. */
function refusal(reason: string | LimitWindow): MailResult {
  if (typeof reason === "string") return { outcome: "refused", reason };
  return { outcome: "refused", reason: reason.sender === ALL_SENDERS ? "rate_limited" : "too_many_of_sender" };
}

interface AskOptions {
  ids: Awaited<ReturnType<typeof questionIds>>;
  limits: Limits;
  messageLimit: VisitorLimit;
  stored: StoredFiles;
}

/** Asks the agent the question of a mail. @param continued the id of the conversation that the mail continues. */
async function askAgent(
  { op, mailbox, mail, sender, redact }: RedactedMail,
  { ids, limits, messageLimit, stored }: AskOptions,
  continued?: string,
): Promise<MailResult> {
  const { env, meter, db, workspaceId, nowMs } = op;
  const { agentId } = mailbox;
  const conversationId = continued ?? ids.conversationId;
  const subject = subjectOf(mail, redact);
  const latest = { address: normalizeEmail(sender.address), subject, lastMessageId: readMessageId(mail.messageId), createdAt: nowMs };
  // The thread is stored before the answer, since a message is sent as mail only if its conversation has a thread.
  await db.batch([upsertThread(db, { conversationId, workspaceId, ...latest })]);
  const { result, cost } = await sessionOf(op, conversationId).ask({
    ...ids,
    workspaceId,
    agentId,
    conversationId,
    isNew: continued === undefined,
    channel: "email",
    subject,
    message: questionOf(mail, stored.names, redact),
    ...(stored.files && { files: stored.files }),
    visitor: mailVisitor({ email: sender.address, name: sender.name }),
    ...questionLimits(limits, nowMs),
    messageLimit,
    nowMs,
  });
  meter.add(cost);
  if (result.outcome !== "answered") {
    await db.batch([eraseThread(db, conversationId)]);
    return refusal(result.outcome === "rate_limited" ? result.full : result.outcome);
  }
  const { message_id: messageId } = result.answer;
  if (messageId) await wakeEmails(env, [{ messageId }]);
  return { outcome: "taken", reason: null };
}

/** The id of the conversation that a mail continues: the mail carries its token and comes from the same sender. */
async function findConversation({ op, mailbox, tag, mail, sender }: IncomingMail): Promise<string | undefined> {
  const tokens = [...new Set(tokensOf(tag, mail.inReplyTo, mail.references))].slice(0, 5);
  const named = await Promise.all(tokens.map((token) => verifyThreadToken(token, secretValues(op.env.KEY_SECRET))));
  const ids = named.filter((id) => id !== undefined);
  if (ids.length === 0) return undefined;
  const [threads] = await op.db.batch([listThreads(op.db, mailbox.agentId, normalizeEmail(sender.address), ids)]);
  return ids.find((id) => threads.some(({ conversationId }) => conversationId === id));
}

/** The ids of a mail's records. They are the same if the mail is delivered twice, so that it is answered once. */
async function questionIds(workspaceId: string, mailKey: string, atMs: number) {
  const nextId = await seededIds(`email-ids/1\0${mailKey}`, atMs);
  const shard = shardOf(workspaceId);
  return { conversationId: nextId(shard), questionId: nextId(shard), answerId: nextId(shard), visitorId: nextId(shard) };
}

/**
 * Headers that only programs set. Replying to a program could start a mail loop. `Feedback-ID` is none of them: some providers add it to
 * each mail.
 */
const AUTOMATED_HEADER = /^(list-(id|post|unsubscribe)|x-auto(reply|respond|responder)|x-loop)$/;
/** RFC 2076, 3.9, and what vacation programs write. */
const AUTOMATED_PRECEDENCE = /^(bulk|list|junk|auto_reply)$/i;
/** Microsoft's servers forward a person's mail from `bounces+SRS=…`. */
const AUTOMATED_MAILBOX = /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?(?!\+srs=)|abuse|listserv|majordomo)([+._@-]|$)/i;
/** Delivery reports and read receipts (RFC 3462). */
const REPORT = /^\s*multipart\/report\b/i;

/** Why a mail gets no answer, following RFC 3834, section 2; undefined for a mail that a person wrote. */
export function ignoreReason(mail: Email, envelopeFrom: string, ownMailbox: string): string | undefined {
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
  const from = mail.from?.address?.trim().toLowerCase() ?? "";
  if (envelopeFrom === "" || envelopeFrom === "<>") return "bounce";
  if (!isMailAddress(from)) return "no_sender";
  if (from === ownMailbox || envelopeFrom.toLowerCase() === ownMailbox) return "loop";
  if (AUTOMATED_MAILBOX.test(from) || AUTOMATED_MAILBOX.test(envelopeFrom)) return "robot_sender";
  if (!/^\s*no\b/i.test(header("auto-submitted") ?? "no")) return "auto_submitted";
  if (AUTOMATED_PRECEDENCE.test(header("precedence")?.trim() ?? "")) return "precedence";
  if (REPORT.test(header("content-type") ?? "")) return "report";
  return mail.headers.some(({ key }) => AUTOMATED_HEADER.test(key)) ? "list" : undefined;
}
