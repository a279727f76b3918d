import { and, type Column, eq, getTableColumns, isNull, SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { workspaceImports, workspaces } from "./schema.ts";

/** An unawaited statement, for a batch. */
export type Statement = BatchItem<"sqlite">;
/** The reads of a batch: a list, or reads by their names, some of which may be left out. */
type Reads = readonly Statement[] | Readonly<Record<string, Statement | undefined>>;
type Results<Asked extends Reads> = { -readonly [Name in keyof Asked]: Extract<Asked[Name], Statement>["_"]["result"] };

/** Runs reads, any number of writes, and further reads as one batch: one transaction, one round trip. */
export async function transact<const After extends Reads, const Before extends Reads = []>(
  db: Database,
  { before = [] as unknown as Before, writes = [], after }: { before?: Before; writes?: readonly Statement[]; after: After },
): Promise<{ before: Results<Before>; written: readonly unknown[]; after: Results<After> }> {
  const [first, ...rest] = [...Object.values(before), ...writes, ...Object.values(after)] as [Statement];
  const results: unknown[] = await db.batch([first, ...rest]);
  const resultsOf = (reads: Reads, from: number): unknown => {
    const found = Object.keys(reads).map((name, at) => [name, results[from + at]] as const);
    return Array.isArray(reads) ? found.map(([, rows]) => rows) : Object.fromEntries(found);
  };
  const writesAt = Object.keys(before).length;
  const afterAt = writesAt + writes.length;
  const read = { before: resultsOf(before, 0), written: results.slice(writesAt, afterAt), after: resultsOf(after, afterAt) };
  return read as { before: Results<Before>; written: readonly unknown[]; after: Results<After> };
}

/**
 * Inserts a row only if `condition` holds when the statement runs: D1 has no interactive transactions, so a write carries its own
 * conditions. Omitted columns get their defaults.
 * @param from a FROM clause that `values` and `condition` may refer to: a row is inserted for each of its rows.
 */
export function insertWhere<Table extends SQLiteTable>(
  db: Database,
  table: Table,
  values: { [Name in keyof Table["$inferInsert"]]: Table["$inferInsert"][Name] | SQL },
  condition: SQL,
  from?: SQL,
) {
  const given = values as Record<string, unknown>;
  const columns = Object.entries(getTableColumns(table)).map(([name, column]) => {
    const value = given[name] === undefined && column.hasDefault ? column.default : given[name];
    if (value === undefined || value === null) return sql`NULL`;
    return value instanceof SQL ? value : sql`${sql.param(value, column)}`;
  });
  const rows = from ? sql`FROM ${from} ` : sql``;
  return db.insert(table).select(sql`SELECT ${sql.join(columns, sql`, `)} ${rows}WHERE ${condition}`);
}

/** The position of a record in a list by time. */
export interface Position {
  atMs: number;
  id: string;
}

/** A page of a long list: a number of records from an offset, or the records that follow a position. */
export interface Page {
  limit: number;
  offset: number;
  cursor?: Position | undefined;
}

/** SQL condition: the previous statement of the same batch changed one row. */
export const IF_CHANGED = sql`changes() = 1`;

/** A table whose rows belong to workspaces, with these further columns. */
export type TableOf<Name extends string = never> = SQLiteTable & Record<Name | "workspaceId", SQLiteColumn>;

/** SQL condition: the row with this id, if it is the workspace's. */
export function isOwn(table: TableOf<"id">, workspaceId: string | SQL, id: string | SQL): SQL {
  return and(eq(table.id, id), eq(table.workspaceId, workspaceId))!;
}

/** Finds the row with this id, if it is the workspace's. */
export function findOwn<Table extends TableOf<"id">>(db: Database, table: Table, workspaceId: string | SQL, id: string | SQL) {
  return db
    .select()
    .from<Table>(table)
    .where(isOwn(table, workspaceId, id));
}

/** SQL condition: the rows with these ids that are the workspace's. */
export function isAmong(table: TableOf<"id">, workspaceId: string, ids: readonly string[] | SQL): SQL {
  // The unary plus keeps the planner off the workspace's index: there are fewer ids than rows of the workspace.
  return sql`+${table.workspaceId} = ${workspaceId} AND ${table.id} IN ${ids instanceof SQL ? ids : jsonIds(ids)}`;
}

/** The id of an agent, and the workspace that it must belong to. */
export interface AgentKey {
  workspaceId: string;
  agentId: string;
}

/** SQL condition: the rows of an agent, if it is the workspace's. */
export function isOfAgent(table: TableOf<"agentId">, key: AgentKey): SQL {
  return and(eq(table.workspaceId, key.workspaceId), eq(table.agentId, key.agentId))!;
}

/** SQL condition: the rows of a conversation, if it is the workspace's. */
export function isOfConversation(table: TableOf<"conversationId">, key: { workspaceId: string; conversationId: string }): SQL {
  return and(eq(table.workspaceId, key.workspaceId), eq(table.conversationId, key.conversationId))!;
}

/** SQL condition: the table has a row that meets all of these conditions. */
export function exists(table: SQLiteTable, ...conditions: (SQL | undefined)[]): SQL {
  return sql`EXISTS (SELECT 1 FROM ${table} WHERE ${and(...conditions)})`;
}

/** SQL condition on `workspaces`: it is this one, and not deleted. */
export function isWorkspace(workspaceId: string | Column): SQL {
  return and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt))!;
}

/** SQL condition: there is such a workspace that is not deleted, and it meets a further condition. */
export function workspaceExists(workspaceId: string | Column, condition?: SQL): SQL {
  return exists(workspaces, isWorkspace(workspaceId), condition);
}

/** Deletes up to `limit` of the rows that meet a condition. */
export function deleteSome(db: Database, table: TableOf, condition: SQL | undefined, limit: number) {
  return db.delete(table).where(sql`rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ${limit})`);
}

/** SQL: ids as the list of an `IN`. They are one bound parameter, since D1 allows a hundred. */
export function jsonIds(ids: readonly string[]): SQL {
  return sql`(SELECT value FROM json_each(${jsonParam(ids)}))`;
}

/** SQL: the JSON object of a column with these fields replaced. */
export function withFields(column: Column, changes: object): SQL {
  const fields = Object.entries(changes).map(([name, value]) => sql`, ${`$.${name}`}, json(${JSON.stringify(value)})`);
  return sql`json_set(${column}${sql.join(fields)})`;
}

/** SQL: a value as JSON, in one bound parameter. */
export function jsonParam(value: unknown): SQL {
  return sql`${sql.param(value, AS_JSON)}`;
}

const AS_JSON = { mapToDriverValue: (value: unknown) => JSON.stringify(value) };

/** SQL: the time of a change. It is later than the one in the column, so that whoever reads by time sees the change. */
export function increasedTo(column: Column, nowMs: number): SQL {
  return sql`max(${column} + 1, ${nowMs})`;
}

/** SQL: milliseconds as RFC 3339 text in UTC; null stays null. */
export function timestampJson(ms: SQL): SQL {
  return sql`(strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000))`;
}

/**
 * SQL: the wire record of a row as JSON. A field is the column of the same name, written as `toRecord` writes it; the others are given
 * as `own`.
 * @param alias of the table in the statement.
 * @param fields the names of the fields, with commas between them.
 */
export function recordJson(table: SQLiteTable, alias: string, fields: string, own: Record<string, SQL> = {}): SQL {
  const columns = Object.values(getTableColumns(table));
  const values = fields.split(/,\s+/).map((name) => {
    const column = columns.find((each) => each.name === name);
    return sql`${sql.raw(`'${name}'`)}, ${own[name] ?? columnJson(column!, sql.raw(`${alias}.${name}`))}`;
  });
  return sql`json_object(${sql.join(values, sql`, `)})`;
}

function columnJson({ name, dataType }: Column, value: SQL): SQL {
  if (name.endsWith("_at")) return timestampJson(value);
  if (dataType === "boolean") return sql`json(CASE WHEN ${value} THEN 'true' ELSE 'false' END)`;
  return dataType === "json" ? sql`json(${value})` : value;
}

/** SQL condition: the row's workspace is not being imported. Background work leaves a partial import alone. */
export function importCompleted(workspaceId: Column | SQL): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${workspaceImports} i WHERE i.workspace_id = ${workspaceId} AND i.completed_at IS NULL)`;
}

/** Returns SQL that gives a new id in a workspace's shard for each row of its statement, for rows that are created by SQL only. */
export function newIdSql(workspaceId: string, nowMs: number): SQL {
  // A UUIDv7 begins with a 48-bit time: 12 hex digits with a dash after the eighth.
  const time = sql`printf('%012x', ${nowMs})`;
  const variant = sql`substr('89AB', 1 + (random() & 3), 1)`;
  return sql`lower(substr(${time}, 1, 8) || '-' || substr(${time}, 9) || '-7' || substr(hex(randomblob(2)), 2) || '-' || ${variant}
    || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(5)) || substr(${workspaceId}, -2))`;
}
