import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { resolveIdleWrites } from "../conversations/conversations.ts";
import { type ConversationKey, listIdle } from "../conversations/store.ts";
import { listDueMails, pruneArrivals } from "../email/store.ts";
import { wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import { indexAnswer } from "../knowledge/answers.ts";
import { wakeSources } from "../knowledge/sources.ts";
import { listStrandedSources, listUnindexedAnswers, requestDueSyncs } from "../knowledge/store.ts";
import { indexLeads, type LeadRow } from "../leads/leads.ts";
import { listUnindexedLeads } from "../leads/store.ts";
import type { ErasureMessage } from "../operator/erasure.ts";
import { listDeleted } from "../operator/store.ts";
import { boundShards, type Database, shardDb } from "../platform/db/client.ts";
import { listShards, logShardFailure, readSize, warnAboutShard } from "../platform/db/shards.ts";
import type { Statement } from "../platform/db/sql.ts";
import { KEY_LIFETIME_MS, pruneKeys } from "../platform/http/idempotency-store.ts";
import { sendWakeUps, WAKE_UP_TIMEOUT_MS } from "../platform/queue.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { filterReadable, resumeErasure } from "../privacy/erase.ts";
import { listUnfinishedErasures } from "../privacy/erasure-store.ts";
import { claimDueWorkspaces } from "../privacy/retention-store.ts";
import { PRUNE_INTERVAL_MS, type PruneMessage } from "../privacy/retention.ts";
import { listLogErasures } from "../webhooks/endpoint-store.ts";
import { continueLogErasure } from "../webhooks/endpoints.ts";
import { pruneLog, rescueOrphanedDeliveries, wakeOrphanedDeliveries } from "../webhooks/sweep.ts";

/** Rows of each task that one run handles in a shard; the next run, a minute later, continues. */
const MAX_PER_RUN = 100;
/** More leads, because one call indexes all of a workspace. */
const MAX_LEADS_PER_RUN = 1_000;
/** An erasure that takes longer is presumed dead; resuming one that is alive does no harm. */
const ERASURE_TIMEOUT_MS = 5 * 60_000;
const MAX_ERASURES_PER_RUN = 5;
/** How long received emails are remembered: mail servers retry for days. A later repeat only costs an answer. */
const EMAIL_DEDUPLICATION_MS = 7 * 24 * 60 * 60_000;
/** More than a minute adds; deleting a row costs little. */
const MAX_PRUNED_PER_RUN = 5_000;

/** How many rows each task of a run found, and how much of the work failed. */
type Counts = Record<string, number> & { failed: number };

/** The result of a run in one shard. */
export interface SweepResult {
  counts: Counts;
  cost: Cost;
}

/**
 * Runs each minute from cron: finds work whose wake-up was lost or whose worker died, starts it again, and deletes old rows.
 * `listTasks` names all that it does.
 * @param sweepOne sweeps one shard.
 */
export async function sweep(
  env: Env,
  nowMs: number,
  sweepOne = (shard: number): Promise<SweepResult> => sweepShard(env, shard, nowMs),
): Promise<void> {
  await measureJob(env, { job: "sweep" }, (meter) => sweepShards(env, meter, sweepOne), toJobResult);
}

/** A database that is unreachable, or not migrated, does not stop the others. */
async function sweepShards(env: Env, meter: Meter, sweepOne: (shard: number) => Promise<SweepResult>): Promise<Counts> {
  const totals: Counts = { failed: 0 };
  const shards = boundShards(env);
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

/** Sweeps one shard: one round trip finds the work of all tasks and deletes old rows, then each task runs by itself. */
async function sweepShard(env: Env, shard: number, nowMs: number): Promise<SweepResult> {
  const meter = new Meter();
  const db = shardDb(env, shard, meter);
  const tasks = listTasks({ env, meter, db, nowMs });
  const [size, known, ...found] = await db.batch([
    readSize(db),
    listShards(db),
    ...tasks.map(({ find }) => find),
    ...pruneOldRows(db, nowMs),
  ]);
  warnAboutShard(env, shard, size.meta.size_after, known);
  const rows = tasks.map((_, at) => found[at] as unknown[]);
  const results = (await Promise.all(tasks.map((task, at) => runTask(task, rows[at]!)))).flat();
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) logProblem("sweep_failed", {}, reason);
  const counts = Object.fromEntries(tasks.map(({ kind }, at) => [kind, rows[at]!.length]));
  return { counts: { ...counts, failed: failures.length }, cost: meter.cost };
}

/** Runs a task's work; a piece that fails does not stop the others. */
async function runTask({ work }: Task, rows: unknown[]): Promise<PromiseSettledResult<unknown>[]> {
  try {
    return await Promise.allSettled(await work(rows));
  } catch (reason) {
    return [{ status: "rejected", reason }];
  }
}

/** Sweeps a shard in an invocation of its own, because the platform limits the queries and calls of each. */
export class ShardSweeper extends WorkerEntrypoint<Env> {
  async sweep(shard: number, nowMs: number): Promise<SweepResult> {
    return sweepShard(this.env, shard, nowMs);
  }
}

/** Sweeps a shard in an invocation of its own. */
export async function sweepInOwnInvocation(shard: number, nowMs: number): Promise<SweepResult> {
  return exports.ShardSweeper.sweep(shard, nowMs);
}

/** A run of the sweep in one shard. */
interface Run {
  env: Env;
  meter: Meter;
  db: Database;
  nowMs: number;
}

type Work = readonly Promise<unknown>[];

/** A task of each run. */
interface Task {
  /** The name of its count in the log. */
  kind: string;
  /** Finds rows with unfinished work. */
  find: Statement;
  /** Starts the work on these rows. */
  work: (found: unknown[]) => Work | Promise<Work>;
}

/** The tasks of each run in a shard. */
function listTasks(run: Run): Task[] {
  const { env, db, nowMs } = run;
  const beforeMs = nowMs - WAKE_UP_TIMEOUT_MS;
  return [
    task("prunes", claimDueWorkspaces(db, nowMs, nowMs + PRUNE_INTERVAL_MS, MAX_PER_RUN), (due) => [
      sendWakeUps(env.ERASURE_QUEUE, due.map(({ workspaceId }) => ({ workspaceId, prune: true })) satisfies PruneMessage[]),
    ]),
    task("sources", listStrandedSources(db, beforeMs, nowMs, MAX_PER_RUN), (sources) => [wakeSources(env, sources)]),
    task("syncs", requestDueSyncs(db, nowMs, MAX_PER_RUN), (sources) => [wakeSources(env, sources)]),
    task("answers", listUnindexedAnswers(db, beforeMs, MAX_PER_RUN), (answers) => answers.map((answer) => indexAnswer(run, answer))),
    task("workspaces", listDeleted(db, beforeMs, MAX_PER_RUN), (deleted) => [
      sendWakeUps(env.ERASURE_QUEUE, deleted satisfies ErasureMessage[]),
    ]),
    task("conversations", listIdle(db, nowMs, MAX_PER_RUN), (idle) => [resolveIdle(run, idle)]),
    task("leads", listUnindexedLeads(db, beforeMs, MAX_LEADS_PER_RUN), (leads) => indexByWorkspace(run, leads)),
    task("erasures", listUnfinishedErasures(db, nowMs - ERASURE_TIMEOUT_MS, MAX_PER_RUN), async (unfinished) => {
      const readable = await filterReadable(env, unfinished);
      return readable.slice(0, MAX_ERASURES_PER_RUN).map((erasure) => resumeErasure({ ...run, workspaceId: erasure.workspaceId }, erasure));
    }),
    task("webhooks", listLogErasures(db, MAX_ERASURES_PER_RUN), (erasures) => erasures.map((erasure) => continueLogErasure(db, erasure))),
    task("mails", listDueMails(db, beforeMs, nowMs, MAX_PER_RUN), (mails) => [wakeEmails(env, mails)]),
    task("deliveries", rescueOrphanedDeliveries(db, nowMs), (orphans) => [wakeOrphanedDeliveries(env, orphans)]),
  ];
}

/** The statements that delete old rows. */
function pruneOldRows(db: Database, nowMs: number): Statement[] {
  return [
    ...pruneLog(db, nowMs),
    pruneArrivals(db, nowMs - EMAIL_DEDUPLICATION_MS, MAX_PRUNED_PER_RUN),
    pruneKeys(db, nowMs - KEY_LIFETIME_MS, MAX_PRUNED_PER_RUN),
  ];
}

/** A task whose work takes the rows of its statement; the list does not need their types. */
function task<Find extends Statement>(kind: string, find: Find, work: (found: Awaited<Find>) => Work | Promise<Work>): Task {
  return { kind, find, work: work as Task["work"] };
}

async function resolveIdle({ env, db, nowMs }: Run, idle: ConversationKey[]): Promise<void> {
  const [first, ...rest] = idle.flatMap((key) => resolveIdleWrites(db, key, nowMs));
  if (first) await wakeDeliveries(env, await db.batch([first, ...rest]));
}

/** Indexes leads, by workspace. */
function indexByWorkspace(run: Run, leads: LeadRow[]): Promise<void>[] {
  const byWorkspace = Map.groupBy(leads, ({ workspaceId }) => workspaceId);
  return [...byWorkspace].map(([workspaceId, rows]) => indexLeads({ ...run, workspaceId }, rows));
}
