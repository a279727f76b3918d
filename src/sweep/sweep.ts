import { exports } from "cloudflare:workers";
import { boundDatabases } from "../platform/db/bindings.ts";
import { type Database, wholeDatabase } from "../platform/db/client.ts";
import { explainDatabaseError } from "../platform/db/database-errors.ts";
import {
  listOwnShards,
  listShards,
  logDatabaseFailure,
  readSize,
  warnAboutMisplaced,
  warnAboutSize,
  warnAboutUnbound,
} from "../platform/db/shards.ts";
import { runGroups } from "../platform/db/groups.ts";
import { putOff } from "../platform/db/waiting.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { listPrunes, listTasks, type Task } from "./tasks.ts";

/** How many rows each task of a run found, and how much of the work failed. */
type Counts = Record<string, number> & { failed: number };

/**
 * How many databases a run sweeps. Each is swept in an invocation of its own, and the platform allows 32 invocations a request. If there are
 * more databases, they take turns, minute by minute.
 */
const MAX_DATABASES_PER_RUN = 30;
const RUN_MS = 60_000;

/** The result of a run in one database. */
export interface SweepResult {
  counts: Counts;
  cost: Cost;
}

/**
 * Finds work whose wake-up was lost or whose worker was interrupted, starts it again, and deletes old rows. The cron runs it each
 * minute. `listTasks` and `listPrunes` name its tasks. If there are more than `MAX_DATABASES_PER_RUN` databases, each run sweeps some of them.
 * @param sweepOne sweeps one database.
 */
export async function sweep(
  env: Env,
  nowMs: number,
  sweepOne = (database: number): Promise<SweepResult> => sweepDatabase(env, database, nowMs),
): Promise<void> {
  await measureJob(env, { job: "sweep" }, (meter) => sweepDatabases(databasesOf(env, nowMs), meter, sweepOne), toJobResult);
}

/** Returns the databases that are swept in this minute. */
function databasesOf(env: Env, nowMs: number): number[] {
  const databases = boundDatabases(env);
  const runs = Math.ceil(databases.length / MAX_DATABASES_PER_RUN);
  const turn = Math.floor(nowMs / RUN_MS) % runs;
  return databases.filter((_, at) => at % runs === turn);
}

/** Sweeps databases, and adds up their counts. A database that is unreachable, or not migrated, does not stop the others. */
async function sweepDatabases(
  databases: readonly number[],
  meter: Meter,
  sweepOne: (database: number) => Promise<SweepResult>,
): Promise<Counts> {
  const totals: Counts = { failed: 0 };
  const results = await Promise.allSettled(databases.map((database) => sweepOne(database)));
  for (const [at, result] of results.entries()) {
    if (result.status === "rejected") {
      logDatabaseFailure("database_not_swept", databases[at]!, result.reason);
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
 * Sweeps one database. One round trip finds the work of all tasks and deletes old rows; then each task runs by itself, so that its
 * failure does not stop the others.
 * @throws Error if no statement succeeds, because the database cannot be reached.
 */
export async function sweepDatabase(env: Env, database: number, nowMs: number): Promise<SweepResult> {
  const meter = new Meter();
  const db = wholeDatabase(env, database, meter);
  const tasks = listTasks({ env, meter, db, nowMs });
  const state = [readSize(db), listShards(db), listOwnShards(db)] as const;
  const results = await runGroups(db, [state, ...tasks.map(({ find }) => [find] as const), ...listPrunes(db, nowMs)]);
  const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length === results.length) throw failures[0];
  const ofDatabase = failures.find((reason) => explainDatabaseError(reason) !== undefined);
  if (ofDatabase) logDatabaseFailure("database_not_swept", database, ofDatabase);
  const [first] = results;
  if (first?.status === "fulfilled") {
    const [size, known, own] = first.value as [Awaited<(typeof state)[0]>, Awaited<(typeof state)[1]>, Awaited<(typeof state)[2]>];
    warnAboutSize(database, size.meta.size_after);
    warnAboutUnbound(env, known);
    warnAboutMisplaced(env, database, own);
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

/** Sweeps a database in an invocation of its own. */
export async function sweepInOwnInvocation(database: number, nowMs: number): Promise<SweepResult> {
  return exports.DatabaseSweeper.sweep(database, nowMs);
}
