import type { Attachment } from "../shared/attachments.ts";
import type { ApiMessage, Citation } from "./api.ts";

/** A message in the list. */
export interface Message {
  /** Stays the same when the service assigns the id. */
  key: string;
  id: string | null;
  role: "user" | "assistant" | "human" | "system";
  content: string;
  citations: Citation[];
  attachments: readonly Attachment[];
  author: string | null;
  /** False for messages of others than the agent, and for an answer that hands over to a human. */
  canRate: boolean;
  atMs: number;
  /** Undefined once the service has the message. */
  state?: "sending" | "failed";
}

/** Returns a message that the service has not stored yet. */
export function localMessage(key: string, role: Message["role"], content: string): Message {
  return { key, id: null, role, content, citations: [], attachments: [], author: null, canRate: false, atMs: Date.now() };
}

/** Returns a message of the service. */
export function toMessage({
  id,
  role,
  content,
  citations,
  attachments,
  author,
  needs_human: isHandOff,
  created_at: at,
}: ApiMessage): Message {
  const canRate = role === "assistant" && !isHandOff;
  return { key: id, id, role, content, citations, attachments, author: author.name, canRate, atMs: Date.parse(at) };
}
