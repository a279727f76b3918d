import type { TakenFiles } from "../attachments/store.ts";
import type { ClientTools } from "../agents/tools.ts";
import type { AnswerSettings } from "../agents/settings-wire.ts";
import type { MetadataFilter } from "../knowledge/search-wire.ts";
import type { HistoryMessage } from "../models/model.ts";
import type { Channel } from "../platform/db/columns.ts";
import { anonIdForEmail } from "../platform/text.ts";
import { monthOf } from "../platform/time.ts";
import type { Limits } from "../workspaces/plans.ts";
import { type VisitorLimit, visitorLimitOf } from "../workspaces/usage-limits.ts";
import type { Asked } from "./wire.ts";

/** The author of a question, as its channel knows them. */
export interface QuestionVisitor {
  anonId: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  /** Whether the identifier is proven, by an API key or a signature. */
  verified: boolean;
  /** Whether name and email are proven too. They then replace the stored ones; otherwise they only fill gaps. */
  isProfileVerified: boolean;
  /** The id of an anonymous visitor who is the same person and is merged into this visitor. */
  joins: string | null;
}

/** Returns an end user of the integrator as the author of a question. The API key proves the identifier and the profile. */
export function apiVisitor({ id, name, email = null }: NonNullable<Asked["user"]>): QuestionVisitor {
  return { anonId: `api:${id}`, externalId: id, name: name || null, email, verified: true, isProfileVerified: true, joins: null };
}

/**
 * Returns the sender or recipient of a mail as a visitor. Nothing proves who reads the mail of an address, so this visitor is never
 * merged with a verified one.
 */
export function mailVisitor({ email, name }: { email: string; name: string | null }): QuestionVisitor {
  const unproven = { externalId: null, verified: false, isProfileVerified: false, joins: null };
  return { anonId: anonIdForEmail(email), name, email, ...unproven };
}

/**
 * One message of a visitor, and the limits under which it is stored. A channel makes it, and the session keeps it until it is
 * stored and answered. Its identifiers never change: it can be sent and attempted repeatedly, and is stored once.
 */
export interface Question {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it starts the conversation. */
  isNew: boolean;
  /** The subject of a new conversation; by default the beginning of the message. */
  subject?: string;
  channel: Channel;
  message: string;
  /** The uploaded files that the message carries; undefined if it carries none. */
  files?: TakenFiles;
  visitor: QuestionVisitor | null;
  /** Messages before a new conversation, as the caller reports them, oldest first. The model reads them; they are not stored. */
  earlier?: HistoryMessage[];
  /** Only passages with this metadata are used for the answer. */
  filter?: MetadataFilter;
  /** The client tools that the caller runs; undefined if it runs none. */
  clientTools?: ClientTools;
  /** Settings that replace the agent's for this answer, while the team tries others out. */
  settings?: AnswerSettings;
  /** The version of the agent that answers, if it is not the published one or one that is rolled out. */
  version?: "draft";
  quota: Quota;
  /** How many messages a conversation may have. */
  maxMessages: number;
  /** How many messages visitors may send; undefined if their number is not limited. */
  messageLimit?: VisitorLimit;
  /** How many leads the agent's tool may add. */
  leadLimit: VisitorLimit;
  questionId: string;
  answerId: string;
  /** The id of the visitor's row, if they have none yet. */
  visitorId: string;
  /** When it was asked, in Unix milliseconds. */
  nowMs: number;
}

/** The month's message quota of a workspace. */
export interface Quota {
  period: string;
  limit: number;
}

/** Returns the message quota of the month that a time falls into. */
export function monthlyQuota(limits: Limits, nowMs: number): Quota {
  return { period: monthOf(nowMs), limit: limits.messages };
}

/** Returns the limits under which a question is stored. @param sender a hash of the sender; null if no single sender is limited. */
export function questionLimits(limits: Limits, nowMs: number, sender: string | null = null) {
  return {
    quota: monthlyQuota(limits, nowMs),
    maxMessages: limits.messages_per_conversation,
    messageLimit: visitorLimitOf(limits, "messages", sender),
    leadLimit: visitorLimitOf(limits, "leads", sender),
  };
}

/** Limits the stored part of each question. Longer questions with the same beginning count as one. */
const MAX_KEY_CHARACTERS = 200;

/** Returns the key by which analytics counts equal questions: the letters and digits in lower case, without punctuation. */
export function questionKeyOf(question: string): string {
  const plain = question.normalize("NFKC").toLowerCase();
  const words = plain.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim();
  // A question without letters and digits, such as "???" or an emoji, is its own key.
  return Array.from(words || plain.trim())
    .slice(0, MAX_KEY_CHARACTERS)
    .join("");
}

/** Returns a stored message as the model reads it. */
export function toHistoryMessage({ role, content }: { role: string; content: string }): HistoryMessage {
  return { role: role === "user" ? "visitor" : "agent", text: content };
}

/** Lists what the visitor wrote, oldest first. */
export function visitorMessagesIn(history: readonly HistoryMessage[]): string[] {
  return history.filter(({ role }) => role === "visitor").map(({ text }) => text);
}
