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
import type { Database } from "../platform/db/client.ts";
import type { Statement } from "../platform/db/sql.ts";
import { KEY_LIFETIME_MS, pruneKeys } from "../platform/http/idempotency-store.ts";
import { sendWakeUps, WAKE_UP_TIMEOUT_MS } from "../platform/queue.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { filterReadable, resumeErasure } from "../privacy/erase.ts";
import { listUnfinishedErasures } from "../privacy/erasure-store.ts";
import { claimDueWorkspaces } from "../privacy/retention-store.ts";
import { PRUNE_INTERVAL_MS, type PruneMessage } from "../privacy/retention.ts";
import { listLogErasures } from "../webhooks/endpoint-store.ts";
import { continueLogErasure } from "../webhooks/endpoints.ts";
import { pruneLog, rescueOrphanedDeliveries, wakeOrphanedDeliveries } from "../webhooks/sweep.ts";

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

/** A run of the sweep, in one shard. */
interface Run {
  env: Env;
  meter: Meter;
  db: Database;
  nowMs: number;
}

type Pieces = readonly Promise<unknown>[];

/** Something that each run takes care of. */
export interface Chore {
  /** By this the log counts what was found. */
  kind: string;
  /** Finds what is left lying. */
  find: Statement;
  /** What is done about the rows that were found, each piece by itself. */
  work: (found: unknown[]) => Pieces | Promise<Pieces>;
}

/** What each run takes care of in a shard, beside removing what is old. */
export function choresOf(run: Run): Chore[] {
  const { env, db, nowMs } = run;
  const beforeMs = nowMs - WAKE_UP_TIMEOUT_MS;
  return [
    chore("prunes", claimDueWorkspaces(db, nowMs, nowMs + PRUNE_INTERVAL_MS, MAX_A_RUN), (due) => [
      sendWakeUps(env.ERASURE_QUEUE, due.map(({ workspaceId }) => ({ workspaceId, prune: true })) satisfies PruneMessage[]),
    ]),
    chore("sources", listStrandedSources(db, beforeMs, nowMs, MAX_A_RUN), (sources) => [wakeSources(env, sources)]),
    chore("syncs", requestDueSyncs(db, nowMs, MAX_A_RUN), (sources) => [wakeSources(env, sources)]),
    chore("answers", listUnindexedAnswers(db, beforeMs, MAX_A_RUN), (answers) => answers.map((answer) => indexAnswer(run, answer))),
    chore("workspaces", listDeleted(db, beforeMs, MAX_A_RUN), (deleted) => [
      sendWakeUps(env.ERASURE_QUEUE, deleted satisfies ErasureMessage[]),
    ]),
    chore("conversations", listIdle(db, nowMs, MAX_A_RUN), (idle) => [resolveIdle(run, idle)]),
    chore("leads", listUnindexedLeads(db, beforeMs, MAX_LEADS_A_RUN), (leads) => handOver(run, leads)),
    chore("erasures", listUnfinishedErasures(db, nowMs - ERASURE_MS, MAX_A_RUN), async (unfinished) => {
      const readable = await filterReadable(env, unfinished);
      return readable.slice(0, MAX_ERASURES_A_RUN).map((erasure) => resumeErasure({ ...run, workspaceId: erasure.workspaceId }, erasure));
    }),
    chore("webhooks", listLogErasures(db, MAX_ERASURES_A_RUN), (erasures) => erasures.map((erasure) => continueLogErasure(db, erasure))),
    chore("mails", listDueMails(db, beforeMs, nowMs, MAX_A_RUN), (mails) => [wakeEmails(env, mails)]),
    chore("deliveries", rescueOrphanedDeliveries(db, nowMs), (stranded) => [wakeOrphanedDeliveries(env, stranded)]),
  ];
}

/** The statements that remove what is old. */
export function tidyingOf(db: Database, nowMs: number): Statement[] {
  return [
    ...pruneLog(db, nowMs),
    pruneArrivals(db, nowMs - MAIL_MEMORY_MS, MAX_PRUNED_A_RUN),
    pruneKeys(db, nowMs - KEY_LIFETIME_MS, MAX_PRUNED_A_RUN),
  ];
}

/** Keeps a statement's rows and what is done about them together; in a list their types are of no use to anybody. */
function chore<Find extends Statement>(kind: string, find: Find, work: (found: Awaited<Find>) => Pieces | Promise<Pieces>): Chore {
  return { kind, find, work: work as Chore["work"] };
}

async function resolveIdle({ env, db, nowMs }: Run, idle: ConversationKey[]): Promise<void> {
  const [first, ...rest] = idle.flatMap((key) => resolveIdleWrites(db, key, nowMs));
  if (first) await wakeDeliveries(env, await db.batch([first, ...rest]));
}

/** Hands leads to their workspaces' indexes. */
function handOver(run: Run, leads: LeadRow[]): Promise<void>[] {
  const byWorkspace = Map.groupBy(leads, ({ workspaceId }) => workspaceId);
  return [...byWorkspace].map(([workspaceId, rows]) => indexLeads({ ...run, workspaceId }, rows));
}
