import { exports } from "cloudflare:workers";
import { isBoundShard } from "../db/client.ts";
import type { Meter } from "../meter.ts";
import { logProblem } from "../telemetry/log.ts";
import type { Sendable } from "./attempt.ts";
import type { Lane } from "./claim.ts";
import type { Progress } from "./courier.ts";
import { deliverBatch } from "./deliver.ts";
import type { DeliveryMessage } from "./delivery-message.ts";

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
