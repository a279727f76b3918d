import { sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { conversations, messageFeedback, messages } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import type { ConversationKey } from "./store.ts";

/** The author of a visitor's ratings. A conversation has one visitor. */
export const BY_VISITOR = "visitor";

/** A rating of an answer. */
export interface Rating {
  id: string;
  messageId: string;
  /** BY_VISITOR, or the id of an API key. */
  author: string;
  rating: "up" | "down";
  comment: string | null;
}

/** Rates an answer of the conversation; a later rating of the same author replaces it. Returns it, unless there is no such answer. */
export function setFeedback(db: Database, { workspaceId, conversationId }: ConversationKey, given: Rating, nowMs: number) {
  const { rating, comment } = given;
  const agentId = sql`(SELECT agent_id FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
  const isAnswer = sql`EXISTS (SELECT 1 FROM ${messages} WHERE id = ${given.messageId} AND workspace_id = ${workspaceId}
    AND conversation_id = ${conversationId} AND role = 'assistant')`;
  const row = { ...given, workspaceId, conversationId, agentId, createdAt: nowMs, updatedAt: nowMs };
  const target = [messageFeedback.workspaceId, messageFeedback.conversationId, messageFeedback.messageId, messageFeedback.author];
  return insertWhere(db, messageFeedback, row, isAnswer)
    .onConflictDoUpdate({ target, set: { rating, comment, updatedAt: nowMs } })
    .returning();
}
