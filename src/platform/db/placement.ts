import { type Column, type SQL, sql } from "drizzle-orm";
import { bindingOf, requireBinding } from "./bindings.ts";
import { shardMoves } from "./schema.ts";
import { databaseOf } from "./shard-map.ts";
import { unmappedShardError } from "./database-errors.ts";

/*
 * Finds the database of a logical shard while shards move between databases.
 *
 * The map of the configuration says where a shard is, unless the shard has moved since. A row of `shard_moves` in either database
 * says so: `left` in the former one, and `arriving` in the new one until the move is complete. The first statement of every batch is a
 * guard that reads this row, in the transaction of the batch, and fails where the shard is not served. The batch is then run in the
 * other database. So no batch reads or writes a former copy, however old the configuration of its isolate is.
 */

/** The databases in which an isolate last found shards that are not where the map says. The guard corrects an entry that is out of date. */
const found = new Map<number, number>();

/** How often a batch follows a shard: from an outdated place to the map's, and from there to the shard's. */
const MAX_FOLLOWS = 3;

/** Fails if this database does not serve some of the shards. The message names each of them with its other database. */
const GUARD = `SELECT json_extract('{}', group_concat('shard_' || state || ' ' || shard || ' ' || other)) FROM shard_moves
  WHERE shard IN (SELECT value FROM json_each(?1)) AND (state = 'left' OR state = 'arriving' AND ?2 = 0)`;
const ELSEWHERE = /shard_(left|arriving) ([0-9a-f]{2}) (\d+)/g;

/**
 * SQL condition: the shard of this workspace is served by this database, and its writes are not held. Statements on the rows of all
 * workspaces of a database need it, because the database may hold copies of shards that another one serves.
 */
export function isServedHere(workspaceId: Column | SQL): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${shardMoves} moved WHERE moved.shard = substr(${workspaceId}, -2)
    AND (moved.state IN ('left', 'arriving') OR moved.state = 'held' AND moved.held_until > unixepoch() * 1000))`;
}

/** Returns a logical shard as the two hexadecimal digits with which the identifiers of its records end. */
export function shardCode(shard: number): string {
  return shard.toString(16).padStart(2, "0");
}

/**
 * Returns the database in which a shard was last found, otherwise that of the map.
 * @throws Fault if the map leaves the shard out.
 */
export function placeOf(env: Env, shard: number): number {
  const place = found.get(shard);
  if (place !== undefined && bindingOf(env, place)) return place;
  const database = databaseOf(env, shard);
  if (database === undefined) throw unmappedShardError(shard);
  return database;
}

/** A statement that is prepared once its database is known. */
export interface StatementText {
  query: string;
  values: readonly unknown[];
}

/** Prepares a statement for a database. */
export function prepareIn(binding: D1Database, { query, values }: StatementText): D1PreparedStatement {
  return binding.prepare(query).bind(...values);
}

/**
 * Runs a batch in the database that serves these shards, which were all found in the same one.
 * @throws Fault if the database is not bound. Error if some of several shards have moved: grouped again, they are found.
 */
export async function runWhereServed(env: Env, shards: readonly number[], statements: readonly StatementText[]): Promise<D1Result[]> {
  const codes = JSON.stringify(shards.map(shardCode));
  let database = placeOf(env, shards[0]!);
  // A database that never had a shard has no row of it, so the guard would let its statements pass.
  const other = shards.find((shard) => placeOf(env, shard) !== database);
  if (other !== undefined) throw new Error(`shard_left ${shardCode(other)}: its batch is grouped with that of another database`);
  // Whether the former database has just named this one, so that the shard is complete here even if it is marked as arriving. A later call
  // asks again: by then the shard may have moved back, and be arriving here once more.
  let isConfirmed = false;
  for (let follows = 0; ; follows++) {
    const binding = requireBinding(env, database);
    try {
      const guard = binding.prepare(GUARD).bind(codes, Number(isConfirmed));
      const [, ...results] = await binding.batch([guard, ...statements.map((statement) => prepareIn(binding, statement))]);
      return results;
    } catch (error) {
      const elsewhere = [...String(error).matchAll(ELSEWHERE)];
      for (const [, state, code, other] of elsewhere) {
        database = Number(other);
        isConfirmed = state === "left";
        found.set(Number.parseInt(code!, 16), database);
      }
      if (elsewhere.length === 0 || shards.length > 1 || follows === MAX_FOLLOWS) throw error;
    }
  }
}
