import { and, eq, getTableName, isNotNull, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import {
  agents,
  analyticsChanges,
  analyticsDays,
  answers,
  apiKeys,
  auditLog,
  conversationCounts,
  conversations,
  conversationSpans,
  deliveries,
  deliveryAttempts,
  emailArrivals,
  emailOutbox,
  emailThreads,
  events,
  handoffs,
  idempotencyRecords,
  leadCounts,
  leadDays,
  leads,
  messages,
  privacyErasures,
  sources,
  unansweredQuestionDays,
  unansweredQuestions,
  usagePeriods,
  visitors,
  webhookEndpoints,
  webhookErasures,
  workspaceImports,
  workspaces,
} from "../platform/db/schema.ts";
import { jsonIds } from "../platform/db/sql.ts";

/** A table with rows of a workspace. */
export type WorkspaceTable = SQLiteTable & { workspaceId: SQLiteColumn };

/** Every table with rows of a workspace but its own row, in the order in which they are emptied. */
const WORKSPACE_TABLES = [
  apiKeys,
  deliveryAttempts,
  deliveries,
  events,
  webhookEndpoints,
  webhookErasures,
  emailArrivals,
  emailOutbox,
  emailThreads,
  messages,
  unansweredQuestionDays,
  unansweredQuestions,
  handoffs,
  leads,
  leadCounts,
  leadDays,
  conversations,
  conversationCounts,
  conversationSpans,
  analyticsChanges,
  analyticsDays,
  visitors,
  answers,
  sources,
  agents,
  usagePeriods,
  idempotencyRecords,
  privacyErasures,
  auditLog,
  workspaceImports,
];

/** The names of the tables that an erasure empties; a test holds them against the database's own list. */
export const ERASED_TABLES = WORKSPACE_TABLES.map((table) => getTableName(table));

/** The workspace's deletion mark, if it was deleted and is not erased yet. */
export function findDeleted(db: Database, workspaceId: string) {
  return db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(and(eq(workspaces.id, workspaceId), isNotNull(workspaces.deletedAt)));
}

/** Some conversations of the workspace. */
export function listSomeConversations(db: Database, workspaceId: string, limit: number) {
  return db.select({ id: conversations.id }).from(conversations).where(eq(conversations.workspaceId, workspaceId)).limit(limit);
}

/** Some agents of the workspace. */
export function listSomeAgents(db: Database, workspaceId: string, limit: number) {
  return db.select({ id: agents.id }).from(agents).where(eq(agents.workspaceId, workspaceId)).limit(limit);
}

/** Removes these conversations' rows; what belongs to them goes with its own table. */
export function eraseConversations(db: Database, conversationIds: string[]) {
  return db.delete(conversations).where(sql`${conversations.id} IN ${jsonIds(conversationIds)}`);
}

/** Removes these agents' rows. */
export function eraseAgents(db: Database, agentIds: string[]) {
  return db.delete(agents).where(sql`${agents.id} IN ${jsonIds(agentIds)}`);
}

/** Removes up to `limit` rows of the workspace from each table, all of them by default; each returns what it removed. */
export function eraseSomeRows(db: Database, workspaceId: string, limit: number, tables: readonly WorkspaceTable[] = WORKSPACE_TABLES) {
  return tables.map((table) => {
    const some = sql`(SELECT rowid FROM ${table} WHERE ${table.workspaceId} = ${workspaceId} LIMIT ${limit})`;
    return db
      .delete(table)
      .where(sql`rowid IN ${some}`)
      .returning({ workspaceId: table.workspaceId });
  });
}

/** Removes the workspace's own row: nothing of it is left then. */
export function eraseWorkspace(db: Database, workspaceId: string) {
  return db.delete(workspaces).where(eq(workspaces.id, workspaceId));
}
