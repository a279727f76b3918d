import { dbFor } from "../db/client.ts";
import { shardOf } from "../db/ids.ts";
import type { WebhookOperation } from "./endpoints.ts";
import { TEST_EVENT } from "./events.ts";
import { createRedelivery, findDelivery } from "./log-store.ts";
import { wakeOn } from "./wake.ts";

type Found = Awaited<ReturnType<typeof findDelivery>>[number];

export type Redelivery =
  | { outcome: "queued"; delivery: Found }
  | { outcome: "not_found" | "endpoint_disabled" | "pending" | "test" | "payload_gone" };

/** Sends a delivery's event to the same endpoint again: a new delivery, the same event id, the whole schedule. */
export async function redeliver(op: WebhookOperation, deliveryId: string): Promise<Redelivery> {
  const { env, workspaceId, nowMs } = op;
  const db = dbFor(env, workspaceId, op.meter);
  const id = op.newId(shardOf(workspaceId));
  const [[original], , [delivery]] = await db.batch([
    findDelivery(db, workspaceId, deliveryId),
    createRedelivery(db, workspaceId, deliveryId, { id, nowMs }),
    findDelivery(db, workspaceId, id),
  ]);
  if (delivery) {
    await wakeOn(env.DELIVERY_QUEUE, [id]);
    return { outcome: "queued", delivery };
  }
  return { outcome: refusalOf(original) };
}

function refusalOf(original: Found | undefined) {
  if (!original) return "not_found";
  if (!original.isEnabled) return "endpoint_disabled";
  if (original.eventType === TEST_EVENT) return "test";
  return original.status === "pending" ? "pending" : "payload_gone";
}
