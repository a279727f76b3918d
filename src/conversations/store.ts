import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { compiled } from "../db/compiled.ts";
import { conversations, handoffs, messages, visitors } from "../db/schema.ts";

/** One conversation of one workspace. */
type Key = { workspaceId: string; conversationId: string };

/** The conversation, if it is the workspace's. */
export function findConversation(db: Database, workspaceId: string, conversationId: string) {
  return oneConversation(db, { workspaceId, conversationId });
}

const conversationColumns = getTableColumns(conversations);
const oneConversation = compiled<typeof conversationColumns, Key>(conversationColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(conversations)
    .where(and(eq(conversations.id, param("conversationId")), eq(conversations.workspaceId, param("workspaceId")))),
);

/** The visitor whose conversation it is. */
export function findConversationVisitor(db: Database, workspaceId: string, conversationId: string) {
  return visitorOf(db, { workspaceId, conversationId });
}

const visitorColumns = getTableColumns(visitors);
const visitorOf = compiled<typeof visitorColumns, Key>(visitorColumns, (db, fields, param) => {
  const theirs = sql`SELECT visitor_id FROM ${conversations} WHERE id = ${param("conversationId")} AND workspace_id = ${param("workspaceId")}`;
  return db
    .select(fields)
    .from(visitors)
    .where(and(eq(visitors.id, sql`(${theirs})`), eq(visitors.workspaceId, param("workspaceId"))));
});

/** The conversation's latest hand-off. */
export function findLatestHandoff(db: Database, workspaceId: string, conversationId: string) {
  return latestHandoff(db, { workspaceId, conversationId });
}

const handoffColumns = getTableColumns(handoffs);
const latestHandoff = compiled<typeof handoffColumns, Key>(handoffColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(handoffs)
    .where(and(eq(handoffs.workspaceId, param("workspaceId")), eq(handoffs.conversationId, param("conversationId"))))
    .orderBy(desc(handoffs.id))
    .limit(1),
);

/** The whole transcript, oldest first. */
export function listMessages(db: Database, workspaceId: string, conversationId: string) {
  return transcript(db, { workspaceId, conversationId });
}

const messageColumns = getTableColumns(messages);
const transcript = compiled<typeof messageColumns, Key>(messageColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(messages)
    .where(and(eq(messages.workspaceId, param("workspaceId")), eq(messages.conversationId, param("conversationId"))))
    .orderBy(messages.id),
);
