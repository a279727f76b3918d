import { hasDatabase } from "../platform/db/bindings.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { log } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { HOUR_MS } from "../platform/time.ts";
import { type Cutoffs, cutoffsOf } from "../workspaces/retention.ts";
import { addCounts, countRows, eraseConversations, eraseLeadRecords, RECORDS_PER_STEP, ROWS_PER_STEP } from "./erase.ts";
import type { DeletedCounts } from "./erasure-store.ts";
import {
  eraseUnusedVisitors,
  findRetention,
  listExpiredConversations,
  listExpiredLeads,
  pruneEventLog,
  putOffConversations,
} from "./retention-store.ts";

/** A wake-up for the erasure of a workspace's expired records. */
export interface PruneMessage {
  workspaceId: string;
  prune: true;
}

/** How often a workspace with its own retention is pruned. If a wake-up is lost, the next one follows after this time. */
export const PRUNE_INTERVAL_MS = HOUR_MS;
/** How many steps a wake-up runs. They make about a thousand subrequests and queries, which is the limit of an invocation. */
const STEPS_PER_RUN = 8;
/** How many deliveries, and how many events, one step deletes. */
const LOG_ROWS_PER_STEP = 500;

/** The result of a wake-up; with "goes_on" it has sent the next one. */
type PruneOutcome = "nothing_to_do" | "goes_on" | "pruned";

/**
 * Erases the records of a workspace that are older than its retention, in bounded steps. They are found only by age, so the
 * next run continues one that was interrupted, and a changed setting applies from the next step on.
 * @throws the first failure of a conversation's object, after the steps, so that it is logged. A later run tries again what was put off.
 */
export async function prune(
  env: Env,
  { workspaceId }: Pick<PruneMessage, "workspaceId">,
  nowMs = Date.now(),
  meter = new Meter(),
): Promise<PruneOutcome> {
  if (!hasDatabase(env, workspaceId)) return "nothing_to_do";
  const op = newOperation(env, meter, workspaceId, nowMs);
  const { db } = op;
  const deleted: DeletedCounts = {};
  const failures: unknown[] = [];
  let isDone = false;
  for (let step = 0; step < STEPS_PER_RUN && !isDone; step++) {
    const [[found]] = await db.batch([findRetention(db, workspaceId)]);
    if (!found) return "nothing_to_do";
    const failedBefore = failures.length;
    const removed = await pruneStep(op, cutoffsOf(found.retention, nowMs), failures);
    addCounts(deleted, removed);
    isDone = failures.length === failedBefore && Object.values(removed).every((count) => count === 0);
  }
  log("pruned", { workspace_id: workspaceId, is_done: isDone && failures.length === 0, ...deleted });
  if (failures.length > 0) throw failures[0];
  if (isDone) return "pruned";
  await sendWakeUps(env.ERASURE_QUEUE, [{ workspaceId, prune: true }] satisfies PruneMessage[]);
  return "goes_on";
}

/**
 * Erases some of the expired records. A conversation whose object fails is put off, so that the next step reaches later ones.
 * @param failures receives the reasons of the failures.
 * @returns how many records of each kind were erased; all are 0 if none are left or those that are left failed.
 */
async function pruneStep(op: Operation, { conversationsMs, leadsMs, eventLogMs }: Cutoffs, failures: unknown[]): Promise<DeletedCounts> {
  const { db, workspaceId, nowMs } = op;
  const removed: DeletedCounts = {};
  if (conversationsMs !== undefined) {
    const [listed] = await db.batch([listExpiredConversations(db, workspaceId, conversationsMs, nowMs, RECORDS_PER_STEP)]);
    const expired = takeStep(listed);
    const further = { visitors: eraseUnusedVisitors(db, workspaceId, visitorIdsOf(expired)) };
    const failed = new Map<string, unknown>();
    const options = { inactiveSinceMs: conversationsMs, further, failures: failed };
    if (expired.length > 0) addCounts(removed, await eraseConversations(op, idsOf(expired), options));
    if (failed.size > 0) await db.batch([putOffConversations(db, [...failed.keys()], nowMs)]);
    failures.push(...failed.values());
  }
  if (leadsMs !== undefined) {
    const [expired] = await db.batch([listExpiredLeads(db, workspaceId, leadsMs, RECORDS_PER_STEP)]);
    const further = { visitors: eraseUnusedVisitors(db, workspaceId, visitorIdsOf(expired)) };
    if (expired.length > 0) addCounts(removed, await eraseLeadRecords(op, idsOf(expired), further));
  }
  if (eventLogMs !== undefined) {
    const kinds = pruneEventLog(db, workspaceId, eventLogMs, LOG_ROWS_PER_STEP);
    const results = await db.batch([kinds.delivery_attempts, kinds.deliveries, kinds.events]);
    addCounts(removed, countRows(Object.keys(kinds), results));
  }
  return removed;
}

/**
 * Returns the first of the conversations, with no more messages than one step deletes, but at least one. A conversation is erased with
 * all its messages in one step, because a reply after the step would keep what is left.
 */
function takeStep<Row extends { messageCount: number }>(conversations: readonly Row[]): Row[] {
  let total = 0;
  return conversations.filter(({ messageCount }, at) => (total += messageCount) <= ROWS_PER_STEP || at === 0);
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

function visitorIdsOf(rows: readonly { visitorId: string | null }[]): string[] {
  return rows.flatMap(({ visitorId }) => visitorId ?? []);
}
