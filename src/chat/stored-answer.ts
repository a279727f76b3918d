import type { Citation } from "../conversations/reply-wire.ts";
import type { ConversationStatus, HandoffReason } from "../platform/db/columns.ts";
import type { messages } from "../platform/db/schema.ts";
import type { ChatAnswer } from "./wire.ts";

/** A stored answer, with the reason of the hand-off that it announced. */
export type StoredAnswer = typeof messages.$inferSelect & { handoffReason: HandoffReason | null };

/** A stored answer on the wire, as it was first given; `status` is the conversation's current status. */
export function toChatAnswer(stored: StoredAnswer, status: ConversationStatus): ChatAnswer {
  const { id, conversationId, content, confidence, needsHuman } = stored;
  const fields = { answer: content, citations: stored.citations as Citation[], confidence: confidence ?? 0, needs_human: needsHuman };
  return { ...fields, conversation_id: conversationId, message_id: id, status, handoff_reason: needsHuman ? stored.handoffReason : null };
}
