import { and, eq, getTableName, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import * as schema from "../platform/db/schema.ts";
import { deleteSome, jsonIds, type TableOf } from "../platform/db/sql.ts";

/** Every table with rows of a workspace except `workspaces`, in the order of erasure. */
const WORKSPACE_TABLES = [
  schema.apiKeys,
  schema.deliveryAttempts,
  schema.deliveries,
  schema.events,
  schema.webhookEndpoints,
  schema.webhookErasures,
  schema.emailArrivals,
  schema.emailOutbox,
  schema.emailThreads,
  schema.messages,
  schema.notes,
  schema.messageFeedback,
  schema.feedbackDays,
  schema.answerDrafts,
  schema.unansweredQuestionDays,
  schema.unansweredQuestions,
  schema.handoffs,
  schema.leads,
  schema.leadCounts,
  schema.leadDays,
  schema.conversations,
  schema.conversationCounts,
  schema.conversationSpans,
  schema.analyticsChanges,
  schema.analyticsDays,
  schema.analyticsSpans,
  schema.visitors,
  schema.evaluationCases,
  schema.evaluations,
  schema.answers,
  schema.sources,
  schema.agents,
  schema.usagePeriods,
  schema.visitorCounts,
  schema.idempotencyRecords,
  schema.privacyErasures,
  schema.auditLog,
  schema.workspaceImports,
];

/** The names of these tables; a test compares them with the database's schema. */
export const ERASED_TABLES = WORKSPACE_TABLES.map((table) => getTableName(table));

/** A workspace that was deleted and is not erased yet. */
export function findDeletedWorkspace(db: Database, workspaceId: string) {
  return db
    .select({ id: schema.workspaces.id })
    .from(schema.workspaces)
    .where(and(eq(schema.workspaces.id, workspaceId), isNotNull(schema.workspaces.deletedAt)));
}

export function listSomeConversations(db: Database, workspaceId: string, limit: number) {
  const { conversations } = schema;
  return db.select({ id: conversations.id }).from(conversations).where(eq(conversations.workspaceId, workspaceId)).limit(limit);
}

export function listSomeAgents(db: Database, workspaceId: string, limit: number) {
  const { agents } = schema;
  return db.select({ id: agents.id }).from(agents).where(eq(agents.workspaceId, workspaceId)).limit(limit);
}

/** Erases the rows of these conversations, but not of their messages and other records. */
export function eraseConversations(db: Database, conversationIds: string[]) {
  return db.delete(schema.conversations).where(sql`${schema.conversations.id} IN ${jsonIds(conversationIds)}`);
}

export function eraseAgents(db: Database, agentIds: string[]) {
  return db.delete(schema.agents).where(sql`${schema.agents.id} IN ${jsonIds(agentIds)}`);
}

/** Erases up to `limit` rows of the workspace from each of the tables, by default all tables, if a condition holds. */
export function eraseSomeRows(
  db: Database,
  workspaceId: string,
  limit: number,
  tables: readonly TableOf[] = WORKSPACE_TABLES,
  condition?: SQL,
) {
  return tables.map((table) => {
    const isErased = and(eq(table.workspaceId, workspaceId), condition);
    return deleteSome(db, table, isErased, limit).returning({ workspaceId: table.workspaceId });
  });
}

/** Erases the workspace's own row, the last one. */
export function eraseWorkspace(db: Database, workspaceId: string) {
  return db.delete(schema.workspaces).where(eq(schema.workspaces.id, workspaceId));
}
