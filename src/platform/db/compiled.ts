import { is, Param, Placeholder, type Query } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "./client.ts";

/*
 * Statements of hot paths, whose SQL is built once. Drizzle takes 35 to 100 µs of CPU to build a statement; using it again takes
 * a few microseconds.
 *
 * This implements `_prepare`, the internal interface between drizzle's queries and `db.batch`, because nothing public serves
 * here: `db.batch` accepts no prepared query, and `.prepare()` is tied to one database client, of which each request has its own.
 */

/** Builds SQL without a database. */
const builder = drizzle({ prepare: () => undefined } as unknown as D1Database);

/** The part of a statement that `db.batch` uses. */
interface Prepared {
  getQuery(): Query;
  mapResult(result: D1Result, isFromBatch?: boolean): unknown;
}

interface AnyStatement {
  _prepare(): Prepared;
}

interface Template {
  sql: string;
  /** For each parameter, a function that returns it for the values that are bound. */
  parameters: ((bound: readonly unknown[]) => unknown)[];
  prepared: Prepared;
}

/** The most shapes that are kept. A function has one for each combination of nulls, flags and lengths of lists in its values. */
const MAX_SHAPES = 200;

/**
 * Builds statements once for each shape of their values: which of them are null or missing, the flags, and the lengths of lists. They
 * are only for `db.batch`.
 * @param build gets a placeholder in place of every text, number and list of texts: it may bind them, but neither look at them nor
 * compute with them. It returns a statement, or statements in objects and lists.
 * @returns the function. It has `build` as a property, for tests.
 */
export function compiled<Values extends readonly unknown[], Built extends object>(
  build: (db: Database, ...values: Values) => Built,
): ((db: Database, ...values: Values) => Built) & { build: typeof build } {
  const shapes = new Map<string, object>();
  const use = (db: Database, ...values: Values) => {
    // Another compiled statement uses this one, with its own placeholders.
    if (db === builder) return build(db, ...values);
    const bound: unknown[] = [];
    const shape = JSON.stringify(Object.assign({}, values), (_, value: unknown) => {
      if (!isBound(value)) return value;
      bound.push(value);
      return SLOT;
    });
    let templates = shapes.get(shape);
    if (!templates) {
      if (shapes.size >= MAX_SHAPES) shapes.clear();
      const built = build(builder, ...(withSlots(shape, values.length) as unknown as Values));
      templates = replaced(built, (node) => ("_prepare" in node ? templateOf(node as AnyStatement) : undefined));
      shapes.set(shape, templates);
    }
    return replaced(templates, (node) => ("prepared" in node ? statementOf(db, node as Template, bound) : undefined)) as Built;
  };
  return Object.assign(use, { build });
}

/** Stands for a bound value in a shape. */
const SLOT = "?";

function isBound(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((item) => typeof item === "string");
  return typeof value === "string" || typeof value === "number";
}

/** The values of a shape, with a placeholder for each that is bound. */
function withSlots(shape: string, length: number): unknown[] {
  let next = 0;
  const values = JSON.parse(shape, (_, value: unknown) => (value === SLOT ? new Slot(String(next++)) : value)) as object;
  return Array.from({ ...values, length });
}

/** A value that is bound when the statements are used. */
class Slot extends Placeholder {
  /** Throws, because a build that computes with a value, or puts it into a text, would do so only once, for all values. */
  [Symbol.toPrimitive](): never {
    throw new TypeError("A compiled statement binds its values, and can neither compute with them nor write them as text");
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

/** A copy of objects and lists in which each node that has a replacement is replaced. */
function replaced(tree: object, replacementOf: (node: object) => object | undefined): object {
  const replacement = replacementOf(tree);
  if (replacement) return replacement;
  if (Array.isArray(tree)) return tree.map((node: object) => replaced(node, replacementOf));
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, replaced(node as object, replacementOf)]));
}

function templateOf(statement: AnyStatement): Template {
  const prepared = statement._prepare();
  const { sql, params } = prepared.getQuery();
  return { sql, parameters: params.map(parameterOf), prepared };
}

function parameterOf(param: unknown): Template["parameters"][number] {
  if (is(param, Placeholder)) return (bound) => bound[Number(param.name)];
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param;
  const { encoder, value } = param;
  return (bound) => encoder.mapToDriverValue(bound[Number(value.name)]);
}

function statementOf(db: Database, { sql, parameters, prepared }: Template, bound: readonly unknown[]): object {
  const query: Query = { sql, params: parameters.map((parameter) => parameter(bound)) };
  const client = (db as unknown as { $client: D1Database }).$client;
  const mapResult = (result: D1Result) => prepared.mapResult(result, true);
  return { _prepare: () => ({ getQuery: () => query, stmt: client.prepare(sql), mapResult }), toSQL: () => query };
}
