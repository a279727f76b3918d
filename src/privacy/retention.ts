import { type Database, dbFor, isBoundShard } from "../platform/db/client.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { log } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { type Cutoffs, cutoffsOf } from "../workspaces/retention.ts";
import { addUp, countsOf, eraseConversations, eraseLeadRecords, type Erasing, RECORDS_A_STEP } from "./erase-records.ts";
import type { Deleted } from "./erasure-store.ts";
import { eraseUnusedVisitors, findRetention, listDueConversations, listDueLeads, pruneEventLog } from "./retention-store.ts";

/** A wake-up: in which workspace to look for records that are kept no longer. */
export interface PruneMessage {
  workspaceId: string;
  prune: true;
}

/** How often a workspace with settings of its own is looked at; also how soon one is again whose wake-up was lost. */
export const PRUNE_EVERY_MS = 60 * 60_000;
/** Steps of one wake-up: about a thousand calls and queries at most, which is what one invocation may make. */
const STEPS_A_RUN = 8;
/** Deliveries, and events, that one step removes. */
const LOG_ROWS_A_STEP = 500;

/** How a wake-up ended; with "goes_on" it has sent the next one. */
type PruneOutcome = "nothing_to_do" | "goes_on" | "pruned";

/**
 * Erases what a workspace's retention keeps no longer, in bounded steps. What is due is found by its age alone, so that a
 * run that died is gone on with by the next one, and a setting that was changed counts from the next step on.
 */
export async function prune(
  env: Env,
  { workspaceId }: Pick<PruneMessage, "workspaceId">,
  nowMs = Date.now(),
  meter = new Meter(),
): Promise<PruneOutcome> {
  if (!isBoundShard(env, workspaceId)) return "nothing_to_do";
  const db = dbFor(env, workspaceId, meter);
  const deleted: Deleted = {};
  let isDone = false;
  for (let step = 0; step < STEPS_A_RUN && !isDone; step++) {
    const [[found]] = await db.batch([findRetention(db, workspaceId)]);
    if (!found) return "nothing_to_do";
    const removed = await pruneStep({ env, meter, workspaceId, nowMs }, db, cutoffsOf(found.retention, nowMs));
    addUp(deleted, removed);
    isDone = Object.values(removed).every((count) => count === 0);
  }
  log("pruned", { workspace_id: workspaceId, is_done: isDone, ...deleted });
  if (isDone) return "pruned";
  await sendWakeUps(env.ERASURE_QUEUE, [{ workspaceId, prune: true }] satisfies PruneMessage[]);
  return "goes_on";
}

/** Erases a bounded part of what is due. @returns how many of each kind; zeros when nothing was left. */
async function pruneStep(op: Erasing, db: Database, { conversationsMs, leadsMs, eventLogMs }: Cutoffs): Promise<Deleted> {
  const removed: Deleted = {};
  if (conversationsMs !== undefined) {
    const [due] = await db.batch([listDueConversations(db, op.workspaceId, conversationsMs, RECORDS_A_STEP)]);
    const along = { visitors: eraseUnusedVisitors(db, op.workspaceId, visitorsOf(due)) };
    if (due.length > 0) addUp(removed, await eraseConversations(op, db, idsOf(due), { inactiveSinceMs: conversationsMs, along }));
  }
  if (leadsMs !== undefined) {
    const [due] = await db.batch([listDueLeads(db, op.workspaceId, leadsMs, RECORDS_A_STEP)]);
    const along = { visitors: eraseUnusedVisitors(db, op.workspaceId, visitorsOf(due)) };
    if (due.length > 0) addUp(removed, await eraseLeadRecords(op, db, idsOf(due), along));
  }
  if (eventLogMs !== undefined) {
    const kinds = pruneEventLog(db, op.workspaceId, eventLogMs, LOG_ROWS_A_STEP);
    const results = await db.batch([kinds.delivery_attempts, kinds.deliveries, kinds.events]);
    addUp(removed, countsOf(Object.keys(kinds), results));
  }
  return removed;
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

function visitorsOf(rows: readonly { visitorId: string | null }[]): string[] {
  return rows.flatMap(({ visitorId }) => visitorId ?? []);
}
