import { getTableColumns, SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";

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
