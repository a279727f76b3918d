import { wakeUp } from "../wake-up.ts";
import type { DeliveryMessage } from "./delivery-message.ts";

/**
 * Wakes the deliveries that a batch has made, once it is committed. A wake-up that is lost is found by the sweep.
 * @param written what the batch's writes returned, those of events among them.
 */
export async function wakeDeliveries(env: Env, written: readonly unknown[]): Promise<void> {
  await wakeUp(env.DELIVERY_QUEUE, written.flatMap(deliveriesIn));
}

/** Wakes these deliveries on one of the two lanes, after a while if so. */
export function wakeOn(lane: Queue, ids: readonly string[], delaySeconds?: number): Promise<void> {
  return wakeUp(lane, ids.map((deliveryId) => ({ deliveryId })) satisfies DeliveryMessage[], delaySeconds);
}

/** An event's fan-out returns the deliveries that it made; what other writes return is something else. */
function deliveriesIn(rows: unknown): DeliveryMessage[] {
  return Array.isArray(rows) ? rows.filter((row: Partial<DeliveryMessage>) => row.deliveryId !== undefined) : [];
}
