import { and, gt, lte, not, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { sweepBackoffs } from "./schema.ts";

/*
 * Work of all workspaces that waits in one table: which of it the cron does next. Workspaces take turns, so that one with much
 * work delays no other, and work that fails is put off, so that it delays no other work.
 */

/** Rows that wait. */
interface WaitingRows {
  table: SQLiteTable;
  workspaceId: SQLiteColumn;
  /** Since when a row waits. */
  dueAt: SQLiteColumn;
  /** The name of the index on these two columns. */
  index: string;
  /** The condition of a partial index. Literal SQL: SQLite does not match it with a bound value. */
  indexed?: SQL | undefined;
  /** Which of the rows of the index wait. */
  where: SQL | undefined;
}

/**
 * SQL: the rowids of up to `limit` waiting rows: the oldest of each workspace, then the second oldest of each, and so on. It reads
 * an index alone, and of each workspace no more than it may return.
 * @param order of the rows of one turn. By default none: where there are more workspaces than rows, chance decides each time.
 */
export function takeTurns(rows: WaitingRows, limit: number, order = sql`random()`): SQL {
  const { table, workspaceId, dueAt, indexed = sql`TRUE`, where = sql`TRUE` } = rows;
  const from = sql`${table} INDEXED BY ${sql.identifier(rows.index)} WHERE ${indexed}`;
  // One search of the index for each workspace, however many rows it has.
  const next = sql`SELECT min(${workspaceId}) FROM ${from}`;
  const oldest = sql`SELECT ${table}.rowid FROM ${from} AND ${workspaceId} = tenants.id AND ${where} ORDER BY ${dueAt} LIMIT ${limit}`;
  return sql`(WITH RECURSIVE
    tenants (id) AS (${next} UNION ALL SELECT (${next} AND ${workspaceId} > tenants.id) FROM tenants WHERE tenants.id IS NOT NULL),
    turns AS (
      SELECT ${table}.rowid AS waiting, ${dueAt} AS due_at, row_number() OVER (PARTITION BY ${workspaceId} ORDER BY ${dueAt}) AS turn
      FROM tenants CROSS JOIN ${table} ON ${table}.rowid IN (${oldest}))
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

/** Puts off work that failed, the longer the more often it failed. */
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

/** Forgets failures that were not followed by another one. */
export function pruneBackoffs(db: Database, nowMs: number) {
  return db.delete(sweepBackoffs).where(lte(sweepBackoffs.retryAt, nowMs - FORGOTTEN_AFTER_MS));
}
