import { API_VERSION, TEST_EVENT } from "../events/event-types.ts";
import { sendDeliveryWakeUps } from "../events/outbox.ts";
import type { Operation } from "../platform/db/client.ts";
import { attemptDelivery } from "./attempt.ts";
import { addTest, createRedelivery, findDelivery, findTest } from "./delivery-log-store.ts";
import type { AttemptRow, DeliveryRow } from "./wire.ts";

type Found = Awaited<ReturnType<typeof findDelivery>>[number];

export type Redelivery =
  | { outcome: "queued"; delivery: Found }
  | { outcome: "unreadable"; eventType: string }
  | { outcome: "not_found" | "endpoint_disabled" | "pending" | "test" | "payload_gone" };

/**
 * Queues a new delivery of the same event to the same endpoint, with the same event id and the whole retry schedule.
 * @param unreadable the types of events that the caller may not read, and therefore not have sent.
 */
export async function redeliver(op: Operation, deliveryId: string, unreadable: readonly string[]): Promise<Redelivery> {
  const { db, workspaceId, nowMs } = op;
  const id = op.newId();
  const [[original], , [delivery]] = await db.batch([
    findDelivery(db, workspaceId, deliveryId),
    createRedelivery(db, workspaceId, deliveryId, { id, nowMs, unreadable }),
    findDelivery(db, workspaceId, id),
  ]);
  if (delivery) {
    await sendDeliveryWakeUps(op.env.DELIVERY_QUEUE, [id]);
    return { outcome: "queued", delivery };
  }
  if (original && unreadable.includes(original.eventType)) return { outcome: "unreadable", eventType: original.eventType };
  return { outcome: refusalReason(original) };
}

function refusalReason(original: Found | undefined) {
  if (!original) return "not_found";
  if (!original.isEnabled) return "endpoint_disabled";
  if (original.eventType === TEST_EVENT) return "test";
  return original.status === "pending" ? "pending" : "payload_gone";
}

/** How long a test is leased: longer than its request may take. If its sender is interrupted, the sweep sends it afterwards. */
const TEST_LEASE_MS = 60_000;
const TEST_MESSAGE = "This is a test. Your endpoint is set up.";

/**
 * Sends a test event to an endpoint, enabled or not, and waits for the result. It is logged like any delivery, but is not
 * retried and does not affect the endpoint's health.
 * @returns the delivery with its attempts, or undefined when the workspace has no such endpoint.
 */
export async function sendTest(op: Operation, webhookId: string): Promise<{ delivery: DeliveryRow; attempts: AttemptRow[] } | undefined> {
  const { env, meter, db, workspaceId, nowMs } = op;
  const [deliveryId, eventId] = [op.newId(), op.newId()];
  const payload = testPayload(eventId, op);
  const test = { deliveryId, eventId, workspaceId, webhookId, payload, nowMs, leaseUntil: nowMs + TEST_LEASE_MS };
  const [, , [found], attempts] = await db.batch([...addTest(db, test), ...findTest(db, deliveryId)]);
  if (!found) return undefined;
  const { delivery, endpoint } = found;
  // A repeated request: its first run has sent the test, or is about to.
  if (delivery.leaseUntil !== test.leaseUntil) return { delivery, attempts };
  const run = { env, meter, now: () => Date.now(), random: Math.random };
  const sent = await attemptDelivery(run, { ...delivery, payload, endpoint });
  return sent && { delivery: sent.delivery, attempts: [sent.attempt] };
}

function testPayload(id: string, { workspaceId, nowMs }: Operation): string {
  const createdAt = new Date(nowMs).toISOString();
  const data = { message: TEST_MESSAGE };
  return JSON.stringify({ id, type: TEST_EVENT, created_at: createdAt, api_version: API_VERSION, workspace_id: workspaceId, data });
}
