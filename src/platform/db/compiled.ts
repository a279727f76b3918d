import { Column, fillPlaceholders, type GetColumnData, type Placeholder, type Query, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "./client.ts";

type Fields = Record<string, Column>;
type Row<Selected extends Fields> = { [Name in keyof Selected]: GetColumnData<Selected[Name]> };

/** A statement for `db.batch` that gives rows. */
type Statement<Result> = BatchItem<"sqlite"> & { readonly _: { readonly result: Result[] }; toSQL(): Query };

/** Builds SQL, and runs none. */
const builder = drizzle({ prepare: () => undefined } as unknown as D1Database);

/**
 * A query of the hot paths whose SQL is built once and whose rows are read straight from D1's: building and mapping anew
 * cost more than the query itself.
 * @param fields the columns to read, of one table.
 * @param build the query over them; `param` stands for a value that each use gives.
 */
export function compiled<Selected extends Fields, Params extends Record<string, unknown>>(
  fields: Selected,
  build: (database: Database, fields: Selected, param: (name: keyof Params & string) => Placeholder) => { toSQL(): Query },
): (db: Database, params: Params) => Statement<Row<Selected>> {
  let query: Query | undefined;
  const reader = readerOf(fields);
  return (db, params) => {
    query ??= build(builder, fields, (name) => sql.placeholder(name)).toSQL();
    const bound: Query = { sql: query.sql, params: fillPlaceholders(query.params, params) };
    const statement = {
      _prepare: () => ({
        getQuery: () => bound,
        stmt: (db as unknown as { $client: D1Database }).$client.prepare(bound.sql),
        mapResult: ({ results }: D1Result<Record<string, unknown>>) => results.map(reader),
      }),
      toSQL: () => bound,
    };
    return statement as unknown as Statement<Row<Selected>>;
  };
}

/** Reads D1's row, named as in SQL, into ours; only JSON, flags and the like need decoding. */
function readerOf<Selected extends Fields>(fields: Selected): (row: Record<string, unknown>) => Row<Selected> {
  const columns = Object.entries(fields).map(([name, column]) => {
    const isPlain = column.mapFromDriverValue === Column.prototype.mapFromDriverValue;
    return { name, from: column.name, decode: isPlain ? undefined : column.mapFromDriverValue.bind(column) };
  });
  return (row) => {
    const read: Record<string, unknown> = {};
    for (const { name, from, decode } of columns) {
      const value = row[from];
      read[name] = decode === undefined || value === null ? value : decode(value);
    }
    return read as Row<Selected>;
  };
}
