import { type Column, getTableColumns, getTableName, isNotNull, isNull, type SQL } from "drizzle-orm";
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from "drizzle-orm/sqlite-core";
import type { WorkspaceTable } from "../operator/erasure-store.ts";
import {
  agents,
  analyticsDays,
  answers,
  apiKeys,
  auditLog,
  conversations,
  deliveries,
  deliveryAttempts,
  emailOutbox,
  emailThreads,
  events,
  handoffs,
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
  workspaces,
} from "../platform/db/schema.ts";

/** Rows of a table, ordered by `key`: an index holds the workspace's id and these columns. */
export interface RowsPart {
  kind: "rows" | "counts";
  table: WorkspaceTable;
  key: readonly [Column, ...Column[]];
  only?: SQL;
}

/** A part of an export: rows of a table, the content of the agents' knowledge objects, or the workspace's own row. */
export type Part = RowsPart | { kind: "knowledge" } | { kind: "workspace" };

const rows = (table: WorkspaceTable, ...key: RowsPart["key"]): RowsPart => ({ kind: "rows", table, key });
/** Counts that triggers update. They include deleted rows, so an import replaces what was counted while it added rows. */
const counts = (table: WorkspaceTable, ...key: RowsPart["key"]): RowsPart => ({ kind: "counts", table, key });

/**
 * Everything that is exported, in the order of import. Rows that triggers count in a parent row come before the parent, so
 * that its counts stay as exported. What the sweep works on comes last.
 */
export const PARTS: readonly Part[] = [
  rows(apiKeys, apiKeys.id),
  rows(deliveryAttempts, deliveryAttempts.deliveryId, deliveryAttempts.number),
  rows(deliveries, deliveries.webhookId, deliveries.id),
  rows(events, events.id),
  rows(messages, messages.conversationId, messages.id),
  rows(handoffs, handoffs.conversationId, handoffs.id),
  rows(leads, leads.createdAt, leads.id),
  rows(visitors, visitors.anonId),
  // Two ranges of one index, because a row comparison with null is never true.
  { ...rows(conversations, conversations.id), only: isNull(conversations.visitorId) },
  { ...rows(conversations, conversations.visitorId, conversations.id), only: isNotNull(conversations.visitorId) },
  // After the messages: a trigger adds the messages of a thread to the outbox.
  rows(emailOutbox, emailOutbox.conversationId, emailOutbox.messageId),
  rows(emailThreads, emailThreads.conversationId),
  rows(webhookEndpoints, webhookEndpoints.id),
  rows(sources, sources.agentId, sources.id),
  rows(answers, answers.agentId, answers.id),
  rows(agents, agents.id),
  { kind: "knowledge" },
  rows(auditLog, auditLog.id),
  rows(webhookErasures, webhookErasures.id),
  rows(privacyErasures, privacyErasures.id),
  counts(usagePeriods, usagePeriods.period),
  counts(analyticsDays, analyticsDays.agentId, analyticsDays.day),
  counts(unansweredQuestions, unansweredQuestions.agentId, unansweredQuestions.questionKey),
  counts(unansweredQuestionDays, unansweredQuestionDays.agentId, unansweredQuestionDays.questionKey, unansweredQuestionDays.day),
  { kind: "workspace" },
];

/** Every other table, with the reason why it is not exported. */
export const NOT_EXPORTED: Record<string, string> = {
  shards: "counts workspaces, by a trigger",
  workspace_directory: "an import claims the slug in its header",
  email_directory: "an import claims the addresses of the agents",
  workspace_imports: "state of a deployment, not of a workspace",
  idempotency_records: "pruned after a day; a request repeated after a move is processed again",
  email_arrivals: "pruned after days; a mail received again after a move is answered again",
  conversation_counts: "a trigger counts conversations as they are imported",
  conversation_spans: "a trigger counts conversations by last activity",
  lead_counts: "a trigger counts leads",
  lead_days: "a trigger counts leads by day",
  analytics_changes: "always empty",
};

/** The record type of a row in an agent's knowledge object. */
export const KNOWLEDGE = "knowledge";
/** The record type of the workspace's own row. */
export const WORKSPACE = getTableName(workspaces);

export const ROWS_PARTS: readonly RowsPart[] = PARTS.filter((part): part is RowsPart => "table" in part);
const PART_OF = new Map(ROWS_PARTS.map((part) => [getTableName(part.table), part]));

/** The part with records of this type, if it is a table. */
export function partOf(type: string): RowsPart | undefined {
  return PART_OF.get(type);
}

export const COUNTS_TABLES = ROWS_PARTS.flatMap((part) => (part.kind === "counts" ? [part.table] : []));

/** `outdatedUseAt` depends on the secrets of the deployment. */
const NOT_EXPORTED_COLUMNS: ReadonlySet<SQLiteColumn> = new Set([apiKeys.outdatedUseAt]);

/** The exported columns of a table, with their names in the schema. */
export function propertiesOf(table: SQLiteTable): [property: string, column: SQLiteColumn][] {
  const all = Object.entries(getTableColumns(table)) as [string, SQLiteColumn][];
  return all.filter(([, column]) => !NOT_EXPORTED_COLUMNS.has(column));
}

/** The exported columns of a table. */
export function columnsOf(table: SQLiteTable): SQLiteColumn[] {
  return propertiesOf(table).map(([, column]) => column);
}

export function primaryKeyOf(table: SQLiteTable): SQLiteColumn[] {
  const [composite] = getTableConfig(table).primaryKeys;
  return composite?.columns ?? columnsOf(table).filter((column) => column.primary);
}

/** The columns that refer to another table, by name. */
const REFERENCES: Record<string, WorkspaceTable & { id: SQLiteColumn }> = {
  agent_id: agents,
  conversation_id: conversations,
  visitor_id: visitors,
  begun_by: visitors,
  merged_into: visitors,
  webhook_id: webhookEndpoints,
  delivery_id: deliveries,
  event_id: events,
  lead_id: leads,
  message_id: messages,
  trigger_message_id: messages,
  context_after: messages,
};

/** Whether a column holds an identifier that the service generated. */
export function isIdentifier(column: string): boolean {
  return column === "id" || REFERENCES[column] !== undefined;
}

/** The references of a table, by column index. Triggers and joins follow them, so they must stay within the workspace. */
export function referencesOf(table: SQLiteTable) {
  return columnsOf(table).flatMap((column, at) => {
    const target = REFERENCES[column.name];
    return target ? [{ at, target }] : [];
  });
}

/** The tables with encrypted secrets. */
export const WITH_SECRETS: ReadonlySet<string> = new Set([agents, webhookEndpoints, privacyErasures].map(getTableName));
