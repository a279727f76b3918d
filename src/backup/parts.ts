import { type Column, getTableColumns, getTableName, type SQL } from "drizzle-orm";
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from "drizzle-orm/sqlite-core";
import * as schema from "../platform/db/schema.ts";
import type { TableOf } from "../platform/db/sql.ts";

/**
 * Rows of a table in the order of `key`. An index holds the workspace's id and these columns. Their values never change, because an
 * export of a workspace in use would otherwise contain a row twice, or not at all.
 */
export interface RowsPart {
  kind: "rows" | "counts";
  table: TableOf;
  key: readonly Column[];
  /** The condition of the index, if that is partial. */
  only?: SQL;
}

/** A part of an export: rows of a table, the content of the agents' knowledge objects, the bytes of attachments, or the workspace's own row. */
export type Part = RowsPart | { kind: "knowledge" } | { kind: "files" } | { kind: "workspace" };

const rows = <Table extends TableOf>(table: Table, ...key: (keyof Table["_"]["columns"] & string)[]) => partOfTable("rows", table, key);
/** Counts that triggers update. They include deleted rows, so an import replaces what was counted while it added rows. */
const counts = <Table extends TableOf>(table: Table, ...key: (keyof Table["_"]["columns"] & string)[]) => partOfTable("counts", table, key);

function partOfTable(kind: RowsPart["kind"], table: TableOf, key: string[]): RowsPart {
  return { kind, table, key: key.map((name) => getTableColumns(table)[name]!) };
}

/**
 * Everything that is exported, in the order of the import. Rows that triggers count in a parent row come before the parent, so
 * that its counts stay as exported. The rows with work for the sweep come last.
 */
export const PARTS: readonly Part[] = [
  rows(schema.apiKeys, "id"),
  rows(schema.members, "id"),
  rows(schema.teams, "id"),
  rows(schema.routingRules, "id"),
  rows(schema.signInSettings, "id"),
  rows(schema.deliveryAttempts, "deliveryId", "number"),
  rows(schema.deliveries, "webhookId", "id"),
  rows(schema.events, "id"),
  rows(schema.messages, "conversationId", "createdAt", "id"),
  rows(schema.attachments, "id"),
  rows(schema.notes, "conversationId", "createdAt", "id"),
  rows(schema.messageFeedback, "conversationId", "messageId", "author"),
  rows(schema.handoffs, "conversationId", "id"),
  rows(schema.answerDrafts, "agentId", "id"),
  rows(schema.approvals, "conversationId", "id"),
  rows(schema.savedReplies, "id"),
  rows(schema.leads, "createdAt", "id"),
  rows(schema.visitors, "anonId"),
  { ...rows(schema.conversations, "id"), only: schema.EVERY_CONVERSATION },
  // The outbox comes after the messages, because a trigger adds the messages of a thread to it.
  rows(schema.emailOutbox, "conversationId", "messageId"),
  rows(schema.emailThreads, "conversationId"),
  rows(schema.webhookEndpoints, "id"),
  rows(schema.sources, "agentId", "id"),
  rows(schema.answers, "agentId", "id"),
  rows(schema.evaluationCases, "evaluationId", "position"),
  rows(schema.evaluations, "agentId", "id"),
  rows(schema.agentVersions, "agentId", "number"),
  rows(schema.agents, "id"),
  { kind: "knowledge" },
  { kind: "files" },
  rows(schema.auditLog, "id"),
  rows(schema.webhookErasures, "id"),
  rows(schema.privacyErasures, "id"),
  counts(schema.visitorCounts, "flow", "startsAt", "sender"),
  counts(schema.usagePeriods, "period"),
  counts(schema.analyticsDays, "agentId", "day"),
  counts(schema.agentVersionCounts, "agentId", "version"),
  counts(schema.unansweredQuestions, "agentId", "questionKey"),
  counts(schema.unansweredQuestionDays, "agentId", "questionKey", "day"),
  { kind: "workspace" },
];

/** Every other table, with the reason why it is not exported. */
export const NOT_EXPORTED: Record<string, string> = {
  shards: "counts workspaces, by a trigger",
  shard_moves: "state of a deployment, not of a workspace",
  shard_copies: "state of a deployment, not of a workspace",
  shard_changes: "state of a deployment, not of a workspace",
  workspace_directory: "an import claims the slug in its header",
  email_directory: "an import claims the addresses of the agents",
  sweep_backoffs: "state of the cron",
  operator_audit: "what the operators of a deployment did; it outlives the workspace",
  member_sessions: "members sign in again",
  applications: "members connect them again",
  oauth_records: "applications register again",
  workspace_imports: "state of a deployment, not of a workspace",
  idempotency_records: "pruned after a day; a request repeated after a move is processed again",
  inbound_emails: "pruned after days; a mail received again after a move is answered again",
  conversation_counts: "a trigger counts conversations as they are imported",
  conversation_spans: "a trigger counts conversations by last activity",
  lead_counts: "a trigger counts leads",
  lead_days: "a trigger counts leads by day",
  feedback_days: "a trigger counts ratings by day",
  analytics_changes: "always empty",
  analytics_spans: "overviews add up the days again",
};

/** The record type of a row in an agent's knowledge object. */
export const KNOWLEDGE = "knowledge";
/** The record type of a part of an attachment's bytes. */
export const FILE = "attachment_file";
/** The record type of the workspace's own row. */
export const WORKSPACE = getTableName(schema.workspaces);

export const ROWS_PARTS: readonly RowsPart[] = PARTS.filter((part): part is RowsPart => "table" in part);
const PART_OF = new Map(ROWS_PARTS.map((part) => [getTableName(part.table), part]));

/** The part with records of this type, if it is a table. */
export function partOf(type: string): RowsPart | undefined {
  return PART_OF.get(type);
}

export const COUNTS_TABLES = ROWS_PARTS.flatMap((part) => (part.kind === "counts" ? [part.table] : []));

/**
 * Columns that are not exported. `outdatedUseAt`, `eventsReadAt` and `jurisdiction` depend on the deployment. `keptResponseBytes`
 * counts rows that are not exported.
 */
const NOT_EXPORTED_COLUMNS: ReadonlySet<SQLiteColumn> = new Set([
  schema.apiKeys.outdatedUseAt,
  schema.workspaces.keptResponseBytes,
  schema.workspaces.eventsReadAt,
  schema.workspaces.jurisdiction,
]);

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
const REFERENCES: Record<string, TableOf<"id">> = {
  agent_id: schema.agents,
  conversation_id: schema.conversations,
  visitor_id: schema.visitors,
  begun_by: schema.visitors,
  merged_into: schema.visitors,
  webhook_id: schema.webhookEndpoints,
  delivery_id: schema.deliveries,
  evaluation_id: schema.evaluations,
  event_id: schema.events,
  lead_id: schema.leads,
  team_id: schema.teams,
  message_id: schema.messages,
  trigger_message_id: schema.messages,
  answer_id: schema.answers,
  context_after: schema.messages,
  latest_message_id: schema.messages,
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
export const WITH_SECRETS: ReadonlySet<string> = new Set(
  [schema.agents, schema.agentVersions, schema.webhookEndpoints, schema.signInSettings, schema.privacyErasures].map(getTableName),
);
