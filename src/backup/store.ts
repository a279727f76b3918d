import { and, asc, type Column, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { eraseSomeRows } from "../operator/erasure-store.ts";
import type { Database } from "../platform/db/client.ts";
import { agents, workspaceImports, workspaces } from "../platform/db/schema.ts";
import { insertWhere, jsonIds } from "../platform/db/sql.ts";
import { columnsOf, COUNTS_TABLES, primaryKeyOf, propertiesOf, referencesOf, type RowsPart } from "./parts.ts";
import type { Place } from "./wire.ts";

/** A row as the database has it: by the names of SQL, JSON as its text. */
export type StoredRow = Record<string, string | number | null>;

/** Some rows of a part that come after a place, in the order of its key. */
export function listRows(db: Database, { table, key, only }: RowsPart, workspaceId: string, after: Place | null, limit: number) {
  const isTheirs = and(eq(table.workspaceId, workspaceId), only, after === null ? undefined : isAfter(key, after));
  return db
    .select(asStored(columnsOf(table)))
    .from(table)
    .where(isTheirs)
    .orderBy(...key.map((column) => asc(column)))
    .limit(limit);
}

/** The next agent after an id; with `including`, the agent with that id itself if it exists. */
export function findAgentAfter(db: Database, workspaceId: string, agentId: string, including: boolean) {
  const isNext = including ? eq(agents.id, agentId) : gt(agents.id, agentId);
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.workspaceId, workspaceId), isNext))
    .orderBy(agents.id)
    .limit(1);
}

/** The workspace's own row. */
export function findWorkspaceRow(db: Database, workspaceId: string) {
  return db
    .select(asStored(columnsOf(workspaces)))
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
}

function isAfter(key: RowsPart["key"], place: Place): SQL {
  const values = place.map((value) => sql`${value}`);
  return sql`(${sql.join([...key], sql`, `)}) > (${sql.join(values, sql`, `)})`;
}

/** Expressions and not columns, so that values come as they are stored. */
function asStored(columns: readonly Column[]) {
  return Object.fromEntries(columns.map((column) => [column.name, sql<string | number | null>`${column}`.as(column.name)]));
}

/** Which import writes. */
export interface ImportKey {
  workspaceId: string;
  exportId: string;
}

/** A record's values, in the order of its table's columns. */
export type Values = (string | number | null)[];

/** The workspace's import, if there is or was one. */
export function findImport(db: Database, workspaceId: string) {
  return db.select().from(workspaceImports).where(eq(workspaceImports.workspaceId, workspaceId));
}

/** The workspace's own row, deleted or not. */
export function findAnyWorkspace(db: Database, workspaceId: string) {
  return db.select({ id: workspaces.id, deletedAt: workspaces.deletedAt }).from(workspaces).where(eq(workspaces.id, workspaceId));
}

/** Begins an import, or continues the one under way. */
export function beginImport(db: Database, { workspaceId, exportId }: ImportKey, nowMs: number) {
  return db.insert(workspaceImports).values({ workspaceId, exportId, createdAt: nowMs }).onConflictDoNothing();
}

/** Changes an import that is under way. */
export function updateImport(db: Database, key: ImportKey, changes: Partial<typeof workspaceImports.$inferInsert>) {
  return db
    .update(workspaceImports)
    .set(changes)
    .where(
      and(
        eq(workspaceImports.workspaceId, key.workspaceId),
        eq(workspaceImports.exportId, key.exportId),
        isNull(workspaceImports.completedAt),
      ),
    );
}

/**
 * Adds records, unless the import has ended meanwhile or a record names one of another workspace. A row that is there
 * stays; a count is replaced.
 */
export function addRecords(db: Database, { kind, table }: RowsPart, key: ImportKey, records: readonly Values[]) {
  const conditions = [isUnderWay(key), ...referencesOf(table).map((reference) => isNotForeign(reference, key.workspaceId))];
  const insert = insertRecords(db, table, records, sql.join(conditions, sql` AND `));
  if (kind === "rows") return insert.onConflictDoNothing();
  const primary = primaryKeyOf(table);
  const others = propertiesOf(table).filter(([, column]) => !primary.includes(column));
  const set = Object.fromEntries(others.map(([property, column]) => [property, sql.raw(`excluded."${column.name}"`)]));
  return insert.onConflictDoUpdate({ target: primary, set });
}

/** How many of these records the workspace has. */
export function countRecords(db: Database, { table }: RowsPart, workspaceId: string, records: readonly Values[]) {
  const columns = columnsOf(table);
  const isIt = primaryKeyOf(table).map((column) => sql`${column} = ${valueAt(columns.indexOf(column))}`);
  const found = sql`json_each(${JSON.stringify(records)}) CROSS JOIN ${table} ON ${sql.join(isIt, sql` AND `)}`;
  return db
    .select({ count: sql<number>`count(*)` })
    .from(found)
    .where(eq(table.workspaceId, workspaceId));
}

/** Removes up to `limit` rows of the workspace from each table of counts: what its triggers counted while rows came in. */
export function clearCounts(db: Database, { workspaceId }: ImportKey, limit: number) {
  return eraseSomeRows(db, workspaceId, limit, COUNTS_TABLES);
}

/** Which of these agents the workspace has. */
export function listOwnAgents(db: Database, workspaceId: string, agentIds: readonly string[]) {
  const isAsked = sql`${agents.id} IN ${jsonIds(agentIds)}`;
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(and(isAsked, eq(agents.workspaceId, workspaceId)));
}

/** Ends an import: the workspace's own row is there from now on, and everything else with it. */
export function completeImport(db: Database, key: ImportKey, workspace: Values, nowMs: number) {
  return [
    insertRecords(db, workspaces, [workspace], isUnderWay(key)).onConflictDoNothing(),
    updateImport(db, key, { workspace: null, checked: null, completedAt: nowMs }),
  ] as const;
}

/** Abandons an import: the workspace is added as a deleted one, so that its erasure removes the records that came in. */
export function abandonImport(db: Database, workspaceId: string, nowMs: number) {
  // Without a time to be pruned at: a workspace that is being erased is not pruned beside it.
  const deleted = { id: workspaceId, name: "", slug: "", plan: "free" as const, createdAt: nowMs, updatedAt: nowMs, deletedAt: nowMs };
  const isTheirs = and(eq(workspaceImports.workspaceId, workspaceId), isNull(workspaceImports.completedAt))!;
  return [
    insertWhere(db, workspaces, deleted, sql`EXISTS (SELECT 1 FROM ${workspaceImports} WHERE ${isTheirs})`).onConflictDoNothing(),
    db.delete(workspaceImports).where(isTheirs).returning({ workspaceId: workspaceImports.workspaceId }),
  ] as const;
}

/** What is not exported of a row takes its default. */
function insertRecords(db: Database, table: SQLiteTable, records: readonly Values[], condition: SQL) {
  const values = Object.fromEntries(propertiesOf(table).map(([property], at) => [property, valueAt(at)]));
  return insertWhere(db, table, values, condition, sql`json_each(${JSON.stringify(records)})`);
}

function isUnderWay({ workspaceId, exportId }: ImportKey): SQL {
  return sql`EXISTS (SELECT 1 FROM ${workspaceImports} i WHERE i.workspace_id = ${workspaceId} AND i.export_id = ${exportId}
    AND i.completed_at IS NULL)`;
}

function isNotForeign({ at, target }: ReturnType<typeof referencesOf>[number], workspaceId: string): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${target} AS target WHERE target.id = ${valueAt(at)} AND target.workspace_id <> ${workspaceId})`;
}

function valueAt(at: number): SQL {
  return sql.raw(`json_extract(json_each.value, '$[${at}]')`);
}
