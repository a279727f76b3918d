import { drizzle, type DrizzleD1Database } from "drizzle-orm/d1";
import type { Meter } from "../telemetry/meter.ts";
import { bindingOf } from "./bindings.ts";
import { newId, shardOf } from "./ids.ts";
import { unboundShardError } from "./shard-binding.ts";

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
 * @throws Fault when the shard of the workspace is not bound; `explainShardError` explains it.
 */
export function newOperation(env: Env, meter: Meter, workspaceId: string, nowMs = Date.now()): Operation {
  const shard = shardOf(workspaceId);
  return { env, meter, workspaceId, db: shardDb(env, shard, meter), nowMs, newId: () => newId(shard, nowMs) };
}

/**
 * A shard's database.
 * @throws Fault when it is not bound.
 */
export function shardDb(env: Env, shard: number, meter: Meter): Database {
  const database = bindingOf(env, shard);
  if (!database) throw unboundShardError(shard);
  return metered(database, meter);
}

/** The database of the directories across workspaces, shard 0. */
export function directoryDb(env: Env, meter: Meter): Database {
  return metered(env.DB, meter);
}

/** Counts each round trip of a binding. */
function metered(database: D1Database, meter: Meter): Database {
  return drizzle(new MeteredDatabase(database, meter) as unknown as D1Database);
}

class MeteredDatabase {
  constructor(
    private readonly inner: D1Database,
    private readonly meter: Meter,
  ) {}

  prepare(query: string): MeteredStatement {
    return new MeteredStatement(this.inner.prepare(query), this.meter);
  }

  async batch(statements: MeteredStatement[]): Promise<D1Result[]> {
    const results = await this.inner.batch(statements.map((statement) => statement.inner));
    this.meter.countD1Trip(results);
    return results;
  }
}

class MeteredStatement {
  constructor(
    readonly inner: D1PreparedStatement,
    private readonly meter: Meter,
  ) {}

  bind(...values: unknown[]): MeteredStatement {
    return new MeteredStatement(this.inner.bind(...values), this.meter);
  }

  async all(): Promise<D1Result> {
    const result = await this.inner.all();
    this.meter.countD1Trip([result]);
    return result;
  }

  async run(): Promise<D1Result> {
    const result = await this.inner.run();
    this.meter.countD1Trip([result]);
    return result;
  }

  async raw(): Promise<unknown[]> {
    this.meter.countD1Trip([]);
    return this.inner.raw();
  }
}
