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

/** Some rows of a table, and the columns that they are read in the order of: an index has them after the workspace's id. */
export interface RowsPart {
  kind: "rows" | "counts";
  table: WorkspaceTable;
  key: readonly [Column, ...Column[]];
  only?: SQL;
}

/** What an export holds, one part after the other: rows of a table, what the agents' objects hold, the workspace's own row. */
export type Part = RowsPart | { kind: "knowledge" } | { kind: "workspace" };

const rows = (table: WorkspaceTable, ...key: RowsPart["key"]): RowsPart => ({ kind: "rows", table, key });
/** Kept by triggers, and telling of more than the rows that are there: an import puts them in the place of what its own rows were counted to. */
const counts = (table: WorkspaceTable, ...key: RowsPart["key"]): RowsPart => ({ kind: "counts", table, key });

/**
 * All that is exported, in the order of an import. What is counted for a parent comes before the parent, so that its
 * trigger finds none and the parent's own numbers stay as they were; what a sweep acts on comes last.
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
  // Two ranges of one index: a place in an order cannot be told from a null.
  { ...rows(conversations, conversations.id), only: isNull(conversations.visitorId) },
  { ...rows(conversations, conversations.visitorId, conversations.id), only: isNotNull(conversations.visitorId) },
  // After the messages: a trigger puts those of a thread into the outbox.
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

/** Every other table, with the reason why no export holds it. */
export const NOT_EXPORTED: Record<string, string> = {
  shards: "counts workspaces; a trigger keeps it",
  workspace_directory: "the import takes the slug of the workspace's record",
  email_directory: "the import takes the addresses of the agents' records",
  workspace_imports: "tells of a deployment, not of a workspace",
  idempotency_records: "kept for a day, and pruned; a request that is repeated across a move is done again",
  email_arrivals: "kept for days, and pruned; a mail that comes again across a move is answered again",
  conversation_counts: "a trigger counts the conversations as they come in, so that lists tell how many there are",
  conversation_spans: "the same, by the time of their last activity",
  lead_counts: "the same, of leads",
  lead_days: "the same, by day",
  analytics_changes: "never holds a row",
};

/** The record type of what the agents' objects hold: one row of one of an object's tables. */
export const KNOWLEDGE = "knowledge";
/** The record type of the workspace's own row. */
export const WORKSPACE = getTableName(workspaces);

/** The parts that are tables. */
export const ROWS_PARTS: readonly RowsPart[] = PARTS.filter((part): part is RowsPart => "table" in part);
const PART_OF = new Map(ROWS_PARTS.map((part) => [getTableName(part.table), part]));

/** The part that records of this type belong to; undefined where there is no such table. */
export function partOf(type: string): RowsPart | undefined {
  return PART_OF.get(type);
}

/** The tables of counts. */
export const COUNTS_TABLES = ROWS_PARTS.flatMap((part) => (part.kind === "counts" ? [part.table] : []));

/** Tells of a deployment: there the key's secret is no longer the first. */
const NOT_EXPORTED_COLUMNS: ReadonlySet<SQLiteColumn> = new Set([apiKeys.outdatedUseAt]);

/** The columns of a table that are exported, in the order of a record, each after its name in the schema. */
export function propertiesOf(table: SQLiteTable): [property: string, column: SQLiteColumn][] {
  const all = Object.entries(getTableColumns(table)) as [string, SQLiteColumn][];
  return all.filter(([, column]) => !NOT_EXPORTED_COLUMNS.has(column));
}

/** The columns alone. */
export function columnsOf(table: SQLiteTable): SQLiteColumn[] {
  return propertiesOf(table).map(([, column]) => column);
}

/** The columns of a table's primary key. */
export function primaryKeyOf(table: SQLiteTable): SQLiteColumn[] {
  const [composite] = getTableConfig(table).primaryKeys;
  return composite?.columns ?? columnsOf(table).filter((column) => column.primary);
}

/** Columns that name a record of another table, by their names. */
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

/** Whether a column holds an identifier that the service made. */
export function isIdentifier(column: string): boolean {
  return column === "id" || REFERENCES[column] !== undefined;
}

/** Which records a table's rows name: triggers and joins follow them, so they must not be another workspace's. */
export function referencesOf(table: SQLiteTable) {
  return columnsOf(table).flatMap((column, at) => {
    const target = REFERENCES[column.name];
    return target ? [{ at, target }] : [];
  });
}

/** Where stored secrets stand: their key's id tells whether a deployment can read them. */
export const WITH_SECRETS: ReadonlySet<string> = new Set([agents, webhookEndpoints, privacyErasures].map(getTableName));
