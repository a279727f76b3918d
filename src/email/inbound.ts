import type { Email } from "postal-mime";
import { sessionOf } from "../chat/session.ts";
import type { TurnVisitor } from "../chat/turn.ts";
import { wakeEmails } from "../events/outbox.ts";
import { secretValues } from "../platform/config.ts";
import { keyedHash, sha256Hex } from "../platform/crypto/hashes.ts";
import { type Database, dbFor, directoryDb } from "../platform/db/client.ts";
import { seededIds, shardOf } from "../platform/db/ids.ts";
import { withoutData } from "../platform/telemetry/errors.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { anonIdForEmail, normalizeEmail, truncate } from "../platform/text.ts";
import { findAgentWithPlan } from "../agents/store.ts";
import { limitsOf, periodOf } from "../workspaces/plans.ts";
import { isMailAddress, readMessageId, readRecipient, verifyThreadToken, type Recipient, tokensOf } from "./address.ts";
import { hasSingleSender, parseMail, questionOf, subjectOf } from "./parse.ts";
import { countArrivals, eraseThread, findArrival, findMailbox, upsertThread, listThreads, recordArrival } from "./store.ts";

/** What the platform routes at most is 25 MiB; a question needs no such mail. */
const MAX_MAIL_BYTES = 10 * 1024 * 1024;
/** More than a person writes; a program that answers our answers stops here. */
const MAILS_AN_HOUR = 20;
const HOUR_MS = 60 * 60 * 1000;
const MAX_NAME_LENGTH = 120;

const NO_MAILBOX = "There is no such mailbox here.";
const TOO_LARGE = "This mail is too large: send at most 10 MB, or a link.";
const UNREADABLE = "This mail could not be read. Send it again as plain text.";
const MANY_AUTHORS = "This mail names several senders, or none clearly. Send it from one address.";
const NOT_NOW = "This mailbox takes no mail at the moment. Try again later.";

/** A mail that came for an agent. */
interface Incoming {
  env: Env;
  meter: Meter;
  mailbox: { workspaceId: string; agentId: string; address: string };
  recipient: Recipient;
  mail: Email;
  sender: { address: string; name: string | null };
  nowMs: number;
}

/** What became of a mail; a refused one goes back to its sender. */
interface MailResult {
  outcome: "taken" | "ignored" | "refused";
  reason: string | null;
  /** Whose mailbox it came to, where there is such a one. */
  workspaceId?: string;
}

/**
 * Takes a mail: the agent answers it in its conversation, or it is refused so that the sender's server says why. What a
 * program wrote is taken in silence. A fault of ours is thrown: the sender's server tries again then.
 */
export async function receiveMail(message: ForwardableEmailMessage, env: Env, nowMs = Date.now()): Promise<void> {
  const endOf = ({ reason, ...fate }: MailResult) => ({ ...fate, fields: { reason } });
  try {
    await measureJob(env, { job: "email_arrival", messages: 1 }, (meter) => receive({ message, env, meter, nowMs }), endOf);
  } catch (error) {
    throw withoutData(error);
  }
}

/** What came, and what taking it in needs of its surroundings. */
interface Arrival {
  message: ForwardableEmailMessage;
  env: Env;
  meter: Meter;
  nowMs: number;
}

async function receive({ message, env, meter, nowMs }: Arrival): Promise<MailResult> {
  const recipient = readRecipient(message.to);
  const mailbox = recipient && (await openMailbox(env, meter, [recipient.mailbox, message.to.toLowerCase()]));
  if (!recipient || !mailbox) return refuse(message, NO_MAILBOX, "no_mailbox");
  if (message.rawSize > MAX_MAIL_BYTES) return refuse(message, TOO_LARGE, "too_large");
  const mail = await parseMail(message.raw);
  if (!mail) return refuse(message, UNREADABLE, "unreadable");
  const ignored = ignoreReason(mail, message.from, mailbox.address);
  const { workspaceId } = mailbox;
  if (ignored) return { outcome: "ignored", reason: ignored, workspaceId };
  if (!hasSingleSender(mail)) return refuse(message, MANY_AUTHORS, "many_authors");
  const sender = { address: mail.from!.address!.trim(), name: truncate(mail.from!.name.trim(), MAX_NAME_LENGTH) || null };
  const fate = await acceptMail({ env, meter, mailbox, recipient, mail, sender, nowMs });
  if (fate.outcome === "refused") refuse(message, NOT_NOW, fate.reason!);
  return { ...fate, workspaceId };
}

/** The mailbox of an address. One whose database is missing is a fault of ours, and no reason to send a mail back. */
async function openMailbox(env: Env, meter: Meter, addresses: string[]): Promise<Incoming["mailbox"] | undefined> {
  const directory = directoryDb(env, meter);
  const [[found]] = await directory.batch([findMailbox(directory, addresses)]);
  return found;
}

/** Notes that the mail came, and has it answered unless its sender sends too many. */
async function acceptMail(incoming: Incoming): Promise<MailResult> {
  const { env, meter, mailbox, mail, sender, nowMs } = incoming;
  const { workspaceId, agentId } = mailbox;
  const db = dbFor(env, workspaceId, meter);
  const from = normalizeEmail(sender.address);
  // Of the sender too: others know a mail's id, and some programs give every mail the same.
  const mailKey = await sha256Hex(`${agentId}\n${from}\n${mail.messageId ?? JSON.stringify(mail.headers)}`);
  // Keyed, since these rows outlive an erasure of the sender by days.
  const senderKey = await keyedHash(secretValues(env.KEY_SECRET)[0], `email-sender/${agentId}/${from}`);
  const [, [arrival], [recent], [agent]] = await db.batch([
    recordArrival(db, { workspaceId, mailKey, senderKey, createdAt: nowMs }),
    findArrival(db, workspaceId, mailKey),
    countArrivals(db, workspaceId, senderKey, nowMs - HOUR_MS),
    findAgentWithPlan(db, agentId),
  ]);
  if (!agent) return { outcome: "refused", reason: "no_agent" };
  if (recent!.count > MAILS_AN_HOUR) return { outcome: "ignored", reason: "too_many" };
  const ids = await turnIds(workspaceId, mailKey, arrival!.createdAt);
  return askAgent(incoming, db, ids, limitsOf(agent.plan, agent.overrides).messages);
}

/** Asks the agent, in the conversation that the mail continues or in a new one. */
async function askAgent(incoming: Incoming, db: Database, ids: Awaited<ReturnType<typeof turnIds>>, limit: number): Promise<MailResult> {
  const { env, meter, mailbox, mail, sender, nowMs } = incoming;
  const { workspaceId, agentId } = mailbox;
  const known = await findConversation(incoming, db);
  const conversationId = known ?? ids.conversationId;
  const subject = subjectOf(mail);
  const latest = { address: normalizeEmail(sender.address), subject, lastMessageId: readMessageId(mail.messageId), createdAt: nowMs };
  // Before the answer: a message in a thread is what makes a mail of it.
  await db.batch([upsertThread(db, { conversationId, workspaceId, ...latest })]);
  const { result, cost } = await sessionOf(env, meter, workspaceId, conversationId).ask({
    workspaceId,
    agentId,
    conversationId,
    isNew: known === undefined,
    channel: "email",
    subject,
    message: questionOf(mail),
    visitor: visitorOf(sender),
    ids,
    quota: { period: periodOf(nowMs), limit },
  });
  meter.add(cost);
  if (result.outcome !== "answered") {
    await db.batch([eraseThread(db, conversationId)]);
    return { outcome: "refused", reason: result.outcome };
  }
  const { message_id: messageId } = result.answer;
  if (messageId) await wakeEmails(env, [{ messageId }]);
  return { outcome: "taken", reason: null };
}

/** The conversation that a mail continues: one that we named in it, begun by the same sender. */
async function findConversation({ env, mailbox, recipient, mail, sender }: Incoming, db: Database): Promise<string | undefined> {
  const tokens = [...new Set(tokensOf(recipient.tag, mail.inReplyTo, mail.references))].slice(0, 5);
  const named = await Promise.all(tokens.map((token) => verifyThreadToken(token, secretValues(env.KEY_SECRET))));
  const ids = named.filter((id) => id !== undefined);
  if (ids.length === 0) return undefined;
  const [threads] = await db.batch([listThreads(db, mailbox.agentId, normalizeEmail(sender.address), ids)]);
  return ids.find((id) => threads.some(({ conversationId }) => conversationId === id));
}

/** The same mail again makes the same identifiers, so that nothing is done twice. */
async function turnIds(workspaceId: string, mailKey: string, atMs: number) {
  const nextId = await seededIds(`email-ids/1\0${mailKey}`, atMs);
  const shard = shardOf(workspaceId);
  return { conversationId: nextId(shard), questionId: nextId(shard), answerId: nextId(shard) };
}

/** An address is a person's name for us, and nothing proves it: whoever writes from it is never more than that. */
function visitorOf({ address, name }: Incoming["sender"]): TurnVisitor {
  return {
    anonId: anonIdForEmail(address),
    externalId: null,
    name,
    email: address,
    verified: false,
    isProfileVerified: false,
    joins: null,
  };
}

function refuse(message: ForwardableEmailMessage, words: string, reason: string): MailResult {
  message.setReject(words);
  return { outcome: "refused", reason };
}

/** Headers that only programs set: answering one would be answering a program, which may answer again for ever. */
const ROBOT_HEADERS = [
  "list-id",
  "list-post",
  "list-unsubscribe",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-loop",
  "feedback-id",
];
/** RFC 2076, 3.9, and what vacation programs write. */
const ROBOT_PRECEDENCE = /^(bulk|list|junk|auto_reply)$/i;
const ROBOT_MAILBOX = /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|abuse|listserv|majordomo)([+._@-]|$)/i;
/** Delivery reports and read receipts (RFC 3462). */
const REPORT = /^\s*multipart\/report\b/i;

/** Why a mail is taken without an answer; undefined for one that a person wrote. RFC 3834, section 2, says most of it. */
export function ignoreReason(mail: Email, envelopeFrom: string, ownMailbox: string): string | undefined {
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
  const from = mail.from?.address?.trim().toLowerCase() ?? "";
  if (envelopeFrom === "" || envelopeFrom === "<>") return "bounce";
  if (!isMailAddress(from)) return "no_sender";
  if (from === ownMailbox || envelopeFrom.toLowerCase() === ownMailbox) return "loop";
  if (ROBOT_MAILBOX.test(from) || ROBOT_MAILBOX.test(envelopeFrom)) return "robot_sender";
  if (!/^\s*no\b/i.test(header("auto-submitted") ?? "no")) return "auto_submitted";
  if (ROBOT_PRECEDENCE.test(header("precedence")?.trim() ?? "")) return "precedence";
  if (REPORT.test(header("content-type") ?? "")) return "report";
  return ROBOT_HEADERS.some((name) => header(name) !== undefined) ? "list" : undefined;
}
