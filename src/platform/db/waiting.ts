import { and, gt, lte, not, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { isServedHere } from "./placement.ts";
import * as schema from "./schema.ts";

/*
 * Chooses which of the waiting work of all workspaces the cron does next. Workspaces take turns, so that one with much work does not
 * delay the others. Work that fails is put off, so that it does not delay other work.
 */

/** Rows that wait, and their index, which begins with the workspace and the time. */
export interface WaitingRows {
  table: SQLiteTable;
  workspaceId: SQLiteColumn;
  /** The time since which a row waits. */
  dueAt: SQLiteColumn;
  index: string;
  /** The condition of a partial index, as literal SQL, since SQLite does not match it with a bound value. */
  indexed: SQL;
}

const {
  answers,
  attachments,
  conversations,
  deliveries,
  emailOutbox,
  evaluations,
  leads,
  privacyErasures,
  sources,
  sweepBackoffs,
  webhookErasures,
  workspaces,
} = schema;

/** What the cron works on. */
export const WAITING = {
  answers: waiting(answers, answers.createdAt, "answers_unindexed", sql`indexed_at IS NULL`),
  attachments: waiting(attachments, attachments.expiresAt, "attachments_unused", sql`expires_at IS NOT NULL`),
  deliveries: waiting(deliveries, deliveries.nextAttemptAt, "deliveries_due", sql`status = 'pending'`),
  evaluations: waiting(evaluations, evaluations.updatedAt, "evaluations_unfinished", sql`status IN ('pending', 'running')`),
  idleConversations: waiting(conversations, conversations.idleAt, "conversations_idle", sql`status = 'ai_handled'`),
  leads: waiting(leads, leads.createdAt, "leads_unindexed", sql`indexed_at IS NULL`),
  mails: waiting(emailOutbox, emailOutbox.nextAttemptAt, "email_outbox_due", sql`status = 'pending'`),
  personErasures: waiting(privacyErasures, privacyErasures.createdAt, "privacy_erasures_workspace"),
  queuedConversations: waiting(conversations, conversations.queuedAt, "conversations_queued", sql`queued_at IS NOT NULL`),
  silentAssignees: waiting(conversations, conversations.unansweredSince, "conversations_unanswered", sql`unanswered_since IS NOT NULL`),
  sources: waiting(sources, sources.updatedAt, "sources_unfinished", sql`status IN ('pending', 'processing')`),
  syncs: waiting(sources, sources.nextSyncAt, "sources_due", sql`next_sync_at IS NOT NULL`),
  webhookErasures: waiting(webhookErasures, webhookErasures.createdAt, "webhook_erasures_workspace"),
  workspaceErasures: {
    table: workspaces,
    workspaceId: workspaces.id,
    dueAt: workspaces.deletedAt,
    index: "workspaces_deleted",
    indexed: sql`deleted_at IS NOT NULL`,
  },
};

function waiting(table: SQLiteTable & { workspaceId: SQLiteColumn }, dueAt: SQLiteColumn, index: string, indexed = sql`TRUE`): WaitingRows {
  return { table, workspaceId: table.workspaceId, dueAt, index, indexed };
}

/**
 * SQL condition: the row is among the next `limit` of the waiting rows: the oldest of each workspace, then the second oldest of
 * each, and so on. It reads only an index, and for each workspace only the rows that it may return. It leaves out rows of
 * shards that another database serves, or whose writes are held.
 * @param where which of the rows of the index wait.
 * @param order of the rows of one turn. It is random by default, so that no workspace is always left out if there are more than `limit`.
 */
export function isNextInTurn(rows: WaitingRows, where: SQL | undefined, limit: number, order = sql`random()`): SQL {
  const { table, workspaceId, dueAt, index, indexed } = rows;
  const from = sql`${table} INDEXED BY ${sql.identifier(index)} WHERE ${indexed}`;
  // One search of the index for each workspace, however many rows it has.
  const next = sql`SELECT min(${workspaceId}) FROM ${from}`;
  const isOfTenant = sql`${workspaceId} = tenants.id AND ${where ?? sql`TRUE`}`;
  const oldest = sql`SELECT ${table}.rowid FROM ${from} AND ${isOfTenant} ORDER BY ${dueAt} LIMIT ${limit}`;
  return sql`${table}.rowid IN (WITH RECURSIVE
    tenants (id) AS (${next} UNION ALL SELECT (${next} AND ${workspaceId} > tenants.id) FROM tenants WHERE tenants.id IS NOT NULL),
    turns AS (
      SELECT ${table}.rowid AS waiting, ${dueAt} AS due_at, row_number() OVER (PARTITION BY ${workspaceId} ORDER BY ${dueAt}) AS turn
      FROM tenants CROSS JOIN ${table} ON ${table}.rowid IN (${oldest}) WHERE ${isServedHere(sql`tenants.id`)})
    SELECT waiting FROM turns ORDER BY turn, ${order} LIMIT ${limit})`;
}

/** The first pause after a failure; each further one doubles it, up to 64 times: about an hour. */
const FIRST_PAUSE_MS = 60_000;
const MAX_DOUBLINGS = 6;
/** How long after its pause a failure still counts. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;

/** SQL condition: the work of a task on this record was not put off. */
export function isNotPutOff(task: string, key: SQLiteColumn, nowMs: number): SQL {
  const backoff = and(sql`task = ${task}`, sql`key = ${key}`, gt(sweepBackoffs.retryAt, nowMs));
  return not(sql`EXISTS (SELECT 1 FROM ${sweepBackoffs} WHERE ${backoff})`);
}

/** Puts off work that failed. The pause grows with the number of failures. */
export function putOff(db: Database, task: string, keys: readonly string[], nowMs: number) {
  const pauseMs = sql`${FIRST_PAUSE_MS} * (1 << min(${sweepBackoffs.failures}, ${MAX_DOUBLINGS}))`;
  return db
    .insert(sweepBackoffs)
    .select(sql`SELECT ${task}, value, 1, ${nowMs + FIRST_PAUSE_MS} FROM json_each(${JSON.stringify(keys)}) WHERE TRUE`)
    .onConflictDoUpdate({
      target: [sweepBackoffs.task, sweepBackoffs.key],
      set: { failures: sql`${sweepBackoffs.failures} + 1`, retryAt: sql`${nowMs} + ${pauseMs}` },
    });
}

/** Puts off work that has not failed, each to its time. */
export function putOffUntil(db: Database, task: string, rows: readonly { key: string; untilMs: number }[]) {
  return db
    .insert(sweepBackoffs)
    .select(sql`SELECT ${task}, value ->> 'key', 0, value ->> 'untilMs' FROM json_each(${JSON.stringify(rows)}) WHERE TRUE`)
    .onConflictDoUpdate({ target: [sweepBackoffs.task, sweepBackoffs.key], set: { retryAt: sql`excluded.retry_at` } });
}

/** Forgets failures that were not followed by another one. */
export function pruneBackoffs(db: Database, nowMs: number) {
  return db.delete(sweepBackoffs).where(lte(sweepBackoffs.retryAt, nowMs - FORGOTTEN_AFTER_MS));
}
