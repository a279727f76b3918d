import { and, eq, getTableName, inArray, isNull, lte, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type SQLiteColumn } from "drizzle-orm/sqlite-core";
import { HELD } from "../platform/db/database-errors.ts";
import { shardCode } from "../platform/db/placement.ts";
import type { Database } from "../platform/db/client.ts";
import type { SHARD_STATES } from "../platform/db/columns.ts";
import { operatorAudit, shardChanges, shardCopies, shardMoves, workspaceImports, workspaces } from "../platform/db/schema.ts";
import { exists, jsonIds } from "../platform/db/sql.ts";
import { eraseWorkspace, WORKSPACE_TABLES } from "../operator/erasure-store.ts";

/*
 * The SQL of moving logical shards from one database to another. It reads and writes whole rows of any table by their stored values, so it
 * is plain SQL rather than drizzle's.
 */

const CHANGES = getTableName(shardChanges);
const COPIES = getTableName(shardCopies);

/** A stored row: its values in the order of its table's columns. */
export type StoredValues = (string | number | null)[];

/** A table whose rows move with their workspace. */
export interface MovedTable {
  name: string;
  columns: readonly string[];
  /** The positions of the primary key's columns. */
  key: readonly number[];
  /** The column with the id of the workspace. */
  owner: string;
}

/** The tables whose rows are erased before those by which their workspace is found. */
export const OWNED_TABLES = WORKSPACE_TABLES.filter((table) => table !== workspaceImports);

/** All tables with rows of workspaces. The copies of a cancelled move are found by the workspaces and imports, which therefore come first. */
export const MOVED_TABLES: readonly MovedTable[] = [
  toMovedTable(workspaces, workspaces.id),
  ...[workspaceImports, ...OWNED_TABLES, operatorAudit].map((table) => toMovedTable(table, table.workspaceId)),
  // A table without a key never holds a row: its trigger stores what is inserted elsewhere.
].filter(({ key }) => key.length > 0);

function toMovedTable(table: Parameters<typeof getTableConfig>[0], owner: SQLiteColumn): MovedTable {
  const { columns, primaryKeys } = getTableConfig(table);
  const keyColumns: readonly SQLiteColumn[] = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  return {
    name: getTableName(table),
    columns: columns.map(({ name }) => name),
    key: keyColumns.map((column) => columns.findIndex(({ name }) => name === column.name)),
    owner: owner.name,
  };
}

/** The primary key of a row, as the journal of changes keeps it. */
export function keyOf(table: MovedTable, row: StoredValues): string {
  return JSON.stringify(table.key.map((at) => row[at]));
}

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");
const isOfShards = (owner: string) => `substr(${owner}, -2) IN (SELECT value FROM json_each(?1))`;

/** A list of shards as the parameter of a statement. */
function codesOf(shards: readonly number[]): string {
  return JSON.stringify(shards.map(shardCode));
}

// --- Reading both copies ---

/** Reads the rows of these shards among the next `limit` rows of a table in the order of their row numbers, and the number of the last one. */
export function readPage(database: D1Database, table: MovedTable, shards: readonly number[], after: number, limit: number) {
  const next = `SELECT rowid AS row_number, * FROM "${table.name}" WHERE rowid > ?2 ORDER BY rowid LIMIT ?3`;
  return [
    database.prepare(`SELECT ${quoted(table.columns)} FROM (${next}) WHERE ${isOfShards(table.owner)}`).bind(codesOf(shards), after, limit),
    database
      .prepare(
        `SELECT max(row_number) AS last FROM (SELECT rowid AS row_number FROM "${table.name}" WHERE rowid > ? ORDER BY rowid LIMIT ?)`,
      )
      .bind(after, limit),
  ] as const;
}

/** Reads the rows with these keys. */
export function readRows(database: D1Database, table: MovedTable, keys: readonly string[]) {
  return database
    .prepare(`SELECT ${table.columns.map((name) => `moved."${name}"`).join(", ")} FROM ${withKeys(table)}`)
    .bind(JSON.stringify(keys.map((key) => JSON.parse(key) as unknown)));
}

/** A FROM clause with the rows of the keys in the first parameter, as `moved`. */
function withKeys(table: MovedTable): string {
  const isSame = table.key.map((at, position) => `moved."${table.columns[at]}" = json_extract(keys.value, '$[${position}]')`);
  return `json_each(?1) keys CROSS JOIN "${table.name}" moved ON ${isSame.join(" AND ")}`;
}

/** The tables that together name every workspace with rows, and their columns with its id. */
const OWNERS = [
  ["workspaces", "id"],
  ["workspace_imports", "workspace_id"],
  ["operator_audit", "workspace_id"],
] as const;

/** Counts the rows of a shard in every table, by the workspaces of the shard. */
export function countRows(database: D1Database, shard: number): D1PreparedStatement[] {
  const ofShard = OWNERS.map(([table, owner]) => `SELECT ${owner} FROM ${table} WHERE substr(${owner}, -2) = ?1`).join(" UNION ");
  return MOVED_TABLES.map(({ name, owner }) =>
    database.prepare(`SELECT count(*) AS count FROM "${name}" WHERE ${owner} IN (${ofShard})`).bind(shardCode(shard)),
  );
}

// --- Writing the copy ---

const STALE = "stale_move";

/** Whether a batch was refused, because another one was written after it was made, or the move was cancelled. */
export function isStale(error: unknown): boolean {
  return String(error).includes(STALE);
}

/** Fails unless the copying has written this many batches, and all of these shards are still arriving. */
export function requireBatches(database: D1Database, source: number, batches: number, shards: readonly number[]) {
  const isCurrent = `EXISTS (SELECT 1 FROM ${COPIES} WHERE source = ?2 AND batches = ?3)`;
  const arriving = "SELECT shard FROM shard_moves WHERE state = 'arriving'";
  return database
    .prepare(
      `SELECT json_extract('{}', '${STALE}')
        WHERE NOT ${isCurrent} OR EXISTS (SELECT 1 FROM json_each(?1) WHERE value NOT IN (${arriving}))`,
    )
    .bind(codesOf(shards), source, batches);
}

/** Stores the progress of the copying, as one more batch. */
export function saveProgress(database: D1Database, source: number, progress: string) {
  return database.prepare(`UPDATE ${COPIES} SET progress = ?2, batches = batches + 1 WHERE source = ?1`).bind(source, progress);
}

/** The most bytes of one parameter. D1 allows 2 MB. */
const MAX_PARAMETER_LENGTH = 500_000;

/** Writes rows as they are, and deletes others. The triggers of the table must be dropped, because the copy has what they would write. */
export function writeRows(database: D1Database, table: MovedTable, rows: readonly StoredValues[], deletedKeys: readonly string[]) {
  const values = table.columns.map((_, at) => `json_extract(value, '$[${at}]')`).join(", ");
  const insert = `INSERT OR REPLACE INTO "${table.name}" (${quoted(table.columns)}) SELECT ${values} FROM json_each(?1)`;
  const remove = `DELETE FROM "${table.name}" WHERE rowid IN (SELECT moved.rowid FROM ${withKeys(table)})`;
  return [
    ...parametersOf(rows.map((row) => JSON.stringify(row))).map((parameter) => database.prepare(insert).bind(parameter)),
    ...parametersOf(deletedKeys).map((parameter) => database.prepare(remove).bind(parameter)),
  ];
}

/** Joins JSON texts to lists that are short enough to be bound. */
function parametersOf(items: readonly string[]): string[] {
  const lists: string[][] = [];
  let length = 0;
  for (const item of items) {
    if (lists.length === 0 || length + item.length > MAX_PARAMETER_LENGTH) {
      lists.push([]);
      length = 0;
    }
    lists.at(-1)!.push(item);
    length += item.length;
  }
  return lists.map((list) => `[${list.join(",")}]`);
}

export interface Trigger {
  name: string;
  sql: string;
}

/** Lists the triggers of a table. */
export function listTriggers(database: D1Database, { name }: MovedTable) {
  return database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?").bind(name);
}

// --- Changes in the former database while it is copied ---

const OPERATIONS = ["INSERT", "UPDATE", "DELETE"] as const;
const TRIGGER_PREFIX = "moving_";

/**
 * The triggers that note each change of a row of a shard that is being copied, and refuse it while the writes of the shard are held. The
 * database checks by them what every writer does, whatever version and configuration it has.
 */
export function changeTriggers(): Trigger[] {
  return MOVED_TABLES.flatMap((table) =>
    OPERATIONS.map((operation) => {
      const row = operation === "DELETE" ? "OLD" : "NEW";
      const shard = `substr(${row}."${table.owner}", -2)`;
      const key = `json_array(${table.key.map((at) => `${row}."${table.columns[at]}"`).join(", ")})`;
      const name = `${TRIGGER_PREFIX}${table.name}_${operation.toLowerCase()}`;
      // A conflict clause of the causing statement would replace one in here, so the older note is deleted first.
      const sql = `CREATE TRIGGER ${name} BEFORE ${operation} ON "${table.name}"
        WHEN EXISTS (SELECT 1 FROM shard_moves WHERE shard = ${shard} AND state IN ('copying', 'held')) BEGIN
          SELECT RAISE(ABORT, '${HELD}') FROM shard_moves WHERE shard = ${shard} AND state = 'held' AND held_until > unixepoch() * 1000;
          DELETE FROM ${CHANGES} WHERE shard = ${shard} AND table_name = '${table.name}' AND key = ${key};
          INSERT INTO ${CHANGES} (shard, table_name, key) VALUES (${shard}, '${table.name}', ${key});
        END`;
      return { name, sql };
    }),
  );
}

/** Counts the triggers of `changeTriggers` that exist: a migration that replaces a table drops its triggers. */
export function countChangeTriggers(database: D1Database) {
  return database.prepare(`SELECT count(*) AS count FROM sqlite_master WHERE type = 'trigger' AND name LIKE '${TRIGGER_PREFIX}%'`);
}

export interface RowChange {
  number: number;
  shard: string;
  table: string;
  key: string;
}

/** Lists the first changes of these shards that were not copied yet. */
export function listChanges(database: D1Database, shards: readonly number[], limit: number) {
  return database
    .prepare(
      `SELECT number, shard, table_name AS "table", key FROM ${CHANGES}
        WHERE shard IN (SELECT value FROM json_each(?1)) ORDER BY number LIMIT ?2`,
    )
    .bind(codesOf(shards), limit);
}

/** Returns those of the keys whose rows have changed and were not copied again yet. */
export function listChangedKeys(database: D1Database, table: MovedTable, shards: readonly number[], keys: readonly string[]) {
  return database
    .prepare(
      `SELECT key FROM ${CHANGES} WHERE shard IN (SELECT value FROM json_each(?1)) AND table_name = ?2
        AND key IN (SELECT value FROM json_each(?3))`,
    )
    .bind(codesOf(shards), table.name, JSON.stringify(keys));
}

/** Counts the changes of these shards that were not copied yet. */
export function countChanges(database: D1Database, shards: readonly number[]) {
  return database.prepare(`SELECT count(*) AS count FROM ${CHANGES} WHERE shard IN (SELECT value FROM json_each(?))`).bind(codesOf(shards));
}

/** Deletes the changes of shards that are no longer copied. */
export function deleteChangesOf(database: D1Database, shards: readonly number[]) {
  return database.prepare(`DELETE FROM ${CHANGES} WHERE shard IN (SELECT value FROM json_each(?))`).bind(codesOf(shards));
}

/** Deletes the notes of changes that were copied. If a row has changed again since then, its newer note has another number and stays. */
export function deleteChanges(database: D1Database, changes: readonly RowChange[]) {
  return database
    .prepare(`DELETE FROM ${CHANGES} WHERE number IN (SELECT value FROM json_each(?))`)
    .bind(JSON.stringify(changes.map(({ number }) => number)));
}

// --- The states of shards ---

export interface MoveRow {
  shard: string;
  state: (typeof SHARD_STATES)[number];
  other: number;
  erasedAt: number | null;
}

/** Lists the states of all shards that ever moved from or to a database. */
export function listMoves(database: D1Database) {
  return database.prepare("SELECT shard, state, other, erased_at AS erasedAt FROM shard_moves ORDER BY shard");
}

export interface CopyRow {
  source: number;
  shards: string;
  progress: string;
  batches: number;
  startedAt: number;
}

/** Finds the copying of shards into a database. */
export function findCopy(database: D1Database) {
  return database.prepare(`SELECT source, shards, progress, batches, started_at AS startedAt FROM ${COPIES}`);
}

/** Starts the copying of shards into a database, unless there is one. */
export function createCopy(database: D1Database, copy: Omit<CopyRow, "batches">) {
  return database
    .prepare(
      `INSERT INTO ${COPIES} (source, shards, progress, started_at) SELECT ?1, ?2, ?3, ?4
        WHERE NOT EXISTS (SELECT 1 FROM ${COPIES})`,
    )
    .bind(copy.source, copy.shards, copy.progress, copy.startedAt);
}

/** Ends the copying into a database. */
export function deleteCopy(database: D1Database) {
  return database.prepare(`DELETE FROM ${COPIES}`);
}

/** Marks these shards as arriving in a database, except those that have arrived. */
export function markArriving(database: D1Database, shards: readonly number[], source: number) {
  return database
    .prepare(
      `INSERT INTO shard_moves (shard, state, other) SELECT value, 'arriving', ?2 FROM json_each(?1) WHERE TRUE
        ON CONFLICT (shard) DO UPDATE SET state = 'arriving', other = ?2, left_at = NULL, erased_at = NULL WHERE state <> 'here'`,
    )
    .bind(codesOf(shards), source);
}

/** Marks these shards as being copied to another database, except those that are under way or have left. */
export function markCopying(database: D1Database, shards: readonly number[], target: number) {
  return database
    .prepare(
      `INSERT INTO shard_moves (shard, state, other) SELECT value, 'copying', ?2 FROM json_each(?1) WHERE TRUE
        ON CONFLICT (shard) DO UPDATE SET state = 'copying', other = ?2 WHERE state = 'here'`,
    )
    .bind(codesOf(shards), target);
}

/** Changes the state of those of the shards that are in one of these states. Returns them. */
export function changeState(
  database: D1Database,
  shards: readonly number[],
  from: readonly MoveRow["state"][],
  changes: Partial<Record<"state" | "held_until" | "left_at" | "erased_at", string | number | null>>,
  condition = "TRUE",
) {
  const names = Object.keys(changes);
  const set = names.map((name, at) => `${name} = ?${at + 3}`).join(", ");
  return database
    .prepare(
      `UPDATE shard_moves SET ${set} WHERE shard IN (SELECT value FROM json_each(?1)) AND state IN (SELECT value FROM json_each(?2))
        AND ${condition} RETURNING shard`,
    )
    .bind(codesOf(shards), JSON.stringify(from), ...Object.values(changes));
}

/** The condition of `changeState` that every change of the shard was copied. */
export const HAS_NO_CHANGES = `NOT EXISTS (SELECT 1 FROM ${CHANGES} changes WHERE changes.shard = shard_moves.shard)`;

// --- Erasing a copy ---

/** Lists shards that left a database before a time, and whose former rows were not erased yet. */
export function listFormerShards(db: Database, beforeMs: number, limit: number) {
  const isFormer = and(eq(shardMoves.state, "left"), isNull(shardMoves.erasedAt), lte(shardMoves.leftAt, beforeMs));
  return db.select({ shard: shardMoves.shard }).from(shardMoves).where(isFormer).limit(limit);
}

/**
 * Finds a workspace with rows of these shards in a database, which may have copies of them that are not served. An import adds the row of
 * the workspace itself last.
 */
export function findWorkspaceOfShards(db: Database, shards: readonly string[]) {
  const isOfShards = (workspaceId: SQLiteColumn) => sql`substr(${workspaceId}, -2) IN ${jsonIds(shards)}`;
  const { workspaceId, completedAt } = workspaceImports;
  const imported = and(isOfShards(workspaceId), isNull(completedAt));
  return db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(isOfShards(workspaces.id))
    .unionAll(db.select({ id: workspaceId }).from(workspaceImports).where(imported))
    .limit(1);
}

/** Erases the rows by which a workspace is found, which must be the last ones, if a condition holds. */
export function eraseWorkspaceAndImport(db: Database, workspaceId: string, condition: SQL) {
  return [
    eraseWorkspace(db, workspaceId, condition),
    db.delete(workspaceImports).where(and(eq(workspaceImports.workspaceId, workspaceId), condition)),
  ] as const;
}

/** SQL condition: the shard has this state in the database on which the statement runs. */
export function isInState(shard: string, state: MoveRow["state"]): SQL {
  return exists(shardMoves, eq(shardMoves.shard, shard), eq(shardMoves.state, state));
}

/** Erases the rows that outlive a workspace or precede it, of those of the shards that have this state. */
export function eraseOtherRows(db: Database, shards: readonly string[], state: MoveRow["state"]) {
  const inState = sql`(SELECT shard FROM ${shardMoves} WHERE state = ${state} AND shard IN ${jsonIds(shards)})`;
  return [
    db.delete(operatorAudit).where(sql`substr(${operatorAudit.workspaceId}, -2) IN ${inState}`),
    db.delete(workspaceImports).where(sql`substr(${workspaceImports.workspaceId}, -2) IN ${inState}`),
  ] as const;
}

/** Notes that the former rows of shards were erased. */
export function markErased(db: Database, shards: readonly string[], nowMs: number) {
  return db
    .update(shardMoves)
    .set({ erasedAt: nowMs })
    .where(and(inArray(shardMoves.shard, jsonIds(shards)), eq(shardMoves.state, "left")));
}
