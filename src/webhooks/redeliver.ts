import { API_VERSION, TEST_EVENT } from "../events/event-types.ts";
import { sendDeliveryWakeUps } from "../events/outbox.ts";
import type { Operation } from "../platform/db/client.ts";
import { dayWindow, fullWindow, type VisitorWindow } from "../workspaces/visitor-limits.ts";
import { listSent } from "../workspaces/visitor-store.ts";
import { attemptDelivery } from "./attempt.ts";
import { addTest, createRedelivery, findDelivery, findTest } from "./delivery-log-store.ts";
import { findEndpoint } from "./endpoint-store.ts";
import type { AttemptRow, DeliveryRow } from "./wire.ts";

type Found = Awaited<ReturnType<typeof findDelivery>>[number];

export type Redelivery =
  | { outcome: "queued"; delivery: Found }
  | { outcome: "unreadable"; eventType: string }
  | { outcome: "rate_limited"; full: VisitorWindow }
  | { outcome: "not_found" | "endpoint_disabled" | "pending" | "test" | "payload_gone" };

interface RedeliveryLimits {
  /** The types of events that the caller may not read, and therefore not have sent. */
  unreadable: readonly string[];
  /** The limit of deliveries in a day. */
  perDay: number;
}

/** Queues a new delivery of the same event to the same endpoint, with the same event id and the whole retry schedule. */
export async function redeliver(op: Operation, deliveryId: string, { unreadable, perDay }: RedeliveryLimits): Promise<Redelivery> {
  const { db, workspaceId, nowMs } = op;
  const id = op.newId();
  const windows = [dayWindow("deliveries", perDay, nowMs)];
  const [made, [original], , [delivery]] = await db.batch([
    listSent(db, workspaceId, windows),
    findDelivery(db, workspaceId, deliveryId),
    createRedelivery(db, workspaceId, deliveryId, { id, nowMs, unreadable }, windows),
    findDelivery(db, workspaceId, id),
  ]);
  if (delivery) {
    await sendDeliveryWakeUps(op.env.DELIVERY_QUEUE, [id]);
    return { outcome: "queued", delivery };
  }
  if (original && unreadable.includes(original.eventType)) return { outcome: "unreadable", eventType: original.eventType };
  const outcome = refusalReason(original);
  const full = outcome === undefined && fullWindow(windows, made);
  return full ? { outcome: "rate_limited", full } : { outcome: outcome ?? "payload_gone" };
}

function refusalReason(original: Found | undefined) {
  if (!original) return "not_found";
  if (!original.isEnabled) return "endpoint_disabled";
  if (original.eventType === TEST_EVENT) return "test";
  if (original.status === "pending") return "pending";
  return original.hasPayload ? undefined : "payload_gone";
}

/** How long a test is leased: longer than its request may take. If its sender is interrupted, the sweep sends it afterwards. */
const TEST_LEASE_MS = 60_000;
const TEST_MESSAGE = "This is a test. Your endpoint is set up.";

type SentTest = { delivery: DeliveryRow; attempts: AttemptRow[] } | { full: VisitorWindow };

/**
 * Sends a test event to an endpoint, enabled or not, and waits for the result. It is logged like any delivery, but is not
 * retried and does not affect the endpoint's health.
 * @param perDay the limit of deliveries in a day.
 * @returns the delivery with its attempts, the day if it is full, or undefined when the workspace has no such endpoint.
 */
export async function sendTest(op: Operation, webhookId: string, perDay: number): Promise<SentTest | undefined> {
  const { env, meter, db, workspaceId, nowMs } = op;
  const [deliveryId, eventId] = [op.newId(), op.newId()];
  const payload = testPayload(eventId, op);
  const test = { deliveryId, eventId, workspaceId, webhookId, payload, nowMs, leaseUntil: nowMs + TEST_LEASE_MS };
  const windows = [dayWindow("deliveries", perDay, nowMs)];
  const [made, [endpointRow], , , [found], attempts] = await db.batch([
    listSent(db, workspaceId, windows),
    findEndpoint(db, workspaceId, webhookId),
    ...addTest(db, test, windows),
    ...findTest(db, deliveryId),
  ]);
  if (!found) {
    const full = fullWindow(windows, made);
    return endpointRow && full && { full };
  }
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
