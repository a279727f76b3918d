import { and, eq, gt, sql } from "drizzle-orm";
import { logProblem } from "../telemetry/log.ts";
import type { Meter } from "../telemetry/meter.ts";
import { boundShards, isBoundShard } from "./bindings.ts";
import { type Database, directoryDb, shardDb } from "./client.ts";
import { shardOf } from "./ids.ts";
import { shards, workspaces } from "./schema.ts";
import { explainShardError } from "./shard-binding.ts";

/**
 * A larger database gets no new workspaces. D1's limit is 10 GB; the rest is for the growth of existing workspaces, a quarter
 * of a million conversations at 8 KB each.
 */
export const FULL_SHARD_BYTES = 8_000_000_000;

export interface ShardState {
  shard: number;
  workspacesCount: number;
  sizeBytes: number;
}

/** The shard for a new workspace: the one with the fewest workspaces, then the lowest number. Undefined if all are full or closed. */
export function chooseShard(states: readonly ShardState[], closed: ReadonlySet<number>): number | undefined {
  const open = states.filter(({ shard, sizeBytes }) => sizeBytes < FULL_SHARD_BYTES && !closed.has(shard));
  return open.toSorted((a, b) => a.workspacesCount - b.workspacesCount || a.shard - b.shard)[0]?.shard;
}

/** The state of these shards, by one parallel query to each. A shard that fails or lacks migrations is left out and logged. */
export async function listShardStates(
  env: Env,
  meter: Meter,
  shards: readonly number[],
  counts: readonly { shard: number; workspacesCount: number }[],
) {
  const states = shards.map(async (shard): Promise<ShardState[]> => {
    try {
      const db = shardDb(env, shard, meter);
      const [size] = await db.batch([readSize(db), readColumns(db)]);
      const workspacesCount = counts.find((count) => count.shard === shard)?.workspacesCount ?? 0;
      return [{ shard, workspacesCount, sizeBytes: size.meta.size_after }];
    } catch (error) {
      logShardFailure("shard_left_out", shard, error);
      return [];
    }
  });
  return (await Promise.all(states)).flat();
}

/** The shards that are bound or hold workspaces, in order. */
export async function listKnownShards(env: Env, meter: Meter): Promise<number[]> {
  const directory = directoryDb(env, meter);
  const [counts] = await directory.batch([listShards(directory)]);
  const used = counts.filter(({ workspacesCount }) => workspacesCount > 0).map(({ shard }) => shard);
  return [...new Set([...boundShards(env), ...used])].toSorted((a, b) => a - b);
}

/** Whether an id can belong to a record: its shard is bound, or still holds workspaces. */
export async function isKnownShard(env: Env, meter: Meter, id: string): Promise<boolean> {
  if (isBoundShard(env, id)) return true;
  const directory = directoryDb(env, meter);
  const [used] = await directory.batch([findUsedShard(directory, shardOf(id))]);
  return used.length > 0;
}

/** Logs an error of a shard, with what the operator must repair if that is known. */
export function logShardFailure(event: string, shard: number, error: unknown): void {
  const detail = explainShardError(error);
  if (detail === undefined) logProblem(event, { shard }, error);
  else logProblem(event, { shard, detail });
}

/** Logs that a shard is nearly full, and which shards hold workspaces but are not bound. */
export function warnAboutShard(env: Env, shard: number, sizeBytes: number, known: Awaited<ReturnType<typeof listShards>>): void {
  if (sizeBytes >= FULL_SHARD_BYTES) {
    const detail = "It gets no new workspaces: bind another database, and set retention for the largest workspaces.";
    logProblem("shard_full", { shard, size_bytes: sizeBytes, detail });
  }
  const bound = new Set(boundShards(env));
  for (const { shard: missing, workspacesCount } of known) {
    if (workspacesCount === 0 || bound.has(missing)) continue;
    const detail = `Bind its database as DB_${missing}: its workspaces are unreachable until then.`;
    logProblem("shard_unbound", { shard: missing, workspaces: workspacesCount, detail });
  }
}

/** How many workspaces each shard holds, from the directory; a shard without workspaces may have no row. */
export function listShards(directory: Database) {
  return directory.select().from(shards);
}

/** The shard's row in the directory, if it holds workspaces. */
export function findUsedShard(directory: Database, shard: number) {
  return directory
    .select()
    .from(shards)
    .where(and(eq(shards.shard, shard), gt(shards.workspacesCount, 0)));
}

/** A trivial query: its result's `meta.size_after` is the size of the database. */
export function readSize(db: Database) {
  return db.run(sql`SELECT 1`);
}

/** Fails if migrations are missing, since it names all columns of `workspaces`. */
export function readColumns(db: Database) {
  return db.select().from(workspaces).where(eq(workspaces.id, ""));
}
