import { exports } from "cloudflare:workers";
import { isBoundShard } from "../db/client.ts";
import { Meter } from "../meter.ts";
import type { Sendable } from "./attempt.ts";
import type { Lane } from "./claim.ts";
import { deliverBatch } from "./deliver.ts";
import type { DeliveryMessage } from "./delivery-message.ts";

/** A batch's wake-ups come again after so long when their database failed. */
const RETRY_SECONDS = 10;

/** Delivers what a batch of wake-ups is about. */
export async function deliver(env: Env, lane: Lane, batch: MessageBatch<DeliveryMessage | null>): Promise<void> {
  const meter = new Meter();
  const startedAtMs = Date.now();
  const ids = batch.messages.flatMap((message) => idOf(env, message) ?? []);
  const send = (held: Sendable, patienceMs: number) => exports.DeliveryCourier.send(held, patienceMs);
  const failed = new Set(await deliverBatch({ env, meter, lane, now: Date.now, send }, ids));
  for (const message of batch.messages) {
    if (failed.has(message.body?.deliveryId ?? "")) message.retry({ delaySeconds: RETRY_SECONDS });
    else message.ack();
  }
  const line = { event: "webhook_batch", lane, messages: batch.messages.length, failed: failed.size, d1_trips: meter.cost.d1Trips };
  console.log(JSON.stringify({ ...line, duration_ms: Date.now() - startedAtMs }));
}

/** A wake-up that came too often for nothing. Its delivery waits in its row, where the sweep finds it. */
export async function noteDead({ deliveryId }: DeliveryMessage): Promise<void> {
  console.error(JSON.stringify({ event: "webhook_wake_up_dead", delivery_id: deliveryId, detail: "left to the sweep" }));
}

/** The delivery that a message names; undefined for one that no version of the service wrote. */
function idOf(env: Env, { body }: Message<DeliveryMessage | null>): string | undefined {
  const id = body?.deliveryId;
  return typeof id === "string" && isBoundShard(env, id) ? id : undefined;
}
