import { and, eq, getTableName, inArray, isNotNull, type SQL } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import * as schema from "../platform/db/schema.ts";
import { deleteSome, exists, jsonIds, type TableOf } from "../platform/db/sql.ts";

const { agents, conversations, workspaces } = schema;

/** Every table with rows of a workspace except `workspaces`, in the order of erasure. */
export const WORKSPACE_TABLES = [
  schema.apiKeys,
  schema.memberSessions,
  schema.applications,
  schema.members,
  schema.teams,
  schema.routingRules,
  schema.signInSettings,
  schema.deliveryAttempts,
  schema.deliveries,
  schema.events,
  schema.webhookEndpoints,
  schema.webhookErasures,
  schema.inboundEmails,
  schema.emailOutbox,
  schema.emailThreads,
  schema.messages,
  schema.attachments,
  schema.notes,
  schema.messageFeedback,
  schema.feedbackDays,
  schema.answerDrafts,
  schema.approvals,
  schema.savedReplies,
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
  schema.agentVersions,
  schema.agentVersionCounts,
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

/** Finds a workspace that was deleted and is not erased yet. */
export function findDeletedWorkspace(db: Database, workspaceId: string) {
  return db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(and(eq(workspaces.id, workspaceId), isNotNull(workspaces.deletedAt)));
}

/** SQL condition: the workspace is deleted and not erased yet. It is false once the workspace is imported again. */
export function isDeleted(workspaceId: string): SQL {
  return exists(workspaces, eq(workspaces.id, workspaceId), isNotNull(workspaces.deletedAt));
}

/** Lists some of the workspace's conversations, and some of its agents. Each of them has a Durable Object. */
export function listSomeOwners(db: Database, workspaceId: string, limit: number) {
  const list = (table: typeof conversations | typeof agents) =>
    db.select({ id: table.id }).from(table).where(eq(table.workspaceId, workspaceId)).limit(limit);
  return [list(conversations), list(agents)] as const;
}

/** Erases the rows of these conversations and agents, but not of their messages and other records, if a condition holds. */
export function eraseOwners(db: Database, conversationIds: string[], agentIds: string[], condition: SQL) {
  return [
    db.delete(conversations).where(and(inArray(conversations.id, jsonIds(conversationIds)), condition)),
    db.delete(agents).where(and(inArray(agents.id, jsonIds(agentIds)), condition)),
  ] as const;
}

/** Erases up to `limit` rows of the workspace from each of the tables, if a condition holds. */
export function eraseSomeRows(db: Database, workspaceId: string, limit: number, tables: readonly TableOf[], condition: SQL) {
  return tables.map((table) => {
    const isErased = and(eq(table.workspaceId, workspaceId), condition);
    return deleteSome(db, table, isErased, limit).returning({ workspaceId: table.workspaceId });
  });
}

/** Erases the workspace's own row, which must be the last one, if a condition holds. */
export function eraseWorkspace(db: Database, workspaceId: string, condition: SQL) {
  return db.delete(workspaces).where(and(eq(workspaces.id, workspaceId), condition));
}
