import { exports } from "cloudflare:workers";
import { type DeliveryMessage, sendDeliveryWakeUps } from "../events/outbox.ts";
import { dbFor, isBoundShard } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import { log, logProblem } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import type { Sendable } from "./attempt.ts";
import type { Progress } from "./courier.ts";
import {
  claimDeliveries,
  giveUpHeld,
  type Lease,
  listDeliverable,
  listPayloads,
  MAX_EARLY_MS,
  noteSlow,
  releaseDeliveries,
} from "./delivery-store.ts";
import { isSlow, SLOW_MS } from "./retry-schedule.ts";
import { Turns } from "./send-order.ts";

/** A batch's wake-ups come again after so long when their database failed. */
const RETRY_SECONDS = 10;

/** Sends the deliveries that a batch of wake-ups names. @returns how many of the wake-ups are to be retried. */
export async function deliver(run: { env: Env; meter: Meter; lane: Lane }, batch: MessageBatch<DeliveryMessage | null>): Promise<number> {
  const ids = batch.messages.flatMap((message) => idOf(run.env, message) ?? []);
  const failed = new Set(await deliverBatch({ ...run, now: Date.now, send: sendByCourier }, ids));
  for (const message of batch.messages) {
    if (failed.has(message.body?.deliveryId ?? "")) message.retry({ delaySeconds: RETRY_SECONDS });
    else message.ack();
  }
  return failed.size;
}

/** A delivery whose courier dies stays held until its lease ends; then the sweep finds it. */
async function sendByCourier(held: Sendable, patienceMs: number): Promise<Progress> {
  try {
    return await exports.DeliveryCourier.send(held, patienceMs);
  } catch (error) {
    logProblem("webhook_courier_failed", { workspace_id: held.workspaceId, delivery_id: held.id }, error);
    return "over";
  }
}

/** The delivery that a message names; undefined for one that no version of the service wrote. */
function idOf(env: Env, { body }: Message<DeliveryMessage | null>): string | undefined {
  const id = body?.deliveryId;
  return typeof id === "string" && isBoundShard(env, id) ? id : undefined;
}

/** The queue that a delivery is sent from. Slow endpoints have a lane of their own, so that they do not delay fast ones. */
export type Lane = "fast" | "slow";

/** The deliveries that a claim leased. The others asked for are over, not due yet, or leased by another run. */
interface Claimed {
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
async function claimBatch(run: { env: Env; meter: Meter }, lane: Lane, ids: readonly string[], lease: Lease): Promise<Claimed> {
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

/** The platform lets an invocation wait for so many answers at once; more would wait unsent while their time runs. */
const MAX_OPEN = 6;
/** So that one endpoint, however many deliveries it has, leaves room for others. */
const MAX_OPEN_AN_ENDPOINT = 2;
/** How long a batch may hold its deliveries: after a crash they wait so long before they are sent again. */
const LEASE_MS = 90_000;
/** What an attempt may need of it: 15 s for the exchange, and its records. What could not begin in time is let go. */
const ATTEMPT_MS = 30_000;
/** The slow lane waits until an exchange is over. */
const PATIENCE_MS: Record<Lane, number> = { fast: SLOW_MS, slow: ATTEMPT_MS };

/** The environment of a batch of deliveries. */
export interface BatchRun {
  env: Env;
  meter: Meter;
  lane: Lane;
  now: () => number;
  /** Makes one attempt and records it. Says within `patienceMs` how it stands, and goes on by itself. */
  send: (held: Sendable, patienceMs: number) => Promise<Progress>;
}

/**
 * Sends the deliveries that a batch of wake-ups names. On the fast lane the batch waits a second at most for an
 * endpoint: then the endpoint's other deliveries move to the slow lane, and its open exchange ends in the background.
 * @returns the deliveries whose database failed: their wake-ups are to be retried.
 */
export async function deliverBatch(run: BatchRun, ids: readonly string[]): Promise<string[]> {
  const nowMs = run.now();
  const lease = { nowMs, untilMs: nowMs + LEASE_MS };
  const shards = [...Map.groupBy(new Set(ids), shardOf).values()];
  const claims = await Promise.allSettled(shards.map((shardIds) => claimBatch(run, run.lane, shardIds, lease)));
  const claimed = claims.flatMap((claim) => (claim.status === "fulfilled" ? [claim.value] : []));
  const sendable = claimed.flatMap((claim) => claim.sendable);
  const forSlowLane = claimed.flatMap((claim) => claim.forSlowLane);
  await Promise.all([sendDeliveryWakeUps(run.env.SLOW_DELIVERY_QUEUE, forSlowLane), sendInTurns(run, sendable, lease)]);
  return shards.filter((_, at) => claims[at]!.status === "rejected").flat();
}

async function sendInTurns(run: BatchRun, sendable: Sendable[], lease: Lease): Promise<void> {
  const turns = new Turns(sendable, MAX_OPEN_AN_ENDPOINT);
  const lines = Array.from({ length: Math.min(MAX_OPEN, sendable.length) }, () => sendOneByOne(run, turns, lease));
  await Promise.all(lines);
  const byShard = Map.groupBy(turns.rest(), ({ id }) => shardOf(id));
  await Promise.all([...byShard.values()].map((rest) => letGo(run, rest, turns, lease)));
}

/** Ends with an exchange that is not waited for: its connection is still open. */
async function sendOneByOne(run: BatchRun, turns: Turns<Sendable>, lease: Lease): Promise<void> {
  while (run.now() < lease.untilMs - ATTEMPT_MS) {
    const next = turns.take();
    if (!next) return;
    if ((await run.send(next, PATIENCE_MS[run.lane])) === "under_way") return leave(run, turns, next);
    turns.end(next);
  }
}

/** No more turns for its endpoint, in the batches after this one neither. */
async function leave(run: BatchRun, turns: Turns<Sendable>, sent: Sendable): Promise<void> {
  turns.leave(sent);
  const db = dbFor(run.env, sent.id, run.meter);
  await db.batch([noteSlow(db, sent.webhookId)]);
}

/** Lets go of deliveries that had no turn, and wakes them again: those of endpoints that were left on the slow lane. */
async function letGo({ env, meter, lane }: BatchRun, rest: Sendable[], turns: Turns<Sendable>, lease: Lease): Promise<void> {
  const db = dbFor(env, rest[0]!.id, meter);
  const [released] = await db.batch([releaseDeliveries(db, idsOf(rest), lease.untilMs)]);
  const isForSlowLane = ({ webhookId }: { webhookId: string }) => lane === "slow" || turns.isLeft(webhookId);
  const { true: slow = [], false: fast = [] } = Object.groupBy(released, (delivery) => `${isForSlowLane(delivery)}`);
  await Promise.all([sendDeliveryWakeUps(env.SLOW_DELIVERY_QUEUE, idsOf(slow)), sendDeliveryWakeUps(env.DELIVERY_QUEUE, idsOf(fast))]);
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
