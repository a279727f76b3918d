import { drizzle, type DrizzleD1Database } from "drizzle-orm/d1";
import type { Meter } from "../telemetry/meter.ts";
import { requireBinding } from "./bindings.ts";
import { SHARD_IS_MOVING } from "./database-errors.ts";
import { newId, shardOf } from "./ids.ts";
import { placeOf, prepareIn, runWhereServed, type StatementText } from "./placement.ts";

export type Database = DrizzleD1Database;

/** The context of an operation on a workspace. */
export interface Operation {
  env: Env;
  /** Counts what the operation costs. */
  meter: Meter;
  workspaceId: string;
  /** The database of the workspace. */
  db: Database;
  nowMs: number;
  /** Creates an id for a new record of the workspace. A repeated idempotent request gets the same ids. */
  newId: () => string;
}

/**
 * Creates the context of an operation on a workspace. Requests use `operationOf` (`src/workspaces/checks.ts`).
 * @throws Fault when the map has no bound database for the workspace; `explainDatabaseError` explains it.
 */
export function newOperation(
  env: Env,
  meter: Meter,
  workspaceId: string,
  nowMs = Date.now(),
  db = dbFor(env, workspaceId, meter),
): Operation {
  const shard = shardOf(workspaceId);
  return { env, meter, workspaceId, db, nowMs, newId: () => newId(shard, nowMs) };
}

/**
 * Returns the database of a record, by its id.
 * @throws Fault when the map has no bound database for it.
 */
export function dbFor(env: Env, id: string, meter: Meter): Database {
  return dbOfShards(env, [shardOf(id)], meter);
}

/** Groups records by the database that they are in, so that one batch serves each group. */
export function groupByDatabase<Row>(
  env: Env,
  rows: Iterable<Row>,
  idOf: (row: Row) => string,
  meter: Meter,
): { db: Database; rows: Row[] }[] {
  const groups = Map.groupBy(rows, (row) => placeOf(env, shardOf(idOf(row))));
  return [...groups.values()].map((group) => {
    const shards = [...new Set(group.map((row) => shardOf(idOf(row))))];
    return { db: dbOfShards(env, shards, meter), rows: group };
  });
}

/**
 * Works on records in one group for each database. If some shards of a group have moved, its records are grouped and worked on once more.
 * @param work has no effect if it fails because a shard has moved, as is true of one batch.
 */
export async function runByDatabase<Row, Result>(
  env: Env,
  rows: Iterable<Row>,
  idOf: (row: Row) => string,
  meter: Meter,
  work: (db: Database, rows: Row[]) => Promise<Result>,
): Promise<Result[]> {
  const groups = groupByDatabase(env, rows, idOf, meter).map(async ({ db, rows: group }) => {
    try {
      return [await work(db, group)];
    } catch (error) {
      if (!SHARD_IS_MOVING.test(String(error))) throw error;
      return Promise.all(groupByDatabase(env, group, idOf, meter).map((again) => work(again.db, again.rows)));
    }
  });
  return (await Promise.all(groups)).flat();
}

function dbOfShards(env: Env, shards: readonly number[], meter: Meter): Database {
  requireBinding(env, placeOf(env, shards[0]!));
  return metered((statements) => runWhereServed(env, shards, statements), meter);
}

/**
 * Returns a whole database, by its number. It may hold former or incomplete copies of shards, which only `isServedHere` tells apart.
 * @throws Fault when it is not bound.
 */
export function wholeDatabase(env: Env, database: number, meter: Meter): Database {
  const binding = requireBinding(env, database);
  return metered((statements) => binding.batch(statements.map((statement) => prepareIn(binding, statement))), meter);
}

/** Returns the database of the directories across workspaces, DB. */
export function directoryDb(env: Env, meter: Meter): Database {
  return wholeDatabase(env, 0, meter);
}

/** Runs statements as one batch, in the database that it chooses. */
type Run = (statements: StatementText[]) => Promise<D1Result[]>;

/** Returns a database whose round trips are counted. */
export function metered(run: Run, meter: Meter): Database {
  return drizzle(new MeteredDatabase(run, meter) as unknown as D1Database);
}

class MeteredDatabase {
  constructor(
    private readonly run: Run,
    private readonly meter: Meter,
  ) {}

  prepare(query: string): MeteredStatement {
    return new MeteredStatement(this, query);
  }

  async batch(statements: MeteredStatement[]): Promise<D1Result[]> {
    const results = await this.run(statements.map(({ query, values }) => ({ query, values })));
    this.meter.countD1Trip(results);
    return results;
  }
}

class MeteredStatement implements StatementText {
  constructor(
    private readonly database: MeteredDatabase,
    readonly query: string,
    readonly values: readonly unknown[] = [],
  ) {}

  bind(...values: unknown[]): MeteredStatement {
    return new MeteredStatement(this.database, this.query, values);
  }

  async all(): Promise<D1Result> {
    const [result] = await this.database.batch([this]);
    return result!;
  }

  run(): Promise<D1Result> {
    return this.all();
  }

  async raw(): Promise<unknown[]> {
    const { results } = await this.all();
    return results.map((row) => Object.values(row as object));
  }
}
