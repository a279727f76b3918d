import { Column, fillPlaceholders, type GetColumnData, is, Param, Placeholder, type Query, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "./client.ts";

type Fields = Record<string, Column>;
type Row<Selected extends Fields> = { [Name in keyof Selected]: GetColumnData<Selected[Name]> };

type Value<Name> = Name extends "limit" | "offset" | `${string}Ms` ? number : string;

/** A statement for `db.batch` that returns rows. */
type Statement<Result> = BatchItem<"sqlite"> & { readonly _: { readonly result: Result[] }; toSQL(): Query };

/** Builds SQL without a database. */
const builder = drizzle({ prepare: () => undefined } as unknown as D1Database);

/**
 * A query of a hot path: its SQL is built once, and its rows are mapped column by column. On a conversation's row that takes
 * 11 µs of CPU, where drizzle's building, binding and mapping take 120 µs; a request reads up to five rows.
 *
 * It implements `_prepare`, the internal interface between drizzle's queries and `db.batch`, because nothing public serves
 * here: `db.batch` accepts no prepared query, and `.prepare()` is tied to one database client, of which each request has its own.
 * @param fields the columns to read, of one table.
 * @param names the values that each use passes, in their order.
 * @param build the query over the fields, with a placeholder for each value.
 */
export function compiled<Selected extends Fields, const Names extends readonly string[]>(
  fields: Selected,
  names: Names,
  build: (database: Database, fields: Selected, ...placeholders: { [At in keyof Names]: Placeholder }) => { toSQL(): Query },
): (db: Database, ...values: { [At in keyof Names]: Value<Names[At]> }) => Statement<Row<Selected>> {
  let query: Query | undefined;
  const mapRow = rowMapper(fields);
  return (db, ...values) => {
    query ??= build(builder, fields, ...(names.map((name) => sql.placeholder(name)) as { [At in keyof Names]: Placeholder })).toSQL();
    const params = Object.fromEntries(names.map((name, at) => [name, values[at]]));
    const bound: Query = { sql: query.sql, params: fillPlaceholders(query.params, params) };
    const statement = {
      _prepare: () => ({
        getQuery: () => bound,
        stmt: (db as unknown as { $client: D1Database }).$client.prepare(bound.sql),
        mapResult: ({ results }: D1Result<Record<string, unknown>>) => results.map(mapRow),
      }),
      toSQL: () => bound,
    };
    return statement as unknown as Statement<Row<Selected>>;
  };
}

/** Maps a row of D1 to the fields' names; only JSON, booleans and the like need decoding. */
function rowMapper<Selected extends Fields>(fields: Selected): (row: Record<string, unknown>) => Row<Selected> {
  const columns = Object.entries(fields).map(([name, column]) => {
    const isPlain = column.mapFromDriverValue === Column.prototype.mapFromDriverValue;
    return { name, from: column.name, decode: isPlain ? undefined : column.mapFromDriverValue.bind(column) };
  });
  return (row) => {
    const mapped: Record<string, unknown> = {};
    for (const { name, from, decode } of columns) {
      const value = row[from];
      mapped[name] = decode === undefined || value === null ? value : decode(value);
    }
    return mapped as Row<Selected>;
  };
}

// --- Statements of a batch ---

/** How a parameter is made: by the number of a value, or always the same. */
interface Parameter {
  at: number | undefined;
  encode: ((value: unknown) => unknown) | undefined;
  constant: unknown;
}

/** What `db.batch` reads of a statement. */
interface Prepared {
  getQuery(): Query;
  mapResult(result: unknown, isFromBatch?: boolean): unknown;
}

interface Template {
  sql: string;
  parameters: Parameter[];
  mapResult: (result: unknown) => unknown;
}

/** There are as many as the values have combinations of nulls, flags and lengths of lists. */
const MAX_SHAPES = 200;

/**
 * Statements of a hot path: their SQL is built once for each shape of their values, which is which of them are null, the flags,
 * and the lengths of lists. Building and binding take about 100 µs of CPU a statement, and binding alone 3.
 * @param build gets a placeholder in place of every text and number: it may bind them, and not look at them or compute with
 * them. It returns statements in objects and lists.
 */
export function compiledStatements<Values extends object, Built extends object>(
  build: (db: Database, values: Values) => Built,
): (db: Database, values: Values) => Built {
  const shapes = new Map<string, object>();
  return (db, values) => {
    const bound: unknown[] = [];
    const shape = shapeOf(values, bound);
    let templates = shapes.get(shape);
    if (!templates) {
      if (shapes.size >= MAX_SHAPES) shapes.clear();
      templates = replaced(build(builder, withPlaceholders(values, { next: 0 }) as Values), isStatement, templateOf);
      shapes.set(shape, templates);
    }
    return replaced(templates, isTemplate, (template) => statementOf(db, template, bound)) as Built;
  };
}

/** A copy of objects and lists with each of these nodes replaced. */
function replaced<Node>(tree: object, isNode: (node: object) => node is Node & object, replacement: (node: Node) => object): object {
  if (isNode(tree)) return replacement(tree);
  if (Array.isArray(tree)) return tree.map((node: object) => replaced(node, isNode, replacement));
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, replaced(node as object, isNode, replacement)]));
}

function isTemplate(node: object): node is Template {
  return "parameters" in node;
}

interface AnyStatement {
  _prepare(): Prepared;
}

function isStatement(node: object): node is AnyStatement {
  return "_prepare" in node;
}

/** Adds the texts and numbers to `bound`. */
function shapeOf(value: unknown, bound: unknown[]): string {
  if (typeof value === "string" || typeof value === "number") {
    bound.push(value);
    return "?";
  }
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => shapeOf(item, bound)).join()}]`;
  let shape = "";
  for (const name in value) shape += `${name}:${shapeOf((value as Record<string, unknown>)[name], bound)},`;
  return `{${shape}}`;
}

/** In the order of `shapeOf`. */
function withPlaceholders(value: unknown, numbers: { next: number }): unknown {
  if (typeof value === "string" || typeof value === "number") return sql.placeholder(String(numbers.next++));
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withPlaceholders(item, numbers));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withPlaceholders(item, numbers)]));
}

function templateOf(statement: AnyStatement): Template {
  const prepared = statement._prepare();
  const query = prepared.getQuery();
  return { sql: query.sql, parameters: query.params.map(parameterOf), mapResult: (result) => prepared.mapResult(result, true) };
}

function parameterOf(param: unknown): Parameter {
  if (is(param, Placeholder)) return { at: Number(param.name), encode: undefined, constant: undefined };
  if (!is(param, Param) || !is(param.value, Placeholder)) return { at: undefined, encode: undefined, constant: param };
  const { encoder, value } = param;
  return { at: Number(value.name), encode: (given) => encoder.mapToDriverValue(given), constant: undefined };
}

function statementOf(db: Database, { sql: text, parameters, mapResult }: Template, bound: readonly unknown[]): object {
  const params = parameters.map(({ at, encode, constant }) => (at === undefined ? constant : encode ? encode(bound[at]) : bound[at]));
  const query: Query = { sql: text, params };
  const client = (db as unknown as { $client: D1Database }).$client;
  return { _prepare: () => ({ getQuery: () => query, stmt: client.prepare(text), mapResult }), toSQL: () => query };
}
