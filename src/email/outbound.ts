import { readContent } from "../attachments/contents.ts";
import type { EmailMessage } from "../events/outbox.ts";
import { secretValues } from "../platform/config.ts";
import type { MessageAttachment } from "../platform/db/columns.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { dbFor } from "../platform/db/client.ts";
import { trySend } from "../platform/mail.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { toSingleLine, utf8Length } from "../platform/text.ts";
import { DAY_MS, MINUTE_MS } from "../platform/time.ts";
import { mintThreadToken, readMessageId, replyAddress, threadId } from "./address.ts";
import { claimMail, findMail, updateMail } from "./store.ts";

/** The result of a wake-up. A mail that is put off is sent again later. */
type SendOutcome = "nothing_to_do" | "sent" | "put_off" | "given_up";

/** The retries take about a day in total, as those of mail servers do. */
const RETRY_AFTER_MINUTES = [1, 5, 30, 120, 360, 960];
/**
 * These retries also take about a day, but with short pauses, so that waiting mails are sent within an hour after an operator has
 * corrected the account.
 */
const CONFIGURATION_RETRY_AFTER_MINUTES = [1, 5, 30, ...Array<number>(24).fill(60)];
/** The lease is longer than the mail service takes to accept a mail. */
const LEASE_MS = 2 * MINUTE_MS;
/**
 * The errors of the mail service that an operator can correct in the account, with what to do about each. Mails wait for that. All
 * codes: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/
 */
export const MAIL_REMEDIES: Readonly<Record<string, string>> = {
  E_SENDER_NOT_VERIFIED:
    "Verify the domain of the agent's email_address: Email Service, Email Sending, Settings shows which DNS records are missing.",
  E_SENDER_DOMAIN_NOT_AVAILABLE: "Onboard the domain of the agent's email_address in Email Service, Email Sending.",
  E_RECIPIENT_NOT_ALLOWED:
    "Onboard the domain of the agent's email_address in Email Service, Email Sending (until then, only verified addresses can receive mail), and set no destination addresses on the binding EMAIL.",
  E_DAILY_LIMIT_EXCEEDED: "Ask Cloudflare for a higher daily limit of Email Sending.",
};
/** Errors that pass without any action. */
const TRANSIENT_CODES = new Set(["E_RATE_LIMIT_EXCEEDED", "E_INTERNAL_SERVER_ERROR", "E_DELIVERY_FAILED", "E_UNKNOWN"]);

/**
 * Handles the wake-up of a mail: sends a message as mail, if it is due. Repeated wake-ups send it once, unless the Worker is interrupted between
 * sending the mail and recording it.
 */
export async function sendMail(env: Env, { messageId }: EmailMessage, nowMs = Date.now(), meter = new Meter()): Promise<SendOutcome> {
  if (!hasDatabase(env, messageId)) return "nothing_to_do";
  const db = dbFor(env, messageId, meter);
  const leaseUntilMs = nowMs + LEASE_MS;
  const [[claimed], [parts]] = await db.batch([claimMail(db, messageId, leaseUntilMs, nowMs), findMail(db, messageId)]);
  if (!claimed) return "nothing_to_do";
  const record = (changes: Parameters<typeof updateMail>[3]) => db.batch([updateMail(db, messageId, leaseUntilMs, changes)]);
  if (!parts?.mailbox) {
    await record({ status: "failed", error: "no_mailbox" });
    return "given_up";
  }
  const token = await mintThreadToken(parts.conversationId, secretValues(env.KEY_SECRET)[0]);
  const files = await filesOf({ env, meter, workspaceId: claimed.workspaceId }, parts.attachments);
  const error = await trySend(env, composeMail({ ...parts, ...files, mailbox: parts.mailbox, token }));
  if (error === undefined) {
    await record({ status: "sent", error: null });
    return "sent";
  }
  logProblem("email_refused", { message_id: messageId, attempts: claimed.attemptCount, error });
  const waitMinutes = retryMinutes(error, claimed, nowMs);
  const isGivenUp = waitMinutes === undefined;
  await record(isGivenUp ? { status: "failed", error } : { error, nextAttemptAt: nowMs + waitMinutes * MINUTE_MS });
  return isGivenUp ? "given_up" : "put_off";
}

/** The minutes before the next attempt; undefined after a permanent error, or when a day of attempts is over. */
function retryMinutes(error: string, { attemptCount, createdAt }: { attemptCount: number; createdAt: number }, nowMs: number) {
  if (error in MAIL_REMEDIES) return CONFIGURATION_RETRY_AFTER_MINUTES[attemptCount - 1];
  if (!TRANSIENT_CODES.has(error)) return undefined;
  // The many attempts of a mail that has waited for the configuration are not those of a transient error.
  return RETRY_AFTER_MINUTES[attemptCount - 1] ?? (nowMs < createdAt + DAY_MS ? 60 : undefined);
}

/** The most bytes of files that a mail carries. Mail servers refuse larger mails, and base64 adds a third. */
const MAX_FILES_BYTES = 15 * 1024 * 1024;

/** Reads the files of a message that fit into a mail, and lists the names of the others. */
async function filesOf(owner: Parameters<typeof readContent>[0], attachments: readonly MessageAttachment[]) {
  const files: EmailAttachment[] = [];
  const leftOut: string[] = [];
  let left = MAX_FILES_BYTES;
  for (const { id, name: filename, type, size } of attachments) {
    const content = size <= left ? await readContent(owner, id) : null;
    if (content) files.push({ disposition: "attachment", filename, type, content });
    else leftOut.push(filename);
    if (content) left -= size;
  }
  return { files, leftOut };
}

export interface MailParts {
  role: string;
  content: string;
  citations: readonly Record<string, unknown>[];
  agentName: string;
  mailbox: string;
  address: string;
  subject: string;
  lastMessageId: string | null;
  earlierIds: readonly string[];
  isReply: number;
  token: string;
  files?: EmailAttachment[];
  /** The names of files that the mail does not carry. */
  leftOut?: readonly string[];
}

const MAX_NAME_LENGTH = 120;
const REPLY_PREFIX = /^(re|aw|sv|antw|ré|res)\s?(\[\d+\])?:/i;

/** Composes a message as a mail in the visitor's thread. Replies to it come back to the conversation. */
export function composeMail(parts: MailParts): EmailMessageBuilder {
  const { mailbox, address, token } = parts;
  // These values become headers. Operators may write anything in the name, and an imported workspace may contain any subject and id.
  const name = toSingleLine(parts.agentName, MAX_NAME_LENGTH);
  const subject = toSingleLine(parts.subject, parts.subject.length);
  const lastMessageId = readMessageId(parts.lastMessageId);
  const earlierIds = parts.earlierIds.filter((id) => readMessageId(id) !== null);
  const replyTo = replyAddress(mailbox, token);
  return {
    from: { email: mailbox, name },
    to: address,
    ...(replyTo && { replyTo: { email: replyTo, name } }),
    subject: !parts.isReply || REPLY_PREFIX.test(subject) ? subject : `Re: ${subject}`,
    text: textOf(parts),
    ...(parts.files?.length && { attachments: parts.files }),
    headers: {
      ...(lastMessageId && { "In-Reply-To": lastMessageId }),
      References: referencesOf(threadId(mailbox, token), [...earlierIds, ...(lastMessageId ? [lastMessageId] : [])]),
      // RFC 3834: asks other programs not to reply.
      ...(parts.role === "assistant" && { "Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All" }),
    },
  };
}

/** The mail service refuses longer headers. https://developers.cloudflare.com/email-service/reference/headers/ */
const MAX_HEADER_BYTES = 2_048;

/** The thread's id, and as many of the latest others as the header has room for, oldest first. */
function referencesOf(thread: string, others: readonly string[]): string {
  let left = MAX_HEADER_BYTES - utf8Length(thread);
  const latest: string[] = [];
  for (const id of [...new Set(others)].reverse()) {
    left -= 1 + utf8Length(id);
    if (left < 0) break;
    latest.unshift(id);
  }
  return [thread, ...latest].join(" ");
}

function textOf({ content: written, citations, leftOut = [] }: MailParts): string {
  const content = [written, ...leftOut.map((name) => `[Attachment left out: ${name}]`)].join("\n");
  const pages = new Map(citations.flatMap(({ url, title }) => (typeof url === "string" ? [[url, String(title)] as const] : [])));
  if (pages.size === 0) return `${content}\n`;
  const list = [...pages].map(([url, title]) => `- ${title}: ${url}`);
  return `${content}\n\nSources:\n${list.join("\n")}\n`;
}
