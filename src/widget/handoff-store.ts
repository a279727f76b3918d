import { type SQL, sql } from "drizzle-orm";
import type { ConversationKey } from "../conversations/moves-store.ts";
import { HANDOFF_SUMMARY_LENGTH } from "../conversations/status.ts";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { messages } from "../db/schema.ts";
import { IF_CHANGED } from "../webhooks/events-store.ts";

/** Tells the visitor in the transcript, if the statement before handed the conversation over. Nobody's words, so nobody's reply. */
export function addNotice(
  db: Database,
  { workspaceId, conversationId }: ConversationKey,
  notice: { id: string; content: string; nowMs: number },
) {
  const row = {
    id: notice.id,
    workspaceId,
    conversationId,
    role: "system" as const,
    authorType: "system" as const,
    content: notice.content,
    needsHuman: true,
    createdAt: notice.nowMs,
  };
  return insertWhere(db, messages, row, IF_CHANGED);
}

/** What the visitor last wrote, and which message it is: the cause of a hand-off that they ask for. */
export function lastQuestion({ workspaceId, conversationId }: ConversationKey): { summary: SQL; triggerMessageId: SQL } {
  const last = sql`FROM ${messages} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversationId} AND role = 'user'
    ORDER BY id DESC LIMIT 1`;
  return { summary: sql`(SELECT substr(content, 1, ${HANDOFF_SUMMARY_LENGTH}) ${last})`, triggerMessageId: sql`(SELECT id ${last})` };
}
