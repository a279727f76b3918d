import { and, eq, gt, sql } from "drizzle-orm";
import { logProblem } from "../telemetry/log.ts";
import type { Meter } from "../telemetry/meter.ts";
import { boundShards, type Database, directoryDb, isBoundShard, shardDb } from "./client.ts";
import { shardOf } from "./ids.ts";
import { shards, workspaces } from "./schema.ts";
import { explainShardError } from "./shard-binding.ts";

/**
 * A database of this size takes no new workspaces. D1 ends at 10 GB; what is left is for the workspaces that are there
 * already, which keep growing: at the 8 KB of a conversation of four questions, a quarter of a million of them.
 */
export const FULL_SHARD_BYTES = 8_000_000_000;

/** What decides where a new workspace goes. */
export interface ShardState {
  shard: number;
  workspacesCount: number;
  sizeBytes: number;
}

/** The shard for a new workspace: of those with room the one that holds the fewest, the first of several. Undefined when none has room. */
export function chooseShard(states: readonly ShardState[], closed: ReadonlySet<number>): number | undefined {
  const open = states.filter(({ shard, sizeBytes }) => sizeBytes < FULL_SHARD_BYTES && !closed.has(shard));
  return open.toSorted((a, b) => a.workspacesCount - b.workspacesCount || a.shard - b.shard)[0]?.shard;
}

/** How full each bound shard is: one trip to each, side by side. One that cannot be asked, or lacks migrations, is left out and logged. */
export async function listShardStates(env: Env, meter: Meter, counts: readonly { shard: number; workspacesCount: number }[]) {
  const states = boundShards(env).map(async (shard): Promise<ShardState[]> => {
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

/** The shards that are bound, and those that are not but hold workspaces, in order. One trip to the directory. */
export async function listKnownShards(env: Env, meter: Meter): Promise<number[]> {
  const directory = directoryDb(env, meter);
  const [counts] = await directory.batch([listShards(directory)]);
  const used = counts.filter(({ workspacesCount }) => workspacesCount > 0).map(({ shard }) => shard);
  return [...new Set([...boundShards(env), ...used])].toSorted((a, b) => a - b);
}

/** Whether an identifier can name a record: its shard is bound, or was, and holds workspaces still. */
export async function isKnownShard(env: Env, meter: Meter, id: string): Promise<boolean> {
  if (isBoundShard(env, id)) return true;
  const directory = directoryDb(env, meter);
  const [used] = await directory.batch([findUsedShard(directory, shardOf(id))]);
  return used.length > 0;
}

/** The log's line for a shard that did not do what was asked of it, with what mends it where that is known. */
export function logShardFailure(event: string, shard: number, error: unknown): void {
  const fault = explainShardError(error);
  if (fault === undefined) logProblem(event, { shard }, error);
  else logProblem(event, { shard, detail: fault });
}

/** What a run of the sweep says of a shard that needs the operator: it is nearly full, or others are known that are not bound. */
export function warnAboutShard(env: Env, shard: number, sizeBytes: number, known: Awaited<ReturnType<typeof listShards>>): void {
  if (sizeBytes >= FULL_SHARD_BYTES) {
    const detail = "It takes no new workspaces: bind another database, and set retention for the largest workspaces.";
    logProblem("shard_full", { shard, size_bytes: sizeBytes, detail });
  }
  const bound = new Set(boundShards(env));
  for (const { shard: missing, workspacesCount } of known) {
    if (workspacesCount === 0 || bound.has(missing)) continue;
    const detail = `Bind its database as DB_${missing}: its workspaces are out of reach until then.`;
    logProblem("shard_unbound", { shard: missing, workspaces: workspacesCount, detail });
  }
}

/** How many workspaces each shard holds, as shard 0 knows; a shard without any may have no row. */
export function listShards(directory: Database) {
  return directory.select().from(shards);
}

/** The shard's row in shard 0, if it holds a workspace. */
export function findUsedShard(directory: Database, shard: number) {
  return directory
    .select()
    .from(shards)
    .where(and(eq(shards.shard, shard), gt(shards.workspacesCount, 0)));
}

/** Reads next to nothing: the result's `meta.size_after` says how large the database is. */
export function readSize(db: Database) {
  return db.run(sql`SELECT 1`);
}

/** Fails where the newest migrations are missing, since it names every column that a workspace's row has today. */
export function readColumns(db: Database) {
  return db.select().from(workspaces).where(eq(workspaces.id, ""));
}
