import { oneLineOf } from "../cut.ts";
import { replyAddress, threadId } from "./address.ts";

/** Everything that a mail of a conversation is made of. */
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
  /** Names the conversation. */
  token: string;
}

/** As much of an agent's name as a mail program shows. */
const MAX_NAME_LENGTH = 120;
const REPLY_PREFIX = /^(re|aw|sv|antw|ré|res)\s?(\[\d+\])?:/i;

/** A message as mail: it stands in the visitor's thread, and answers to it find their way back to the conversation. */
export function composeMail(parts: MailParts): EmailMessageBuilder {
  const { mailbox, address, subject, token, lastMessageId } = parts;
  // It is whatever its workspace wrote, and goes into headers.
  const name = oneLineOf(parts.agentName, MAX_NAME_LENGTH);
  const replyTo = replyAddress(mailbox, token);
  const references = [...new Set([threadId(mailbox, token), ...parts.earlierIds, ...(lastMessageId ? [lastMessageId] : [])])];
  return {
    from: { email: mailbox, name },
    to: address,
    ...(replyTo && { replyTo: { email: replyTo, name } }),
    subject: REPLY_PREFIX.test(subject) ? subject : `Re: ${subject}`,
    text: textOf(parts),
    headers: {
      ...(lastMessageId && { "In-Reply-To": lastMessageId }),
      References: references.join(" "),
      // RFC 3834: other programs must not answer what a program wrote.
      ...(parts.role === "assistant" && { "Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All" }),
    },
  };
}

function textOf({ content, citations }: MailParts): string {
  const pages = new Map(citations.flatMap(({ url, title }) => (typeof url === "string" ? [[url, String(title)] as const] : [])));
  if (pages.size === 0) return `${content}\n`;
  const list = [...pages].map(([url, title]) => `- ${title}: ${url}`);
  return `${content}\n\nSources:\n${list.join("\n")}\n`;
}
