import { Column, is, Param, Placeholder, type Query, SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "./client.ts";

/*
 * Statements of hot paths: their SQL is built once, and their rows are mapped column by column. Building, binding and mapping
 * by drizzle take about 100 µs of CPU a statement, and 10 here.
 *
 * This implements `_prepare`, the internal interface between drizzle's queries and `db.batch`, because nothing public serves
 * here: `db.batch` accepts no prepared query, and `.prepare()` is tied to one database client, of which each request has its own.
 */

/** Builds SQL without a database. */
const builder = drizzle({ prepare: () => undefined } as unknown as D1Database);

/** How a parameter is made: by the number of a value, or always the same. */
interface Parameter {
  at: number | undefined;
  encode: ((value: unknown) => unknown) | undefined;
  constant: unknown;
}

type Rows = D1Result<Record<string, unknown>>;

interface Field {
  path: string[];
  field: unknown;
}

/** What `db.batch` reads of a statement, and the fields of its rows. */
interface Prepared {
  getQuery(): Query;
  mapResult(result: Rows, isFromBatch?: boolean): unknown;
  fields?: Field[];
}

interface AnyStatement {
  _prepare(): Prepared;
}

interface Template {
  sql: string;
  parameters: Parameter[];
  mapResult: (result: Rows) => unknown;
}

/** There are as many as the values have combinations of nulls, flags and lengths of lists. */
const MAX_SHAPES = 200;

/**
 * Builds statements once for each shape of their values, which is which of them are null, the flags, the names of fields, and the
 * lengths of lists. They are for `db.batch` alone.
 * @param build gets a placeholder in place of every text and number: it may bind them, and not look at them or compute with
 * them. It returns a statement, or statements in objects and lists.
 * @param choices names of fields, each with few values, that `build` may look at: they are part of the shape.
 * @returns the function, with its `build`, whose parameters tests read.
 */
export function compiled<Values extends readonly unknown[], Built extends object>(
  build: (db: Database, ...values: Values) => Built,
  choices: readonly string[] = [],
): ((db: Database, ...values: Values) => Built) & { build: typeof build } {
  const shapes = new Map<string, object>();
  const use = (db: Database, ...values: Values) => {
    const bound: unknown[] = [];
    const shape = shapeOf(values, choices, bound);
    let templates = shapes.get(shape);
    if (!templates) {
      if (shapes.size >= MAX_SHAPES) shapes.clear();
      templates = replaced(build(builder, ...(withSlots(values, choices, { next: 0 }) as Values)), isStatement, templateOf);
      shapes.set(shape, templates);
    }
    return replaced(templates, isTemplate, (template) => statementOf(db, template, bound)) as Built;
  };
  return Object.assign(use, { build });
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

function isStatement(node: object): node is AnyStatement {
  return "_prepare" in node;
}

/** A value that is bound when the statements are used. */
class Slot extends Placeholder {
  /** A build that computes with a value, or puts it into a text, would do so once for all values. */
  [Symbol.toPrimitive](): never {
    throw new TypeError("A compiled statement binds its values, and can neither compute with them nor write them as text");
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

/** Whether it is bound; a compiled statement within another gets the slots of that one. */
function isBound(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || value instanceof Slot;
}

/** Adds what is bound to `bound`. */
function shapeOf(value: unknown, choices: readonly string[], bound: unknown[]): string {
  if (isBound(value)) {
    bound.push(value);
    return "?";
  }
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => shapeOf(item, choices, bound)).join()}]`;
  let shape = "";
  for (const name in value) {
    const item = (value as Record<string, unknown>)[name];
    shape += `${name}:${choices.includes(name) ? String(item) : shapeOf(item, choices, bound)},`;
  }
  return `{${shape}}`;
}

/** In the order of `shapeOf`. */
function withSlots(value: unknown, choices: readonly string[], numbers: { next: number }): unknown {
  if (isBound(value)) return new Slot(String(numbers.next++));
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withSlots(item, choices, numbers));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, choices.includes(name) ? item : withSlots(item, choices, numbers)]),
  );
}

function templateOf(statement: AnyStatement): Template {
  const prepared = statement._prepare();
  const query = prepared.getQuery();
  return { sql: query.sql, parameters: query.params.map(parameterOf), mapResult: resultMapper(prepared) };
}

function parameterOf(param: unknown): Parameter {
  if (is(param, Placeholder)) return { at: Number(param.name), encode: undefined, constant: undefined };
  if (!is(param, Param) || !is(param.value, Placeholder)) return { at: undefined, encode: undefined, constant: param };
  const { encoder, value } = param;
  return { at: Number(value.name), encode: (given) => encoder.mapToDriverValue(given), constant: undefined };
}

/** Maps rows as drizzle does, in the order of the fields; only JSON, booleans and the like need decoding. */
function resultMapper(prepared: Prepared): (result: Rows) => unknown {
  const columns = prepared.fields?.map(({ path: [name = "", ...inner], field }) => ({ name, inner, decode: decoderOf(field) }));
  // Without fields it is a write without `returning`; fields of fields are those of a join.
  if (!columns || columns.some(({ inner }) => inner.length > 0)) return (result) => prepared.mapResult(result, true);
  return ({ results }) => {
    const keys = Object.keys(results[0] ?? {});
    return results.map((row) => {
      const mapped: Record<string, unknown> = {};
      for (let at = 0; at < columns.length; at++) {
        const { name, decode } = columns[at]!;
        const value = row[keys[at]!];
        mapped[name] = decode === undefined || value === null ? value : decode(value);
      }
      return mapped;
    });
  };
}

/** Undefined where the value stays as it is. */
function decoderOf(field: unknown): ((value: unknown) => unknown) | undefined {
  if (is(field, Column)) {
    const isPlain = field.mapFromDriverValue === Column.prototype.mapFromDriverValue;
    return isPlain ? undefined : (value) => field.mapFromDriverValue(value);
  }
  const { decoder } = (is(field, SQL.Aliased) ? field.sql : field) as { decoder: { mapFromDriverValue(value: unknown): unknown } };
  return (value) => decoder.mapFromDriverValue(value);
}

function statementOf(db: Database, { sql: text, parameters, mapResult }: Template, bound: readonly unknown[]): object {
  const params = parameters.map(({ at, encode, constant }) => (at === undefined ? constant : encode ? encode(bound[at]) : bound[at]));
  const query: Query = { sql: text, params };
  const client = (db as unknown as { $client: D1Database }).$client;
  return { _prepare: () => ({ getQuery: () => query, stmt: client.prepare(text), mapResult }), toSQL: () => query };
}
