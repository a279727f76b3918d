import { API_VERSION, TEST_EVENT } from "../events/event-types.ts";
import type { Operation } from "../platform/db/client.ts";
import { dayWindow, type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { listCounts } from "../workspaces/usage-limit-store.ts";
import { attemptDelivery } from "./attempt.ts";
import { addTest, findTest } from "./delivery-log-store.ts";
import { findEndpoint } from "./endpoint-store.ts";
import type { AttemptRow, DeliveryRow } from "./wire.ts";

/** How long a test is leased: longer than its request may take. If its sender is interrupted, the sweep sends it afterwards. */
const TEST_LEASE_MS = 60_000;
const TEST_MESSAGE = "This is a test. Your endpoint is set up.";

type SentTest = { delivery: DeliveryRow; attempts: AttemptRow[] } | { full: LimitWindow };

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
    listCounts(db, workspaceId, windows),
    findEndpoint(db, workspaceId, webhookId),
    ...addTest(db, test, windows),
    ...findTest(db, deliveryId),
  ]);
  if (!found) {
    const full = findFullWindow(windows, made);
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
