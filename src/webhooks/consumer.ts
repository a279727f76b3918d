import { exports } from "cloudflare:workers";
import { type DeliveryMessage, sendDeliveryWakeUps } from "../events/outbox.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { type Database, dbFor, groupByDatabase, runByDatabase } from "../platform/db/client.ts";
import { log, logProblem } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import type { SendableDelivery } from "./attempt.ts";
import type { SendState } from "./delivery-sender.ts";
import {
  cancelLeasedDeliveries,
  claimDeliveries,
  type DeliveryQueue,
  type Lease,
  listPayloads,
  listPendingDeliveries,
  markEndpointSlow,
  MAX_CLOCK_SKEW_MS,
  releaseDeliveries,
} from "./delivery-store.ts";
import { isSlow, SLOW_MS } from "./retry-schedule.ts";

/*
 * How an event is delivered, from top to bottom:
 *
 * 1. The batch that causes an event appends it and inserts a pending delivery for each subscribed endpoint
 *    (events/outbox.ts). After the commit, `wakeDeliveries` sends a wake-up with each id to the queue.
 * 2. This consumer claims the deliveries of a batch of wake-ups: it leases those that are due. It cancels those whose
 *    endpoint is disabled or whose plan has no webhooks.
 * 3. It sends the others concurrently, within limits, each in an invocation of its own (attempt.ts): a signed POST. A
 *    delivery that has waited for longer than a second is read again before it is sent.
 * 4. The attempt is recorded. A success ends the delivery. A failure schedules the next attempt (retry-schedule.ts) with
 *    a delayed wake-up; after the last attempt the delivery fails. An endpoint that keeps failing is disabled.
 * 5. The sweep rescues deliveries whose wake-up was lost or whose consumer was interrupted (sweep.ts).
 */

/** How many requests are open at the same time: the platform allows six; a seventh would wait while its timeout runs. */
const MAX_CONCURRENCY = 6;
const MAX_CONCURRENCY_PER_ENDPOINT = 2;
/** How long a batch leases its deliveries. After a crash they wait this long before they are sent again. */
const LEASE_MS = 90_000;
/** What one attempt may take: 15 s for the request, and its database writes. No attempt starts later than this before the lease ends. */
const MAX_ATTEMPT_MS = 30_000;
/** How long a batch waits for one response. The fast queue stops waiting after a second; the attempt continues in the background. */
const MAX_WAIT_MS: Record<DeliveryQueue, number> = { fast: SLOW_MS, slow: MAX_ATTEMPT_MS };
/** How long after its claim a delivery is sent as it was read. A later one is read again, because its endpoint or payload may have changed. */
const MAX_AGE_MS = 1_000;
/** The delay of wake-ups whose database failed. */
const RETRY_SECONDS = 10;

/** Sends the deliveries of a batch of wake-ups. @returns how many of the wake-ups are retried. */
export async function handleDeliveryBatch(
  run: { env: Env; meter: Meter; queue: DeliveryQueue },
  batch: MessageBatch<DeliveryMessage | null>,
): Promise<number> {
  const ids = batch.messages.flatMap((message) => deliveryIdOf(run.env, message) ?? []);
  const failed = new Set(await sendDeliveries({ ...run, now: Date.now, send: sendInBackground }, ids));
  for (const message of batch.messages) {
    if (failed.has(message.body?.deliveryId ?? "")) message.retry({ delaySeconds: RETRY_SECONDS });
    else message.ack();
  }
  return failed.size;
}

/** The delivery that a message names; undefined for a malformed message. */
function deliveryIdOf(env: Env, { body }: Message<DeliveryMessage | null>): string | undefined {
  const id = body?.deliveryId;
  return typeof id === "string" && hasDatabase(env, id) ? id : undefined;
}

/**
 * Sends a delivery in an invocation of its own. If that is interrupted, the delivery stays leased until the lease expires. Then the sweep
 * rescues it.
 */
async function sendInBackground(delivery: SendableDelivery, maxWaitMs: number): Promise<SendState> {
  try {
    return await exports.DeliverySender.send(delivery, maxWaitMs);
  } catch (error) {
    logProblem("delivery_sender_failed", { workspace_id: delivery.workspaceId, delivery_id: delivery.id }, error);
    return "finished";
  }
}

/** The environment of a batch of deliveries. */
export interface BatchRun {
  env: Env;
  meter: Meter;
  queue: DeliveryQueue;
  now: () => number;
  /** Makes one attempt and records it. Returns within `maxWaitMs`; an unfinished attempt continues in the background. */
  send: (delivery: SendableDelivery, maxWaitMs: number) => Promise<SendState>;
}

/**
 * Claims and sends deliveries. When an endpoint on the fast queue takes longer than a second, its other deliveries move to
 * the slow queue.
 * @returns the deliveries whose database failed: their wake-ups are to be retried.
 */
export async function sendDeliveries(run: BatchRun, ids: readonly string[]): Promise<string[]> {
  const nowMs = run.now();
  const lease = { nowMs, untilMs: nowMs + LEASE_MS };
  const idOf = (id: string) => id;
  const groups = groupByDatabase(run.env, new Set(ids), idOf, run.meter);
  // A database that fails does not stop the others.
  const claims = await Promise.allSettled(
    groups.map(({ rows }) => runByDatabase(run.env, rows, idOf, run.meter, (db, own) => claim({ ...run, db }, own, lease))),
  );
  const claimed = claims.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  await Promise.all([
    sendDeliveryWakeUps(
      run.env.SLOW_DELIVERY_QUEUE,
      claimed.flatMap(({ forSlowQueue }) => forSlowQueue),
    ),
    sendConcurrently(
      run,
      claimed.flatMap(({ sendable }) => sendable),
      lease,
    ),
  ]);
  return groups.flatMap(({ rows }, at) => (claims[at]!.status === "rejected" ? rows : []));
}

/** The result of a claim. The other deliveries are finished, not due yet, or leased by another run. */
interface Claim {
  /** The deliveries that are leased and will be sent. */
  sendable: SendableDelivery[];
  /** The deliveries of slow endpoints, which are not leased. */
  forSlowQueue: string[];
}

type PendingDelivery = Awaited<ReturnType<typeof listPendingDeliveries>>[number];

/**
 * Leases deliveries of one database in one round trip. A second one cancels those that may not be sent: their endpoint is
 * disabled or deleted, or the plan no longer includes webhooks.
 */
async function claim({ db, queue }: BatchRun & { db: Database }, ids: readonly string[], lease: Lease): Promise<Claim> {
  const [claimed, pending, payloads] = await db.batch([
    claimDeliveries(db, ids, queue, lease),
    listPendingDeliveries(db, ids),
    listPayloads(db, ids),
  ]);
  const leasedIds = new Set(claimed.map(({ id }) => id));
  const [leased, others] = [pending.filter(({ id }) => leasedIds.has(id)), pending.filter(({ id }) => !leasedIds.has(id))];
  const sendable = await cancelUnsendable(db, leased, payloads, lease);
  // The slow queue skips only those of a workspace that is being imported, which the sweep wakes afterwards.
  const forSlowQueue = queue === "slow" ? [] : idsOf(others.filter((delivery) => isForSlowQueue(delivery, lease.nowMs)));
  return { sendable, forSlowQueue };
}

/** Cancels those of the leased deliveries that may not be sent; returns the others. */
async function cancelUnsendable(
  db: Database,
  leased: readonly PendingDelivery[],
  payloads: Awaited<ReturnType<typeof listPayloads>>,
  lease: Lease,
): Promise<SendableDelivery[]> {
  const payloadByEvent = new Map(payloads.map(({ eventId, payload }) => [eventId, payload]));
  const sendable = leased.flatMap((delivery) => toSendable(delivery, payloadByEvent) ?? []);
  const sendableIds = new Set(idsOf(sendable));
  const unsendable = idsOf(leased).filter((id) => !sendableIds.has(id));
  if (unsendable.length > 0) {
    await db.batch(cancelLeasedDeliveries(db, unsendable, lease.untilMs, lease.nowMs));
    log("webhook_deliveries_given_up", { delivery_ids: unsendable });
  }
  return sendable;
}

/**
 * Reads a claimed delivery again. Returns undefined if it may not be sent any more. If the database fails, the sweep rescues it once its
 * lease has expired.
 */
async function readAgain(run: BatchRun, { id, workspaceId }: SendableDelivery, lease: Lease): Promise<SendableDelivery | undefined> {
  const db = dbFor(run.env, id, run.meter);
  try {
    const [pending, payloads] = await db.batch([listPendingDeliveries(db, [id]), listPayloads(db, [id])]);
    const leased = pending.filter(({ leaseUntil }) => leaseUntil === lease.untilMs);
    const [delivery] = await cancelUnsendable(db, leased, payloads, { ...lease, nowMs: run.now() });
    return delivery;
  } catch (error) {
    logProblem("delivery_sender_failed", { workspace_id: workspaceId, delivery_id: id }, error);
    return undefined;
  }
}

/** The delivery with everything that is needed to send it; undefined when it may not be sent. A disabled endpoint still gets tests. */
function toSendable(delivery: PendingDelivery, payloadByEvent: ReadonlyMap<string, string>): SendableDelivery | undefined {
  const { endpoint, hasPlan } = delivery;
  const payload = payloadByEvent.get(delivery.eventId);
  if (!endpoint || payload === undefined || !hasPlan) return undefined;
  if (!endpoint.isEnabled && delivery.trigger !== "test") return undefined;
  const { id, workspaceId, webhookId, eventId, trigger, attemptCount, leaseUntil } = delivery;
  return { id, workspaceId, webhookId, eventId, trigger, attemptCount, leaseUntil, payload, endpoint };
}

function isForSlowQueue({ endpoint, nextAttemptAt, leaseUntil }: PendingDelivery, nowMs: number): boolean {
  const isDue = nextAttemptAt !== null && nextAttemptAt <= nowMs + MAX_CLOCK_SKEW_MS;
  const isUnleased = leaseUntil === null || leaseUntil < nowMs;
  return isDue && isUnleased && endpoint !== null && isSlow(endpoint);
}

async function sendConcurrently(run: BatchRun, sendable: SendableDelivery[], lease: Lease): Promise<void> {
  const limiter = new EndpointLimiter(sendable, MAX_CONCURRENCY_PER_ENDPOINT);
  const workers = Array.from({ length: Math.min(MAX_CONCURRENCY, sendable.length) }, () => sendOneByOne(run, limiter, lease));
  await Promise.all(workers);
  await runByDatabase(
    run.env,
    limiter.remaining(),
    ({ id }) => id,
    run.meter,
    (db, rows) => release({ ...run, db }, rows, limiter, lease),
  );
}

/** One worker of the batch. It ends with an attempt that continues in the background, because that connection is still open. */
async function sendOneByOne(run: BatchRun, limiter: EndpointLimiter<SendableDelivery>, lease: Lease): Promise<void> {
  while (run.now() < lease.untilMs - MAX_ATTEMPT_MS) {
    const delivery = limiter.start();
    if (!delivery) return;
    const current = run.now() - lease.nowMs > MAX_AGE_MS ? await readAgain(run, delivery, lease) : delivery;
    const state = current ? await run.send(current, MAX_WAIT_MS[run.queue]) : "finished";
    if (state === "running") {
      limiter.block(delivery);
      const db = dbFor(run.env, delivery.id, run.meter);
      // Without the mark, the next batch waits for the endpoint once more.
      await db.batch([markEndpointSlow(db, delivery.webhookId)]).catch((error: unknown) => {
        logProblem("endpoint_not_marked_slow", { workspace_id: delivery.workspaceId, webhook_id: delivery.webhookId }, error);
      });
      return;
    }
    limiter.finish(delivery);
  }
}

/** Releases deliveries that were not sent, and wakes them again: those of slow endpoints on the slow queue. */
async function release(
  { env, queue, db }: BatchRun & { db: Database },
  remaining: SendableDelivery[],
  limiter: EndpointLimiter<SendableDelivery>,
  lease: Lease,
) {
  const [released] = await db.batch([releaseDeliveries(db, idsOf(remaining), lease.untilMs)]);
  const isForSlow = ({ webhookId }: { webhookId: string }) => queue === "slow" || limiter.isBlocked(webhookId);
  await Promise.all([
    sendDeliveryWakeUps(env.SLOW_DELIVERY_QUEUE, idsOf(released.filter(isForSlow))),
    sendDeliveryWakeUps(env.DELIVERY_QUEUE, idsOf(released.filter((delivery) => !isForSlow(delivery)))),
  ]);
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

/**
 * Limits how many deliveries of one endpoint are sent concurrently, and starts them round-robin by endpoint: an endpoint
 * with many deliveries does not delay the others.
 */
export class EndpointLimiter<Delivery extends { webhookId: string }> {
  private readonly waiting: Map<string, Delivery[]>;
  private readonly running = new Map<string, number>();
  private readonly blocked = new Set<string>();

  constructor(
    deliveries: readonly Delivery[],
    private readonly maxPerEndpoint: number,
  ) {
    this.waiting = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
  }

  /** The next delivery to send; undefined when none may start now. Pass it to `finish` or `block` afterwards. */
  start(): Delivery | undefined {
    for (const [webhookId, deliveries] of this.waiting) {
      const running = this.running.get(webhookId) ?? 0;
      if (running >= this.maxPerEndpoint || this.blocked.has(webhookId)) continue;
      const next = deliveries.shift();
      // Deleting and setting the key moves the endpoint behind the others.
      this.waiting.delete(webhookId);
      if (deliveries.length > 0) this.waiting.set(webhookId, deliveries);
      this.running.set(webhookId, running + 1);
      return next;
    }
    return undefined;
  }

  /** Reports that a delivery's attempt is over. */
  finish({ webhookId }: Delivery): void {
    this.running.set(webhookId, this.running.get(webhookId)! - 1);
  }

  /** Starts no more deliveries of this one's endpoint. */
  block({ webhookId }: Delivery): void {
    this.blocked.add(webhookId);
  }

  isBlocked(webhookId: string): boolean {
    return this.blocked.has(webhookId);
  }

  /** The deliveries that were not started. */
  remaining(): Delivery[] {
    return [...this.waiting.values()].flat();
  }
}
