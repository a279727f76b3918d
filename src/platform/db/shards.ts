import { gt, sql } from "drizzle-orm";
import { logProblem } from "../telemetry/log.ts";
import type { Meter } from "../telemetry/meter.ts";
import { bindingOf } from "./bindings.ts";
import { type Database, wholeDatabase } from "./client.ts";
import { explainDatabaseError } from "./database-errors.ts";
import { shardMoves, shards, workspaces } from "./schema.ts";
import { bindingName, databaseOf } from "./shard-map.ts";

/**
 * A larger database gets no new workspaces. D1's limit is 10 GB; the rest is for the growth of existing workspaces, a quarter
 * of a million conversations at 8 KB each.
 */
export const FULL_DATABASE_BYTES = 8_000_000_000;

/** How many workspaces a logical shard holds. */
interface ShardCount {
  shard: number;
  workspacesCount: number;
}

/**
 * Chooses the shard for a new workspace: one of those with the fewest workspaces, at random. Returns undefined if there is none to choose
 * from.
 */
export function chooseShard(open: readonly number[], counts: readonly ShardCount[]): number | undefined {
  const countOf = new Map(counts.map(({ shard, workspacesCount }) => [shard, workspacesCount]));
  const fewest = Math.min(...open.map((shard) => countOf.get(shard) ?? 0));
  const emptiest = open.filter((shard) => (countOf.get(shard) ?? 0) === fewest);
  return emptiest[Math.floor(Math.random() * emptiest.length)];
}

/**
 * Lists those of these databases that have room for new workspaces, by one parallel query to each. A database that fails or lacks
 * migrations is left out and logged.
 */
export async function listOpenDatabases(env: Env, meter: Meter, databases: readonly number[]): Promise<number[]> {
  const isOpen = databases.map(async (database) => {
    try {
      const db = wholeDatabase(env, database, meter);
      const [size] = await db.batch([readSize(db), readColumns(db)]);
      return size.meta.size_after < FULL_DATABASE_BYTES;
    } catch (error) {
      logDatabaseFailure("database_left_out", database, error);
      return false;
    }
  });
  const answers = await Promise.all(isOpen);
  return databases.filter((_, at) => answers[at]);
}

/** Logs an error of a database, with what the operator must repair if that is known. */
export function logDatabaseFailure(event: string, database: number, error: unknown): void {
  const detail = explainDatabaseError(error);
  const binding = bindingName(database);
  if (detail === undefined) logProblem(event, { database: binding }, error);
  else logProblem(event, { database: binding, detail });
}

/** Logs that a database is nearly full. */
export function warnAboutSize(database: number, sizeBytes: number): void {
  if (sizeBytes < FULL_DATABASE_BYTES) return;
  const detail = "It gets no new workspaces: move some of its shards to another database, and set retention for the largest workspaces.";
  logProblem("database_full", { database: bindingName(database), size_bytes: sizeBytes, detail });
}

/** Logs which shards hold workspaces, but have no database that is bound. */
export function warnAboutUnbound(env: Env, used: readonly ShardCount[]): void {
  const unbound = used.filter(({ shard }) => bindingOf(env, databaseOf(env, shard) ?? -1) === undefined);
  for (const [database, counts] of Map.groupBy(unbound, ({ shard }) => databaseOf(env, shard))) {
    const detail =
      database === undefined
        ? `Add the shards ${counts.map(({ shard }) => shard).join(", ")} to SHARD_MAP: their workspaces are unreachable until then.`
        : `Bind its database as ${bindingName(database)}: its workspaces are unreachable until then.`;
    const count = counts.reduce((sum, { workspacesCount }) => sum + workspacesCount, 0);
    logProblem("database_unbound", { database: database === undefined ? null : bindingName(database), workspaces: count, detail });
  }
}

/** Logs which shards have workspaces in a database that the map does not assign to it, and that did not move there. */
export function warnAboutMisplaced(env: Env, database: number, own: readonly { shard: string }[]): void {
  const misplaced = own.map(({ shard }) => Number.parseInt(shard, 16)).filter((shard) => databaseOf(env, shard) !== database);
  if (misplaced.length === 0) return;
  const detail = `It holds workspaces of the shards ${misplaced.join(", ")}, which SHARD_MAP gives to another one. Assign them to ${bindingName(database)}.`;
  logProblem("shards_misplaced", { database: bindingName(database), detail });
}

/** Lists the shards of the workspaces in a database, except those that ever moved from or to it. */
export function listOwnShards(db: Database) {
  const shard = sql<string>`substr(${workspaces.id}, -2)`;
  return db
    .selectDistinct({ shard: shard.as("shard") })
    .from(workspaces)
    .where(sql`${shard} NOT IN (SELECT ${shardMoves.shard} FROM ${shardMoves})`);
}

/** Lists how many workspaces each logical shard holds, from the directory. Shards without workspaces are left out. */
export function listShards(directory: Database) {
  return directory.select().from(shards).where(gt(shards.workspacesCount, 0));
}

/** Reads the size of a database, as `meta.size_after` of the result of a trivial query. */
export function readSize(db: Database) {
  return db.run(sql`SELECT 1`);
}

/** Fails if migrations are missing, since it names all columns of `workspaces`. */
function readColumns(db: Database) {
  return db
    .select()
    .from(workspaces)
    .where(sql`${workspaces.id} = ''`);
}
