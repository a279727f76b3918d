import type { Email } from "postal-mime";
import { isMailAddress } from "./address.ts";

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
export function ignoredBecause(mail: Email, envelopeFrom: string, ownMailbox: string): string | undefined {
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
