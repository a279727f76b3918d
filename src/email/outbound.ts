import { rotating } from "../config.ts";
import { dbFor, isBoundShard } from "../db/client.ts";
import { Meter } from "../meter.ts";
import { logProblem } from "../telemetry/log.ts";
import { mintThreadToken } from "./address.ts";
import { composeMail } from "./compose.ts";
import { claimMail, findMail, noteMail } from "./store.ts";
import type { EmailMessage } from "./wake.ts";

/** How a wake-up ended; a mail that is put off is tried again at its time. */
type MailOutcome = "nothing_to_do" | "sent" | "put_off" | "given_up";

/** Waits before a mail is tried again: about a day in all, as mail servers do. */
const RETRY_AFTER_MINUTES = [1, 5, 30, 120, 360, 960];
/** Longer than the mail service takes to accept a mail. */
const LEASE_MS = 2 * 60_000;
/** What may pass: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/ lists the codes. */
const TRANSIENT_CODES = new Set([
  "E_RATE_LIMIT_EXCEEDED",
  "E_DAILY_LIMIT_EXCEEDED",
  "E_INTERNAL_SERVER_ERROR",
  "E_DELIVERY_FAILED",
  "E_UNKNOWN",
]);

/**
 * Sends a message as mail, if it waits to be sent. The same wake-up twice sends once; a run that dies between sending and
 * noting it sends again, for mail knows no better.
 */
export async function sendMail(env: Env, { messageId }: EmailMessage, nowMs = Date.now(), meter = new Meter()): Promise<MailOutcome> {
  if (!isBoundShard(env, messageId)) return "nothing_to_do";
  const db = dbFor(env, messageId, meter);
  const leaseUntilMs = nowMs + LEASE_MS;
  const [[claimed], [parts]] = await db.batch([claimMail(db, messageId, leaseUntilMs, nowMs), findMail(db, messageId)]);
  if (!claimed) return "nothing_to_do";
  const note = (changes: Parameters<typeof noteMail>[3]) => db.batch([noteMail(db, messageId, leaseUntilMs, changes)]);
  if (!parts?.mailbox) {
    await note({ status: "failed", error: "no_mailbox" });
    return "given_up";
  }
  const token = await mintThreadToken(parts.conversationId, rotating(env.KEY_SECRET)[0]);
  const error = await trySend(env, composeMail({ ...parts, mailbox: parts.mailbox, token }));
  const waitMinutes = RETRY_AFTER_MINUTES[claimed.attemptCount - 1];
  if (error === undefined) {
    await note({ status: "sent", error: null });
    return "sent";
  }
  logProblem("email_refused", { message_id: messageId, attempts: claimed.attemptCount, error });
  const isGivenUp = !TRANSIENT_CODES.has(error) || waitMinutes === undefined;
  await note(isGivenUp ? { status: "failed", error } : { error, nextAttemptAt: nowMs + waitMinutes * 60_000 });
  return isGivenUp ? "given_up" : "put_off";
}

/** @returns the mail service's code when it did not take the mail. */
async function trySend(env: Env, mail: EmailMessageBuilder): Promise<string | undefined> {
  try {
    await env.EMAIL.send(mail);
    return undefined;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    return typeof code === "string" && /^E_[A-Z_]{1,60}$/.test(code) ? code : "E_UNKNOWN";
  }
}
