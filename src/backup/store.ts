import { and, asc, type Column, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { eraseSomeRows } from "../operator/erasure-store.ts";
import type { Database } from "../platform/db/client.ts";
import { agents, answers, approvals, sources, workspaceImports, workspaces } from "../platform/db/schema.ts";
import { exists, insertWhere, isAmong } from "../platform/db/sql.ts";
import type { Jurisdiction } from "../platform/db/regions.ts";
import { columnsOf, COUNTS_TABLES, primaryKeyOf, propertiesOf, referencesOf, type RowsPart } from "./parts.ts";
import type { Position } from "./wire.ts";

/** A row by its SQL column names, with JSON as its stored text. */
export type StoredRow = Record<string, string | number | null>;

/** Lists a page of a part's rows after a position, ordered by the part's key. */
export function listRows(db: Database, { table, key, only }: RowsPart, workspaceId: string, after: Position | null, limit: number) {
  const isInPart = and(eq(table.workspaceId, workspaceId), only, after === null ? undefined : isAfter(key, after));
  return db
    .select(asStored(columnsOf(table)))
    .from(table)
    .where(isInPart)
    .orderBy(...key.map((column) => asc(column)))
    .limit(limit);
}

/** Finds the first agent after an id. With `including`, it finds the agent with that id instead. */
export function findAgentAfter(db: Database, workspaceId: string, agentId: string, including: boolean) {
  const isNext = including ? eq(agents.id, agentId) : gt(agents.id, agentId);
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.workspaceId, workspaceId), isNext))
    .orderBy(agents.id)
    .limit(1);
}

export function findWorkspaceRow(db: Database, workspaceId: string) {
  return db
    .select(asStored(columnsOf(workspaces)))
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
}

function isAfter(key: RowsPart["key"], position: Position): SQL {
  const values = position.map((value) => sql`${value}`);
  return sql`(${sql.join([...key], sql`, `)}) > (${sql.join(values, sql`, `)})`;
}

/** Selects expressions instead of columns, so that drizzle does not convert the stored values. */
function asStored(columns: readonly Column[]) {
  return Object.fromEntries(columns.map((column) => [column.name, sql<string | number | null>`${column}`.as(column.name)]));
}

export interface ImportKey {
  workspaceId: string;
  exportId: string;
}

/** A record's values, in the order of its table's columns. */
export type Values = (string | number | null)[];

/** Finds the workspace's latest import, complete or not. */
export function findImport(db: Database, workspaceId: string) {
  return db.select().from(workspaceImports).where(eq(workspaceImports.workspaceId, workspaceId));
}

/** Finds a workspace, even if it is deleted and not erased yet. */
export function findAnyWorkspace(db: Database, workspaceId: string) {
  return db.select({ id: workspaces.id, deletedAt: workspaces.deletedAt }).from(workspaces).where(eq(workspaces.id, workspaceId));
}

/** Adds an import, unless the workspace has one. */
export function createImport(db: Database, { workspaceId, exportId }: ImportKey, nowMs: number) {
  return db.insert(workspaceImports).values({ workspaceId, exportId, createdAt: nowMs }).onConflictDoNothing();
}

/** Updates an unfinished import. */
export function updateImport(db: Database, key: ImportKey, changes: Partial<typeof workspaceImports.$inferInsert>) {
  return db
    .update(workspaceImports)
    .set(changes)
    .where(and(isUnfinished(key.workspaceId), eq(workspaceImports.exportId, key.exportId)));
}

/**
 * Adds records, except those that refer to a record of another workspace. It adds none if the import is no longer in progress.
 * Existing rows stay unchanged, and existing counts are replaced.
 */
export function addRecords(db: Database, { kind, table }: RowsPart, key: ImportKey, records: readonly Values[]) {
  const conditions = [isInProgress(key), ...referencesOf(table).map((reference) => refersToOwn(reference, key.workspaceId))];
  const insert = insertRecords(db, table, records, sql.join(conditions, sql` AND `));
  if (kind === "rows") return insert.onConflictDoNothing();
  const primary = primaryKeyOf(table);
  const others = propertiesOf(table).filter(([, column]) => !primary.includes(column));
  const set = Object.fromEntries(others.map(([property, column]) => [property, sql.raw(`excluded."${column.name}"`)]));
  return insert.onConflictDoUpdate({ target: primary, set });
}

/** Counts which of these records the workspace has. */
export function countRecords(db: Database, { table }: RowsPart, workspaceId: string, records: readonly Values[]) {
  const columns = columnsOf(table);
  const isSameRecord = primaryKeyOf(table).map((column) => sql`${column} = ${valueAt(columns.indexOf(column))}`);
  const found = sql`json_each(${JSON.stringify(records)}) CROSS JOIN ${table} ON ${sql.join(isSameRecord, sql` AND `)}`;
  return db
    .select({ count: sql<number>`count(*)` })
    .from(found)
    .where(eq(table.workspaceId, workspaceId));
}

/** Deletes up to `limit` rows of the workspace from each table of counts, unless the import has already deleted them. The counts of the
 * export replace them. */
export function clearCounts(db: Database, key: ImportKey, limit: number) {
  return eraseSomeRows(db, key.workspaceId, limit, COUNTS_TABLES, isInProgress(key, sql`i.recounted_at IS NULL`));
}

/** Lists those of these agents that belong to the workspace. */
export function listOwnAgents(db: Database, workspaceId: string, agentIds: readonly string[]) {
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(isAmong(agents, workspaceId, agentIds));
}

/** Lists the agents, sources and curated answers of a workspace. */
export function listKnowledge(db: Database, workspaceId: string) {
  const idsOf = (table: typeof agents | typeof sources | typeof answers) =>
    db
      .select({ id: sql<string>`${table.id}` })
      .from(table as SQLiteTable)
      .where(eq(table.workspaceId, workspaceId));
  return [idsOf(agents), idsOf(sources), idsOf(answers)] as const;
}

/** The values of an imported workspace's own row that depend on this deployment. */
interface DeploymentValues {
  jurisdiction: Jurisdiction | null;
  nowMs: number;
}

/**
 * Completes an import by adding the workspace's own row, which makes all its records visible. Calls that wait for an approval expire,
 * because the turns that would make them are not exported.
 */
export function completeImport(db: Database, key: ImportKey, workspace: Values, { jurisdiction, nowMs }: DeploymentValues) {
  return [
    insertRecords(db, workspaces, [workspace], isInProgress(key), { jurisdiction }).onConflictDoNothing(),
    db
      .update(approvals)
      .set({ status: "expired", decidedAt: nowMs })
      .where(and(eq(approvals.workspaceId, key.workspaceId), eq(approvals.status, "pending"), isInProgress(key))),
    updateImport(db, key, { workspace: null, checked: null, completedAt: nowMs }),
  ] as const;
}

/** Cancels an import. The workspace is added as a deleted one, so that its erasure removes the imported records. */
export function cancelImport(db: Database, workspaceId: string, { jurisdiction, nowMs }: DeploymentValues) {
  // `pruneAt` is not set, because a workspace that is being erased is not pruned.
  const times = { createdAt: nowMs, updatedAt: nowMs, deletedAt: nowMs };
  const deleted = { id: workspaceId, name: "", slug: "", plan: "free" as const, jurisdiction, ...times };
  const isCancelled = isUnfinished(workspaceId);
  return [
    insertWhere(db, workspaces, deleted, exists(workspaceImports, isCancelled)).onConflictDoNothing(),
    db.delete(workspaceImports).where(isCancelled).returning({ workspaceId: workspaceImports.workspaceId }),
  ] as const;
}

function isUnfinished(workspaceId: string) {
  return and(eq(workspaceImports.workspaceId, workspaceId), isNull(workspaceImports.completedAt));
}

/** Columns that are not exported get their default, or their value in `own`. */
function insertRecords(db: Database, table: SQLiteTable, records: readonly Values[], condition: SQL, own = {}) {
  const values = Object.fromEntries(propertiesOf(table).map(([property], at) => [property, valueAt(at)]));
  return insertWhere(db, table, { ...values, ...own }, condition, sql`json_each(${JSON.stringify(records)})`);
}

function isInProgress({ workspaceId, exportId }: ImportKey, further = sql`TRUE`): SQL {
  return sql`EXISTS (SELECT 1 FROM ${workspaceImports} i WHERE i.workspace_id = ${workspaceId} AND i.export_id = ${exportId}
    AND i.completed_at IS NULL AND ${further})`;
}

function refersToOwn({ at, target }: ReturnType<typeof referencesOf>[number], workspaceId: string): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${target} AS target WHERE target.id = ${valueAt(at)} AND target.workspace_id <> ${workspaceId})`;
}

function valueAt(at: number): SQL {
  return sql.raw(`json_extract(json_each.value, '$[${at}]')`);
}
