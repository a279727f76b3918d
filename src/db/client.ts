import { drizzle, type DrizzleD1Database } from "drizzle-orm/d1";
import { Fault } from "../fault.ts";
import type { Meter } from "../meter.ts";
import { shardOf } from "./ids.ts";

export type Database = DrizzleD1Database;

/** The databases that the operator has bound, in shard order: DB, DB_1, DB_2, … */
export function databases(env: Env): D1Database[] {
  const bindings = env as unknown as Record<string, D1Database | undefined>;
  const found = [env.DB];
  for (let shard = 1; bindings[`DB_${shard}`]; shard++) found.push(bindings[`DB_${shard}`]!);
  return found;
}

/**
 * The database of the record (or workspace) with this identifier.
 * @throws Fault when the identifier names a shard that is not bound: only identifiers of our own workspaces come here.
 */
export function dbFor(env: Env, id: string, meter: Meter): Database {
  const shard = shardOf(id);
  const database = databases(env)[shard];
  if (!database) throw new Fault(`No D1 database is bound for shard ${shard}: bind DB_${shard}`);
  return metered(database, meter);
}

/** Whether the identifier names a shard that is bound. */
export function isBoundShard(env: Env, id: string): boolean {
  return shardOf(id) < databases(env).length;
}

/**
 * The database of a shard.
 * @returns undefined when none is bound for it.
 */
export function shardDb(env: Env, shard: number, meter: Meter): Database | undefined {
  const database = databases(env)[shard];
  return database && metered(database, meter);
}

/** The database that holds what crosses workspaces. */
export function directoryDb(env: Env, meter: Meter): Database {
  return metered(env.DB, meter);
}

/** Every shard's database, for what cron walks. */
export function allDbs(env: Env, meter: Meter): Database[] {
  return databases(env).map((database) => metered(database, meter));
}

/** Wraps a binding so that each round trip is counted. */
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
    this.meter.trip(results);
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
    this.meter.trip([result]);
    return result;
  }

  async run(): Promise<D1Result> {
    const result = await this.inner.run();
    this.meter.trip([result]);
    return result;
  }

  async raw(): Promise<unknown[]> {
    this.meter.trip([]);
    return this.inner.raw();
  }
}
