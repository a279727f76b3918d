import type { AnswerSettings } from "../agents/settings-wire.ts";
import type { MetadataFilter } from "../knowledge/search-wire.ts";
import type { HistoryMessage } from "../models/model.ts";
import type { Channel } from "../platform/db/columns.ts";
import type { VisitorLimit } from "../workspaces/visitor-limits.ts";

/** A visitor, as the channel of their message knows them. */
export interface QuestionVisitor {
  anonId: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  /** Whether the identifier is proven, by an API key or a signature. */
  verified: boolean;
  /** Whether name and email are proven too: they replace what is known then, and only fill gaps otherwise. */
  isProfileVerified: boolean;
  /** The id of the anonymous visitor that turns out to be this one, and is merged into it. */
  joins: string | null;
}

/** An end user of the integrator. The API key proves the profile too. */
export function apiVisitor({
  id,
  name,
  email,
}: {
  id: string;
  name?: string | null | undefined;
  email?: string | null | undefined;
}): QuestionVisitor {
  const isVerified = { verified: true, isProfileVerified: true, joins: null };
  return { anonId: `api:${id}`, externalId: id, name: name ?? null, email: email ?? null, ...isVerified };
}

/**
 * One message of a visitor, and the limits under which it is stored. A channel makes it, and the session keeps it until it is
 * stored and answered. Its identifiers never change, so that it can be sent and attempted repeatedly, and is stored once.
 */
export interface Question {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it starts the conversation. */
  isNew: boolean;
  /** The subject of a new conversation, on channels that have one. */
  subject?: string;
  channel: Channel;
  message: string;
  visitor: QuestionVisitor | null;
  /** The messages before a new conversation, as the caller reports them, oldest first. The model reads them; they are not stored. */
  earlier?: HistoryMessage[];
  /** The metadata that passages must have to be used for the answer. */
  filter?: MetadataFilter;
  /** Settings that replace the agent's for this answer, while the team tries others out. */
  settings?: AnswerSettings;
  quota: { period: string; limit: number };
  /** How many messages a conversation may have. */
  maxMessages: number;
  /** How many messages visitors may send; undefined over the API. */
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

/** Longer questions count as the same when they start the same, which bounds what is stored of each. */
const MAX_KEY_CHARACTERS = 200;

/** Equal for questions that analytics counts as one: those with the same letters and digits, whatever case and punctuation. */
export function questionKeyOf(question: string): string {
  const plain = question.normalize("NFKC").toLowerCase();
  const words = plain.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim();
  // A question without letters and digits, "???" or an emoji, is its own key.
  return Array.from(words || plain.trim())
    .slice(0, MAX_KEY_CHARACTERS)
    .join("");
}
