import { sendWakeUps } from "../platform/queue.ts";

/** A wake-up for one delivery. The delivery's row says what is to be done. */
export interface DeliveryMessage {
  deliveryId: string;
}

/**
 * Sends wake-ups for the deliveries that a committed batch added. The sweep finds a delivery whose wake-up is lost.
 * @param written what the batch's writes returned, those that add events included.
 */
export async function wakeDeliveries(env: Env, written: readonly unknown[]): Promise<void> {
  await sendWakeUps(env.DELIVERY_QUEUE, written.flatMap(deliveriesIn));
}

/** Sends wake-ups for deliveries to a lane, with a delay if one is given. */
export function sendDeliveryWakeUps(lane: Queue, ids: readonly string[], delaySeconds?: number): Promise<void> {
  return sendWakeUps(lane, ids.map((deliveryId) => ({ deliveryId })) satisfies DeliveryMessage[], delaySeconds);
}

/** An event's fan-out returns the deliveries that it made; what other writes return is something else. */
function deliveriesIn(rows: unknown): DeliveryMessage[] {
  return Array.isArray(rows) ? rows.filter((row: Partial<DeliveryMessage>) => row.deliveryId !== undefined) : [];
}

/** A wake-up: which message is to go out as mail. */
export interface EmailMessage {
  messageId: string;
}

/** Sends wake-ups for messages that wait to go out as mail. The sweep finds one whose wake-up is lost. */
export function wakeEmails(env: Env, messages: readonly EmailMessage[]): Promise<void> {
  return sendWakeUps(env.EMAIL_QUEUE, messages);
}
