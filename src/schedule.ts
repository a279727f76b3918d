import { idleWrites } from "./conversations/changes.ts";
import type { ConversationKey } from "./conversations/moves-store.ts";
import { listIdle } from "./conversations/store.ts";
import { boundShards, type Database, shardDb } from "./db/client.ts";
import { listShards, readSize } from "./db/shard-store.ts";
import { logShardFailure, warnOfShard } from "./shards.ts";
import type { EmailMessage } from "./email/outbound.ts";
import { listDueMails, pruneArrivals } from "./email/store.ts";
import { KEY_LIFETIME_MS, pruneKeys } from "./http/idempotency-store.ts";
import { indexAnswer } from "./knowledge/answers.ts";
import { listStrandedSources, listUnindexedAnswers, requestDueSyncs } from "./knowledge/store.ts";
import { wakeSources } from "./knowledge/wake-source.ts";
import { indexLeads, type LeadRow } from "./leads/leads.ts";
import { listUnindexedLeads } from "./leads/store.ts";
import { type Cost, Meter } from "./meter.ts";
import type { ErasureMessage } from "./operator/erasure.ts";
import { listDeleted } from "./operator/store.ts";
import { readableErasures, resumeErasure } from "./privacy/erase.ts";
import { listUnfinishedErasures } from "./privacy/erasure-store.ts";
import { PRUNE_EVERY_MS, type PruneMessage } from "./retention/prune.ts";
import { takeDue } from "./retention/store.ts";
import { logProblem } from "./telemetry/log.ts";
import { type JobEnd, measureJob } from "./telemetry/measure-job.ts";
import { WAKE_UP_MS, wakeUp } from "./wake-up.ts";
import { eraseMoreLog } from "./webhooks/endpoints.ts";
import { listWebhookErasures } from "./webhooks/erasure-store.ts";
import { deliverySweep, wakeStranded } from "./webhooks/sweep.ts";
import { wakeDeliveries } from "./webhooks/wake.ts";

/** How much one run takes up of each kind and shard; the next run, a minute later, goes on. */
const MAX_A_RUN = 100;
/** More of these, since one call hands over all of a workspace. */
const MAX_LEADS_A_RUN = 1_000;
/** An erasure that takes longer than this is taken for dead; two at once do no harm. */
const ERASURE_MS = 5 * 60_000;
const MAX_ERASURES_A_RUN = 5;
/** Mail servers send one again for days; by then it is another mail to us, which costs an answer and nothing else. */
const MAIL_MEMORY_MS = 7 * 24 * 60 * 60_000;
/** More than a minute brings; deleting a row costs little. */
const MAX_PRUNED_A_RUN = 5_000;

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

function endOf(found: Found): JobEnd {
  return { outcome: found.failed === 0 ? "done" : "partly_failed", fields: found };
}

interface Run {
  env: Env;
  meter: Meter;
  nowMs: number;
}

/** Sweeps one shard. */
export async function sweepShard(env: Env, shard: number, nowMs: number): Promise<Swept> {
  const meter = new Meter();
  const run: Run = { env, meter, nowMs };
  const db = shardDb(env, shard, meter);
  const beforeMs = nowMs - WAKE_UP_MS;
  const [size, known, prunes, sources, syncs, answers, workspaces, conversations, leads, unfinished, webhooks, mails, deliveries] =
    await db.batch([
      readSize(db),
      listShards(db),
      takeDue(db, nowMs, nowMs + PRUNE_EVERY_MS, MAX_A_RUN),
      listStrandedSources(db, beforeMs, nowMs, MAX_A_RUN),
      requestDueSyncs(db, nowMs, MAX_A_RUN),
      listUnindexedAnswers(db, beforeMs, MAX_A_RUN),
      listDeleted(db, beforeMs, MAX_A_RUN),
      listIdle(db, nowMs, MAX_A_RUN),
      listUnindexedLeads(db, beforeMs, MAX_LEADS_A_RUN),
      listUnfinishedErasures(db, nowMs - ERASURE_MS, MAX_A_RUN),
      listWebhookErasures(db, MAX_ERASURES_A_RUN),
      listDueMails(db, beforeMs, nowMs, MAX_A_RUN),
      ...deliverySweep(db, nowMs),
      pruneArrivals(db, nowMs - MAIL_MEMORY_MS, MAX_PRUNED_A_RUN),
      pruneKeys(db, nowMs - KEY_LIFETIME_MS, MAX_PRUNED_A_RUN),
    ]);
  warnOfShard(env, shard, size.meta.size_after, known);
  const erasures = (await readableErasures(env, unfinished)).slice(0, MAX_ERASURES_A_RUN);
  const work = [
    wakeSources(env, [...sources, ...syncs]),
    wakeUp(env.ERASURE_QUEUE, workspaces satisfies ErasureMessage[]),
    wakeUp(env.ERASURE_QUEUE, prunes.map(({ workspaceId }) => ({ workspaceId, prune: true })) satisfies PruneMessage[]),
    wakeStranded(env, deliveries),
    wakeUp(env.EMAIL_QUEUE, mails satisfies EmailMessage[]),
    resolveIdle(env, db, conversations, nowMs),
    ...answers.map((answer) => indexAnswer(run, answer)),
    ...handOver(run, leads),
    ...erasures.map((erasure) => resumeErasure({ ...run, workspaceId: erasure.workspaceId }, erasure)),
    ...webhooks.map((erasure) => eraseMoreLog(db, erasure)),
  ];
  const results = await Promise.allSettled(work);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) logProblem("sweep_failed", {}, reason);
  const found = { prunes, sources, syncs, answers, workspaces, conversations, leads, erasures, webhooks, mails, deliveries };
  const counts = Object.fromEntries(Object.entries(found).map(([kind, rows]) => [kind, rows.length]));
  return { found: { ...counts, failed: failures.length }, cost: meter.cost };
}

async function resolveIdle(env: Env, db: Database, idle: ConversationKey[], nowMs: number): Promise<void> {
  const [first, ...rest] = idle.flatMap((key) => idleWrites(db, key, nowMs));
  if (first) await wakeDeliveries(env, await db.batch([first, ...rest]));
}

/** Hands leads to their workspaces' indexes. */
function handOver(run: Run, leads: LeadRow[]): Promise<void>[] {
  const byWorkspace = Map.groupBy(leads, ({ workspaceId }) => workspaceId);
  return [...byWorkspace].map(([workspaceId, rows]) => indexLeads({ ...run, workspaceId }, rows));
}
