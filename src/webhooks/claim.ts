import { dbFor } from "../db/client.ts";
import type { Meter } from "../meter.ts";
import { log } from "../telemetry/log.ts";
import type { Sendable } from "./attempt.ts";
import { claimDeliveries, giveUpHeld, type Lease, listDeliverable, listPayloads, MAX_EARLY_MS } from "./delivery-store.ts";
import { isSlow } from "./endpoint-health.ts";

/** The queue that a delivery is sent from. Slow endpoints have a lane of their own, so that they do not delay fast ones. */
export type Lane = "fast" | "slow";

/** The deliveries that a claim leased. The others asked for are over, not due yet, or leased by another run. */
export interface Claimed {
  /** Held, and to be sent. */
  sendable: Sendable[];
  /** Not held: they are of endpoints that belong on the slow lane. */
  forSlowLane: string[];
}

type Found = Awaited<ReturnType<typeof listDeliverable>>[number];

/**
 * Leases any number of deliveries in one trip. A second trip gives up those that may not be sent: their endpoint is
 * disabled or deleted, or the plan no longer includes webhooks.
 * @param ids all of one shard.
 */
export async function claimBatch(run: { env: Env; meter: Meter }, lane: Lane, ids: readonly string[], lease: Lease): Promise<Claimed> {
  const db = dbFor(run.env, ids[0]!, run.meter);
  const [claimed, found, payloads] = await db.batch([
    claimDeliveries(db, ids, lane, lease),
    listDeliverable(db, ids),
    listPayloads(db, ids),
  ]);
  const heldIds = new Set(claimed.map(({ id }) => id));
  const payloadByEvent = new Map(payloads.map(({ eventId, payload }) => [eventId, payload]));
  const held = found.filter(({ id }) => heldIds.has(id)).map((row) => ({ id: row.id, sendable: sendableOf(row, payloadByEvent) }));
  const unsendable = held.filter(({ sendable }) => sendable === undefined).map(({ id }) => id);
  if (unsendable.length > 0) {
    await db.batch(giveUpHeld(db, unsendable, lease.untilMs, lease.nowMs));
    log("webhook_deliveries_given_up", { error: "endpoint_disabled", delivery_ids: unsendable });
  }
  return {
    sendable: held.flatMap(({ sendable }) => sendable ?? []),
    forSlowLane: found.filter((row) => !heldIds.has(row.id) && isForSlowLane(row, lease.nowMs)).map(({ id }) => id),
  };
}

/** The delivery as it is sent; undefined when it may not be. A test is sent to a disabled endpoint too. */
function sendableOf(row: Found, payloadByEvent: ReadonlyMap<string, string>): Sendable | undefined {
  const { endpoint, hasPlan } = row;
  const payload = payloadByEvent.get(row.eventId);
  if (!endpoint || payload === undefined || !hasPlan) return undefined;
  if (!endpoint.isEnabled && row.trigger !== "test") return undefined;
  const { id, workspaceId, webhookId, eventId, trigger, attemptCount, leaseUntil } = row;
  return { id, workspaceId, webhookId, eventId, trigger, attemptCount, leaseUntil, payload, endpoint };
}

function isForSlowLane({ endpoint, nextAttemptAt, leaseUntil }: Found, nowMs: number): boolean {
  const isDue = nextAttemptAt !== null && nextAttemptAt <= nowMs + MAX_EARLY_MS;
  const isFree = leaseUntil === null || leaseUntil < nowMs;
  return isDue && isFree && endpoint !== null && isSlow(endpoint);
}
