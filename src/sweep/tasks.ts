import { claimUnusedFiles } from "../attachments/store.ts";
import { removeFiles } from "../attachments/uploads.ts";
import { pruneAudit } from "../administration/operator-audit-store.ts";
import { resolveIdleWrites } from "../conversations/conversations.ts";
import { type ConversationKey, listIdle } from "../conversations/store.ts";
import { listDueMails, pruneInboundEmails } from "../email/store.ts";
import { listStrandedEvaluations } from "../evaluations/store.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import { indexAnswer } from "../knowledge/answers.ts";
import { wakeSources } from "../knowledge/sources.ts";
import { listStrandedSources, listUnindexedAnswers, requestDueSyncs } from "../knowledge/store.ts";
import { indexLeads } from "../leads/leads.ts";
import { listUnindexedLeads } from "../leads/store.ts";
import { eraseExpiredApplications, eraseExpiredRecords } from "../applications/store.ts";
import { eraseExpiredSessions } from "../members/store.ts";
import type { ErasureMessage } from "../operator/erasure.ts";
import { listFormerShards } from "../shard-moves/store.ts";
import { eraseFormerCopies } from "../shard-moves/moves.ts";
import { listDeleted } from "../operator/store.ts";
import { type Database, newOperation } from "../platform/db/client.ts";
import { type Group, runGroups } from "../platform/db/groups.ts";
import type { Statement } from "../platform/db/sql.ts";
import { pruneBackoffs } from "../platform/db/waiting.ts";
import { KEY_LIFETIME_MS, pruneKeys } from "../platform/http/idempotency-store.ts";
import { sendWakeUps, WAKE_UP_TIMEOUT_MS } from "../platform/queue.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { DAY_MS, MINUTE_MS } from "../platform/time.ts";
import { resumeErasure } from "../privacy/erase.ts";
import { listUnfinishedErasures } from "../privacy/erasure-store.ts";
import { claimDueWorkspaces } from "../privacy/retention-store.ts";
import { PRUNE_INTERVAL_MS, type PruneMessage } from "../privacy/retention.ts";
import { listLogErasures } from "../webhooks/endpoint-store.ts";
import { continueLogErasure } from "../webhooks/endpoints.ts";
import { assignQueued, listQueued, listSilent, reassignSilent, SILENT_ASSIGNEES } from "../routing/sweep.ts";
import { pruneLog, rescueOrphanedDeliveries, wakeOrphanedDeliveries } from "../webhooks/sweep.ts";
import { pruneCounts } from "../workspaces/usage-limit-store.ts";
import { pruneAuditLog } from "../workspaces/audit-store.ts";

/** How many rows of each task one run handles in a database. The next run, a minute later, continues. */
const MAX_PER_RUN = 100;
/** The limit for leads is larger, because one call indexes all leads of a workspace. */
const MAX_LEADS_PER_RUN = 1_000;
/** An erasure that takes longer is assumed to be interrupted. Resuming one that still runs does no harm. */
const ERASURE_TIMEOUT_MS = 5 * MINUTE_MS;
const MAX_ERASURES_PER_RUN = 5;
/** Mail servers retry for days, so received emails are remembered for this time. An email that is repeated later is answered again. */
const EMAIL_DEDUPLICATION_MS = 7 * DAY_MS;
/** The limit is larger than the number of rows that a minute adds. Deleting a row costs little. */
const MAX_PRUNED_PER_RUN = 5_000;

/** A run of the sweep in one database. */
export interface Run {
  env: Env;
  meter: Meter;
  db: Database;
  nowMs: number;
}

/** A piece of a task's work. If a piece with a key fails, the work with this key is put off. */
interface Piece {
  done: Promise<unknown>;
  /** The id that the task's statement leaves out while its work is put off. */
  key?: string;
}

type Work = readonly Piece[];

/** A task of each run. */
export interface Task {
  /** The name of its count in the log. */
  kind: string;
  /** Finds rows with unfinished work, in which the workspaces take turns. */
  find: Statement;
  /** Starts the work on these rows. */
  work: (found: unknown[]) => Work | Promise<Work>;
}

/** Lists the tasks of a run in a database. */
export function listTasks(run: Run): Task[] {
  const { env, meter, db, nowMs } = run;
  const operationOn = (workspaceId: string) => newOperation(env, meter, workspaceId, nowMs);
  const beforeMs = nowMs - WAKE_UP_TIMEOUT_MS;
  return [
    task("prunes", claimDueWorkspaces(db, nowMs, nowMs + PRUNE_INTERVAL_MS, MAX_PER_RUN), (due) => [
      wake(env.ERASURE_QUEUE, due.map(({ workspaceId }) => ({ workspaceId, prune: true })) satisfies PruneMessage[]),
    ]),
    task("sources", listStrandedSources(db, beforeMs, nowMs, MAX_PER_RUN), (sources) => [{ done: wakeSources(env, sources) }]),
    task("syncs", requestDueSyncs(db, nowMs, MAX_PER_RUN), (sources) => [{ done: wakeSources(env, sources) }]),
    task("evaluations", listStrandedEvaluations(db, beforeMs, nowMs, MAX_PER_RUN), (stranded) => [wake(env.CRAWL_QUEUE, stranded)]),
    task("answers", listUnindexedAnswers(db, beforeMs, nowMs, MAX_PER_RUN), (answers) =>
      answers.map((answer) => ({ key: answer.agentId, done: indexAnswer(operationOn(answer.workspaceId), answer) })),
    ),
    task("workspaces", listDeleted(db, beforeMs, MAX_PER_RUN), (deleted) => [wake(env.ERASURE_QUEUE, deleted satisfies ErasureMessage[])]),
    task("conversations", listIdle(db, nowMs, MAX_PER_RUN), (idle) => resolveIdle(run, idle)),
    task("queued", listQueued(db, MAX_PER_RUN), (queued) => [{ done: assignQueued(env, db, nowMs, queued) }]),
    task(SILENT_ASSIGNEES, listSilent(db, nowMs, MAX_PER_RUN), (silent) => [{ done: reassignSilent(env, db, nowMs, silent) }]),
    task("leads", listUnindexedLeads(db, beforeMs, nowMs, MAX_LEADS_PER_RUN), (leads) => {
      const byWorkspace = Map.groupBy(leads, ({ workspaceId }) => workspaceId);
      return [...byWorkspace].map(([workspaceId, rows]) => ({ key: workspaceId, done: indexLeads(operationOn(workspaceId), rows) }));
    }),
    task("attachments", claimUnusedFiles(db, nowMs, MAX_PER_RUN), (files) => {
      const byWorkspace = Map.groupBy(files, ({ workspaceId }) => workspaceId);
      const remove = (workspaceId: string, unused: typeof files) =>
        removeFiles(
          operationOn(workspaceId),
          unused.map(({ id }) => id),
        );
      return [...byWorkspace].map(([workspaceId, unused]) => ({ key: workspaceId, done: remove(workspaceId, unused) }));
    }),
    task("erasures", listUnfinishedErasures(db, nowMs - ERASURE_TIMEOUT_MS, nowMs, MAX_ERASURES_PER_RUN), (erasures) =>
      erasures.map((erasure) => ({ key: erasure.id, done: resumeErasure(operationOn(erasure.workspaceId), erasure) })),
    ),
    task("shards", listFormerShards(db, nowMs - DAY_MS, MAX_ERASURES_PER_RUN), (former) => [
      { done: eraseFormerCopies(db, former, nowMs) },
    ]),
    task("webhooks", listLogErasures(db, nowMs, MAX_ERASURES_PER_RUN), (erasures) =>
      erasures.map((erasure) => ({ key: erasure.id, done: continueLogErasure(db, erasure) })),
    ),
    task("mails", listDueMails(db, beforeMs, nowMs, MAX_PER_RUN), (mails) => [{ done: wakeEmails(env, mails) }]),
    task("deliveries", rescueOrphanedDeliveries(db, nowMs), (orphans) => [{ done: wakeOrphanedDeliveries(env, orphans) }]),
  ];
}

/** Lists the statements that delete old rows. The statements of one group belong together. */
export function listPrunes(db: Database, nowMs: number): Group[] {
  return [
    pruneLog(db, nowMs),
    [pruneCounts(db, nowMs - DAY_MS, MAX_PRUNED_PER_RUN)],
    [pruneInboundEmails(db, nowMs - EMAIL_DEDUPLICATION_MS, MAX_PRUNED_PER_RUN)],
    [pruneKeys(db, nowMs - KEY_LIFETIME_MS, MAX_PRUNED_PER_RUN)],
    pruneAudit(db, nowMs),
    [pruneAuditLog(db, nowMs, MAX_PRUNED_PER_RUN)],
    [eraseExpiredSessions(db, nowMs, MAX_PRUNED_PER_RUN)],
    [eraseExpiredApplications(db, nowMs, MAX_PRUNED_PER_RUN)],
    [eraseExpiredRecords(db, nowMs, MAX_PRUNED_PER_RUN)],
    [pruneBackoffs(db, nowMs)],
  ];
}

/** Makes a task, whose work takes the rows of its statement. The list of tasks does not need the types of the rows. */
function task<Find extends Statement>(kind: string, find: Find, work: (found: Awaited<Find>) => Work | Promise<Work>): Task {
  return { kind, find, work: work as Task["work"] };
}

function wake(queue: Queue, messages: readonly object[]): Piece {
  return { done: sendWakeUps(queue, messages) };
}

/** Resolves idle conversations in one batch. */
async function resolveIdle({ env, db, nowMs }: Run, idle: readonly ConversationKey[]): Promise<Piece[]> {
  const results = await runGroups(
    db,
    idle.map((key) => resolveIdleWrites(db, key, nowMs)),
  );
  const written = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  await wakeDeliveries(env, written);
  for (const [workspaceId, keys] of Map.groupBy(idle, (key) => key.workspaceId)) {
    announce(env, workspaceId, ...keys.map(({ conversationId }) => ({ kind: "conversation" as const, id: conversationId })));
  }
  return results.map((result, at) => ({
    key: idle[at]!.conversationId,
    done: result.status === "fulfilled" ? Promise.resolve() : Promise.reject(result.reason as Error),
  }));
}
