import { exports } from "cloudflare:workers";
import { boundShards } from "../platform/db/bindings.ts";
import { type Database, shardDb } from "../platform/db/client.ts";
import { explainShardError } from "../platform/db/shard-binding.ts";
import { listShards, logShardFailure, readSize, warnAboutShard } from "../platform/db/shards.ts";
import { putOff } from "../platform/db/waiting.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { runGroups } from "./groups.ts";
import { listPrunes, listTasks, type Task } from "./tasks.ts";

/** How many rows each task of a run found, and how much of the work failed. */
type Counts = Record<string, number> & { failed: number };

/**
 * How many shards a run sweeps. Each is swept in an invocation of its own, and the platform allows 32 invocations a request. If there are
 * more shards, they take turns, minute by minute.
 */
const MAX_SHARDS_PER_RUN = 30;
const RUN_MS = 60_000;

/** The result of a run in one shard. */
export interface SweepResult {
  counts: Counts;
  cost: Cost;
}

/**
 * Finds work whose wake-up was lost or whose worker was interrupted, starts it again, and deletes old rows. The cron runs it each
 * minute. `listTasks` and `listPrunes` name its tasks. If there are more than `MAX_SHARDS_PER_RUN` shards, each run sweeps some of them.
 * @param sweepOne sweeps one shard.
 */
export async function sweep(
  env: Env,
  nowMs: number,
  sweepOne = (shard: number): Promise<SweepResult> => sweepShard(env, shard, nowMs),
): Promise<void> {
  await measureJob(env, { job: "sweep" }, (meter) => sweepShards(shardsOf(env, nowMs), meter, sweepOne), toJobResult);
}

/** Returns the shards that are swept in this minute. */
function shardsOf(env: Env, nowMs: number): number[] {
  const shards = boundShards(env);
  const runs = Math.ceil(shards.length / MAX_SHARDS_PER_RUN);
  const turn = Math.floor(nowMs / RUN_MS) % runs;
  return shards.filter((_, at) => at % runs === turn);
}

/** A database that is unreachable, or not migrated, does not stop the others. */
async function sweepShards(shards: readonly number[], meter: Meter, sweepOne: (shard: number) => Promise<SweepResult>): Promise<Counts> {
  const totals: Counts = { failed: 0 };
  const results = await Promise.allSettled(shards.map((shard) => sweepOne(shard)));
  for (const [at, result] of results.entries()) {
    if (result.status === "rejected") {
      logShardFailure("shard_not_swept", shards[at]!, result.reason);
      totals.failed++;
      continue;
    }
    meter.add(result.value.cost);
    for (const [kind, count] of Object.entries(result.value.counts)) totals[kind] = (totals[kind] ?? 0) + count;
  }
  return totals;
}

function toJobResult(counts: Counts): JobResult {
  return { outcome: counts.failed === 0 ? "done" : "partly_failed", fields: counts };
}

/**
 * Sweeps one shard. One round trip finds the work of all tasks and deletes old rows; then each task runs by itself, so that its
 * failure does not stop the others.
 * @throws Error if no statement succeeds, because the database cannot be reached.
 */
export async function sweepShard(env: Env, shard: number, nowMs: number): Promise<SweepResult> {
  const meter = new Meter();
  const db = shardDb(env, shard, meter);
  const tasks = listTasks({ env, meter, db, nowMs });
  const state = [readSize(db), listShards(db)] as const;
  const results = await runGroups(db, [state, ...tasks.map(({ find }) => [find] as const), ...listPrunes(db, nowMs)]);
  const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length === results.length) throw failures[0];
  const ofShard = failures.find((reason) => explainShardError(reason) !== undefined);
  if (ofShard) logShardFailure("shard_not_swept", shard, ofShard);
  const [first] = results;
  if (first?.status === "fulfilled") {
    const [size, known] = first.value as [Awaited<(typeof state)[0]>, Awaited<(typeof state)[1]>];
    warnAboutShard(env, shard, size.meta.size_after, known);
  }
  const runs = await Promise.all(tasks.map((task, at) => runTask(task, results[at + 1]!)));
  await putOffFailed(db, runs, nowMs);
  const prunesFailed = results.slice(tasks.length + 1).filter((result) => result.status === "rejected");
  for (const { reason } of prunesFailed) logProblem("sweep_failed", { task: "pruning" }, reason);
  const failed = runs.reduce((sum, run) => sum + run.failed, 0) + prunesFailed.length;
  return { counts: { ...Object.fromEntries(runs.map(({ kind, found }) => [kind, found])), failed }, cost: meter.cost };
}

/** The result of a task. */
interface TaskRun {
  kind: string;
  /** How many rows it found. */
  found: number;
  failed: number;
  /** The keys of the work that is put off. */
  failedKeys: string[];
}

/** Runs a task's work on the rows that its statement found; a piece that fails does not stop the others. */
async function runTask({ kind, work }: Task, result: PromiseSettledResult<unknown[]>): Promise<TaskRun> {
  const fail = (reason: unknown) => logProblem("sweep_failed", { task: kind }, reason);
  if (result.status === "rejected") {
    fail(result.reason);
    return { kind, found: 0, failed: 1, failedKeys: [] };
  }
  const rows = result.value[0] as unknown[];
  try {
    const pieces = await work(rows);
    const ends = await Promise.allSettled(pieces.map(({ done }) => done));
    const failed = pieces.filter((_, at) => ends[at]!.status === "rejected");
    for (const end of ends) if (end.status === "rejected") fail(end.reason);
    return { kind, found: rows.length, failed: failed.length, failedKeys: failed.flatMap(({ key }) => key ?? []) };
  } catch (reason) {
    fail(reason);
    return { kind, found: rows.length, failed: 1, failedKeys: [] };
  }
}

/** Puts off the failed work in one round trip. If that fails, the next run tries the work again. */
async function putOffFailed(db: Database, runs: readonly TaskRun[], nowMs: number): Promise<void> {
  const failing = runs.filter(({ failedKeys }) => failedKeys.length > 0);
  const results = await runGroups(
    db,
    failing.map(({ kind, failedKeys }) => [putOff(db, kind, [...new Set(failedKeys)], nowMs)]),
  );
  for (const result of results) if (result.status === "rejected") logProblem("sweep_failed", { task: "backoff" }, result.reason);
}

/** Sweeps a shard in an invocation of its own. */
export async function sweepInOwnInvocation(shard: number, nowMs: number): Promise<SweepResult> {
  return exports.ShardSweeper.sweep(shard, nowMs);
}
