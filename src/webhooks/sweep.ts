import { sendDeliveryWakeUps } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { WAKE_UP_TIMEOUT_MS } from "../platform/queue.ts";
import { DAY_MS } from "../platform/time.ts";
import { DEFAULT_RETENTION } from "../workspaces/retention.ts";
import { pruneDeliveries, pruneEvents, pruneSuccessBodies, rescueOrphans } from "./delivery-store.ts";
import { isSlow } from "./retry-schedule.ts";

/** How many orphaned deliveries one run reads. */
const MAX_READ_PER_RUN = 1_000;
/** How many deliveries of one endpoint a run wakes, so that the others are not delayed. */
const MAX_PER_ENDPOINT = 250;
/** The limit for a slow endpoint. Its wake-ups wait in the queue, so the next runs find the same deliveries orphaned again. */
const MAX_PER_SLOW_ENDPOINT = 10;

/** How long the delivery log is kept, unless a workspace's retention is shorter. */
const RETENTION_MS = DEFAULT_RETENTION.event_log_days * DAY_MS;
/** How long the response to a successful attempt is kept: its status is enough once nobody is setting up the endpoint. */
const SUCCESS_BODY_MS = DAY_MS;
/**
 * Deliveries, with up to nine attempts each, and events and bodies that one run prunes. With a run each minute these are 7,200,000 a
 * day, as many as 144 workspaces of the largest plan may add. A database of 10 GB does not hold thirty days of a tenth of that.
 */
export const MAX_PRUNED_PER_RUN = 5_000;

/** Finds deliveries that no wake-up reached. */
export function rescueOrphanedDeliveries(db: Database, nowMs: number) {
  return rescueOrphans(db, nowMs - WAKE_UP_TIMEOUT_MS, nowMs, MAX_READ_PER_RUN);
}

export type OrphanedDelivery = Awaited<ReturnType<typeof rescueOrphans>>[number];

/** Sends wake-ups for orphaned deliveries. Those beyond an endpoint's share are left to the next runs. */
export async function wakeOrphanedDeliveries(env: Env, orphans: readonly OrphanedDelivery[]): Promise<void> {
  const shares = [...Map.groupBy(orphans, ({ webhookId }) => webhookId).values()].map(shareOfEndpoint);
  const idsFor = (slow: boolean) => shares.filter((share) => share.isSlow === slow).flatMap(({ ids }) => ids);
  await Promise.all([sendDeliveryWakeUps(env.DELIVERY_QUEUE, idsFor(false)), sendDeliveryWakeUps(env.SLOW_DELIVERY_QUEUE, idsFor(true))]);
}

/** The oldest of one endpoint's deliveries. */
function shareOfEndpoint(orphans: readonly OrphanedDelivery[]): { isSlow: boolean; ids: string[] } {
  const { failureStreak, lastDurationMs } = orphans[0]!;
  const slow = isSlow({ failureStreak: failureStreak ?? 0, lastDurationMs });
  const ids = orphans.map(({ id }) => id).sort();
  return { isSlow: slow, ids: ids.slice(0, slow ? MAX_PER_SLOW_ENDPOINT : MAX_PER_ENDPOINT) };
}

/** Deletes deliveries and events that are older than the delivery log's retention, and older responses to successful attempts. */
export function pruneLog(db: Database, nowMs: number) {
  const beforeMs = nowMs - RETENTION_MS;
  return [
    ...pruneDeliveries(db, beforeMs, MAX_PRUNED_PER_RUN),
    pruneEvents(db, beforeMs, MAX_PRUNED_PER_RUN),
    pruneSuccessBodies(db, nowMs - SUCCESS_BODY_MS, MAX_PRUNED_PER_RUN),
  ] as const;
}
