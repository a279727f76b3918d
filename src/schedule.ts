import { idleWrites } from "./conversations/changes.ts";
import { listIdle } from "./conversations/store.ts";
import { allDbs, type Database } from "./db/client.ts";
import type { answers } from "./db/schema.ts";
import { listStrandedSources, listUnindexedAnswers, markIndexed } from "./knowledge/store.ts";
import { indexOf } from "./knowledge/stub.ts";
import { indexLeads, type LeadRow } from "./leads/leads.ts";
import { listUnindexedLeads } from "./leads/store.ts";
import { Meter } from "./meter.ts";
import { listDeleted } from "./operator/store.ts";

/** A wake-up that takes longer than this is taken for lost. */
const WAKE_UP_MS = 60_000;
/** How much one run takes up of each kind and shard; the next run, a minute later, goes on. */
const MAX_A_RUN = 100;
/** More of these, since one call hands over all of a workspace. */
const MAX_LEADS_A_RUN = 1_000;

type AnswerRow = typeof answers.$inferSelect;

/** What cron does each minute: it finds what was left lying by wake-ups that were lost or died, and starts it again. */
export async function sweep(env: Env, nowMs: number): Promise<void> {
  const meter = new Meter();
  const found = await Promise.all(allDbs(env, meter).map((db) => sweepShard(env, meter, db, nowMs)));
  const totals = Object.fromEntries(
    Object.keys(found[0]!).map((kind) => [kind, found.reduce((sum, one) => sum + one[kind as keyof typeof one], 0)]),
  );
  console.log(JSON.stringify({ event: "sweep", ...totals, d1_trips: meter.cost.d1Trips, rows_read: meter.cost.rowsRead }));
}

async function sweepShard(env: Env, meter: Meter, db: Database, nowMs: number) {
  const beforeMs = nowMs - WAKE_UP_MS;
  const [sources, unindexed, deleted, idle, leads] = await db.batch([
    listStrandedSources(db, beforeMs, nowMs, MAX_A_RUN),
    listUnindexedAnswers(db, beforeMs, MAX_A_RUN),
    listDeleted(db, beforeMs, MAX_A_RUN),
    listIdle(db, nowMs, MAX_A_RUN),
    listUnindexedLeads(db, beforeMs, MAX_LEADS_A_RUN),
  ]);
  if (sources.length > 0) await env.INGESTION_QUEUE.sendBatch(sources.map(({ sourceId }) => ({ body: { sourceId } })));
  if (deleted.length > 0) await env.ERASURE_QUEUE.sendBatch(deleted.map(({ id }) => ({ body: { workspaceId: id } })));
  if (unindexed.length > 0) await indexAnswers(env, meter, db, unindexed, nowMs);
  if (leads.length > 0) await handOverLeads(env, meter, leads, nowMs);
  const [first, ...rest] = idle.flatMap((key) => idleWrites(db, key, nowMs));
  if (first) await db.batch([first, ...rest]);
  return {
    sources: sources.length,
    answers: unindexed.length,
    workspaces: deleted.length,
    conversations: idle.length,
    leads: leads.length,
  };
}

/** Hands answers to their agents' indexes whose own request died before it could. */
async function indexAnswers(env: Env, meter: Meter, db: Database, unindexed: AnswerRow[], nowMs: number): Promise<void> {
  await Promise.all(
    unindexed.map(({ id, workspaceId, agentId, question, answer }) =>
      indexOf(env, meter, workspaceId, agentId).putAnswer({ id, question, answer }),
    ),
  );
  const ids = unindexed.map(({ id }) => id);
  await db.batch([markIndexed(db, ids, nowMs)]);
}

/** Hands leads to their workspaces' indexes; one that is out of reach leaves the others alone, and its leads to the next run. */
async function handOverLeads(env: Env, meter: Meter, leads: LeadRow[], nowMs: number): Promise<void> {
  const byWorkspace = Map.groupBy(leads, ({ workspaceId }) => workspaceId);
  const work = [...byWorkspace].map(([workspaceId, rows]) => indexLeads({ env, meter, workspaceId, nowMs }, rows));
  for (const result of await Promise.allSettled(work)) {
    if (result.status === "rejected") console.error(JSON.stringify({ event: "sweep_failed", detail: String(result.reason) }));
  }
}
