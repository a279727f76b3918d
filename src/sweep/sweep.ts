import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { boundShards, shardDb } from "../platform/db/client.ts";
import { listShards, logShardFailure, readSize, warnAboutShard } from "../platform/db/shards.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { type Chore, choresOf, tidyingOf } from "./chores.ts";

/** What a run found of each kind, and how much of its work failed. */
type Found = Record<string, number> & { failed: number };

/** What a run did for one shard. */
export interface Swept {
  found: Found;
  cost: Cost;
}

/**
 * What cron does each minute: it finds what was left lying by wake-ups that were lost or died, and starts it again.
 * @param sweepOne takes care of one shard.
 */
export async function sweep(
  env: Env,
  nowMs: number,
  sweepOne = (shard: number): Promise<Swept> => sweepShard(env, shard, nowMs),
): Promise<void> {
  await measureJob(env, { job: "sweep" }, (meter) => sweepShards(env, meter, sweepOne), endOf);
}

/** One database that is out of reach, or not migrated, keeps no other from its turn. */
async function sweepShards(env: Env, meter: Meter, sweepOne: (shard: number) => Promise<Swept>): Promise<Found> {
  const totals: Found = { failed: 0 };
  const shards = boundShards(env);
  const swept = await Promise.allSettled(shards.map((shard) => sweepOne(shard)));
  for (const [at, result] of swept.entries()) {
    if (result.status === "rejected") {
      logShardFailure("shard_not_swept", shards[at]!, result.reason);
      totals.failed++;
      continue;
    }
    meter.add(result.value.cost);
    for (const [kind, count] of Object.entries(result.value.found)) totals[kind] = (totals[kind] ?? 0) + count;
  }
  return totals;
}

function endOf(found: Found): JobResult {
  return { outcome: found.failed === 0 ? "done" : "partly_failed", fields: found };
}

/** Sweeps one shard: one trip finds what is left lying and removes what is old, then each chore is done by itself. */
async function sweepShard(env: Env, shard: number, nowMs: number): Promise<Swept> {
  const meter = new Meter();
  const db = shardDb(env, shard, meter);
  const chores = choresOf({ env, meter, db, nowMs });
  const [size, known, ...found] = await db.batch([
    readSize(db),
    listShards(db),
    ...chores.map(({ find }) => find),
    ...tidyingOf(db, nowMs),
  ]);
  warnAboutShard(env, shard, size.meta.size_after, known);
  const rows = chores.map((_, at) => found[at] as unknown[]);
  const results = (await Promise.all(chores.map((chore, at) => settle(chore, rows[at]!)))).flat();
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) logProblem("sweep_failed", {}, reason);
  const counts = Object.fromEntries(chores.map(({ kind }, at) => [kind, rows[at]!.length]));
  return { found: { ...counts, failed: failures.length }, cost: meter.cost };
}

/** How each piece of a chore's work ended: one that fails keeps no other from its turn. */
async function settle({ work }: Chore, rows: unknown[]): Promise<PromiseSettledResult<unknown>[]> {
  try {
    return await Promise.allSettled(await work(rows));
  } catch (reason) {
    return [{ status: "rejected", reason }];
  }
}

/**
 * Sweeps a shard in an invocation of its own: the platform bounds the queries and calls of each, and a deployment may have
 * many shards.
 */
export class ShardSweeper extends WorkerEntrypoint<Env> {
  async sweep(shard: number, nowMs: number): Promise<Swept> {
    return sweepShard(this.env, shard, nowMs);
  }
}

/** Has a shard swept apart from the others. */
export async function sweepApart(shard: number, nowMs: number): Promise<Swept> {
  return exports.ShardSweeper.sweep(shard, nowMs);
}
