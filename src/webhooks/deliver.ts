import { dbFor } from "../db/client.ts";
import { shardOf } from "../db/ids.ts";
import type { Meter } from "../meter.ts";
import type { Sendable } from "./attempt.ts";
import { claimBatch, type Lane } from "./claim.ts";
import type { Progress } from "./courier.ts";
import { type Lease, noteSlow, releaseDeliveries } from "./delivery-store.ts";
import { SLOW_MS } from "./endpoint-health.ts";
import { Turns } from "./turns.ts";
import { wakeOn } from "./wake.ts";

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
  await Promise.all([wakeOn(run.env.SLOW_DELIVERY_QUEUE, forSlowLane), sendInTurns(run, sendable, lease)]);
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
  await Promise.all([wakeOn(env.SLOW_DELIVERY_QUEUE, idsOf(slow)), wakeOn(env.DELIVERY_QUEUE, idsOf(fast))]);
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
