import { and, desc, eq, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { conversations, handoffs, messages, visitors } from "../db/schema.ts";

/** The conversation, if it is the workspace's. */
export function findConversation(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select()
    .from(conversations)
    .where(and(eq(conversations.id, conversationId), eq(conversations.workspaceId, workspaceId)));
}

/** The visitor whose conversation it is. */
export function findConversationVisitor(db: Database, workspaceId: string, conversationId: string) {
  const visitorId = sql`(SELECT visitor_id FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
  return db
    .select()
    .from(visitors)
    .where(and(eq(visitors.id, visitorId), eq(visitors.workspaceId, workspaceId)));
}

/** The conversation's latest hand-off. */
export function findLatestHandoff(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select()
    .from(handoffs)
    .where(and(eq(handoffs.workspaceId, workspaceId), eq(handoffs.conversationId, conversationId)))
    .orderBy(desc(handoffs.id))
    .limit(1);
}

/** The whole transcript, oldest first. */
export function listMessages(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.workspaceId, workspaceId), eq(messages.conversationId, conversationId)))
    .orderBy(messages.id);
}
