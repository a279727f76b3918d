import { mailSender } from "./config.ts";
import { logProblem } from "./telemetry/log.ts";

const SENDER_NAME = "Support Agent Service";

/** Sends a mail. @returns the error code of the mail service; undefined if it accepted the mail. */
export async function trySend(env: Env, mail: EmailMessageBuilder): Promise<string | undefined> {
  try {
    await env.EMAIL.send(mail);
    return undefined;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    return typeof code === "string" && /^E_[A-Z_]{1,60}$/.test(code) ? code : "E_UNKNOWN";
  }
}

/** A mail that the service itself writes. */
export interface ServiceMail {
  to: string;
  /** One line. */
  subject: string;
  text: string;
}

/** Sends a mail of the service itself, once. @returns whether the mail service accepted it; false if no sender is configured. */
export async function sendServiceMail(env: Env, { to, subject, text }: ServiceMail): Promise<boolean> {
  const sender = mailSender(env);
  if (sender === undefined) return false;
  // RFC 3834: asks other programs not to reply.
  const headers = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" };
  const error = await trySend(env, { from: { email: sender, name: SENDER_NAME }, to, subject, text, headers });
  if (error !== undefined) logProblem("service_mail_refused", { error });
  return error === undefined;
}
