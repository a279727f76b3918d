import { type Column, getTableColumns, SQL, sql } from "drizzle-orm";
import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { workspaceImports } from "./schema.ts";

/** A statement that is not run yet: a part of a batch. */
export type Statement = BatchItem<"sqlite">;
type Reads = readonly [Statement, ...Statement[]];

/**
 * Runs reads, writes and reads again as one batch: one transaction, one round trip. How many writes there are may depend
 * on what is asked; what they return is given as it is.
 */
export async function transact<const Before extends readonly Statement[], const After extends Reads>(
  db: Database,
  { before, writes, after }: { before: Before; writes: readonly Statement[]; after: After },
): Promise<{ before: BatchResponse<Before>; written: readonly unknown[]; after: BatchResponse<After> }> {
  const [first, ...rest] = [...before, ...writes, ...after];
  const results: unknown[] = await db.batch([first, ...rest]);
  const afterAt = before.length + writes.length;
  const read = { before: results.slice(0, before.length), written: results.slice(before.length, afterAt), after: results.slice(afterAt) };
  return read as { before: BatchResponse<Before>; written: readonly unknown[]; after: BatchResponse<After> };
}

/** Runs writes and then reads as one batch. */
export async function writeThenRead<const After extends Reads>(db: Database, writes: readonly Statement[], after: After) {
  const { written, after: read } = await transact(db, { before: [], writes, after });
  return { written, read };
}

/**
 * An insert that happens only where `condition` holds when it runs: D1 has no interactive transaction, so what a write
 * depends on is part of the write. Left-out columns take their defaults.
 * @param from what `values` and `condition` read: then one row is inserted for each of its rows.
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

/** Milliseconds as RFC 3339, UTC, for a record that the database writes; null stays null. */
export function timestampJson(ms: SQL): SQL {
  return sql`(strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000))`;
}

/** Identifiers as a list to be `IN`: one bound value, however many there are, where D1 takes a hundred. */
export function jsonIds(ids: readonly string[]): SQL {
  return sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}

/** A flag as JSON's true or false. */
export function booleanJson(flag: SQL): SQL {
  return sql`json(CASE WHEN ${flag} THEN 'true' ELSE 'false' END)`;
}

/** Whether a row's workspace is all here: while it is imported, cron leaves what there is of it alone. */
export function importCompleted(workspaceId: Column | SQL): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${workspaceImports} i WHERE i.workspace_id = ${workspaceId} AND i.completed_at IS NULL)`;
}
