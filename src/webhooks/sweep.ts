import { sendDeliveryWakeUps } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { WAKE_UP_TIMEOUT_MS } from "../platform/queue.ts";
import { DAY_MS } from "../platform/time.ts";
import { DEFAULT_RETENTION } from "../workspaces/retention.ts";
import { pruneDeliveries, pruneEvents, takeStranded } from "./delivery-store.ts";
import { isSlow } from "./retry-schedule.ts";

/** How many stranded deliveries one run looks at; it wakes fewer where they are of few endpoints. */
const MAX_SEEN_A_RUN = 1_000;
/** More of one endpoint would come before everybody else's. */
const MAX_OF_ENDPOINT = 250;
/** A slow endpoint's wake-ups wait in the queue, and are found stranded meanwhile: no more are added than it takes. */
const MAX_OF_SLOW_ENDPOINT = 10;

/** How long the log shows a delivery, and an event can be sent again, where no workspace has it shorter. */
const RETENTION_MS = DEFAULT_RETENTION.event_log_days * DAY_MS;
/** More than a minute brings; their attempts, up to nine each, go with them. */
const MAX_PRUNED_A_RUN = 1_000;

/** Finds deliveries that no wake-up reached. */
export function findStranded(db: Database, nowMs: number) {
  return takeStranded(db, nowMs - WAKE_UP_TIMEOUT_MS, nowMs, MAX_SEEN_A_RUN);
}

/** Removes what the log has shown for long enough. */
export function pruneLog(db: Database, nowMs: number) {
  return [...pruneDeliveries(db, nowMs - RETENTION_MS, MAX_PRUNED_A_RUN), pruneEvents(db, nowMs - RETENTION_MS, MAX_PRUNED_A_RUN)] as const;
}

export type Stranded = Awaited<ReturnType<typeof takeStranded>>[number];

/**
 * Sends wake-ups for stranded deliveries, on the lanes of their endpoints. An endpoint's deliveries beyond its share are
 * left to the next runs.
 */
export async function wakeStranded(env: Env, stranded: readonly Stranded[]): Promise<void> {
  const shares = [...Map.groupBy(stranded, ({ webhookId }) => webhookId).values()].map(shareOf);
  const idsOf = (isForSlow: boolean) => shares.filter((share) => share.isSlow === isForSlow).flatMap(({ ids }) => ids);
  await Promise.all([sendDeliveryWakeUps(env.DELIVERY_QUEUE, idsOf(false)), sendDeliveryWakeUps(env.SLOW_DELIVERY_QUEUE, idsOf(true))]);
}

/** What is woken of one endpoint's deliveries: the oldest. */
function shareOf(deliveries: readonly Stranded[]): { isSlow: boolean; ids: string[] } {
  const { failureStreak, lastDurationMs } = deliveries[0]!;
  const slow = isSlow({ failureStreak: failureStreak ?? 0, lastDurationMs });
  const ids = deliveries.map(({ id }) => id).sort();
  return { isSlow: slow, ids: ids.slice(0, slow ? MAX_OF_SLOW_ENDPOINT : MAX_OF_ENDPOINT) };
}
