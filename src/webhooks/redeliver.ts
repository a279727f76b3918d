import { TEST_EVENT } from "../events/event-types.ts";
import { sendDeliveryWakeUps } from "../events/outbox.ts";
import type { Operation } from "../platform/db/client.ts";
import { dayWindow, type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { listCounts } from "../workspaces/usage-limit-store.ts";
import { createRedelivery, findDelivery } from "./delivery-log-store.ts";

type Found = Awaited<ReturnType<typeof findDelivery>>[number];

export type Redelivery =
  | { outcome: "queued"; delivery: Found }
  | { outcome: "unreadable"; eventType: string }
  | { outcome: "rate_limited"; full: LimitWindow }
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
    listCounts(db, workspaceId, windows),
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
  const full = outcome === undefined && findFullWindow(windows, made);
  return full ? { outcome: "rate_limited", full } : { outcome: outcome ?? "payload_gone" };
}

function refusalReason(original: Found | undefined) {
  if (!original) return "not_found";
  if (!original.isEnabled) return "endpoint_disabled";
  if (original.eventType === TEST_EVENT) return "test";
  if (original.status === "pending") return "pending";
  return original.hasPayload ? undefined : "payload_gone";
}
