import { and, desc, eq, getTableColumns, inArray, lt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints } from "../db/schema.ts";
import { TEST_EVENT } from "./events.ts";

type DeliveryStatus = (typeof deliveries.$inferSelect)["status"];

interface Page {
  limit: number;
  offset: number;
  cursor?: { id: string } | undefined;
}

/** One page of an endpoint's deliveries, newest first, plus one row when there are more; then the attempts of those deliveries. */
export function pageDeliveries(
  db: Database,
  workspaceId: string,
  webhookId: string,
  status: DeliveryStatus | undefined,
  { limit, offset, cursor }: Page,
) {
  const where = and(
    eq(deliveries.workspaceId, workspaceId),
    eq(deliveries.webhookId, webhookId),
    status === undefined ? undefined : eq(deliveries.status, status),
    cursor && lt(deliveries.id, cursor.id),
  );
  const ids = db.select({ id: deliveries.id }).from(deliveries).where(where).orderBy(desc(deliveries.id)).limit(limit).offset(offset);
  return [
    db
      .select()
      .from(deliveries)
      .where(where)
      .orderBy(desc(deliveries.id))
      .limit(limit + 1)
      .offset(offset),
    db.select().from(deliveryAttempts).where(inArray(deliveryAttempts.deliveryId, ids)),
  ] as const;
}

/** A delivery with what its redelivery depends on, if it is the workspace's and its endpoint is there. */
export function findDelivery(db: Database, workspaceId: string, deliveryId: string) {
  const isKept = sql<number>`EXISTS (SELECT 1 FROM ${events} WHERE id = ${deliveries.eventId})`.as("is_kept");
  return db
    .select({ ...getTableColumns(deliveries), isEnabled: webhookEndpoints.enabled, isKept })
    .from(deliveries)
    .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
    .where(and(eq(deliveries.id, deliveryId), eq(deliveries.workspaceId, workspaceId)));
}

/** Adds a new delivery of an earlier delivery's event, if its endpoint and plan allow it. */
export function createRedelivery(db: Database, workspaceId: string, deliveryId: string, redelivery: { id: string; nowMs: number }) {
  const row = {
    id: redelivery.id,
    workspaceId,
    webhookId: sql`d.webhook_id`,
    eventId: sql`d.event_id`,
    eventType: sql`d.event_type`,
    status: "pending" as const,
    trigger: "redelivery" as const,
    nextAttemptAt: redelivery.nowMs,
    createdAt: redelivery.nowMs,
  };
  const condition = sql`d.id = ${deliveryId} AND d.workspace_id = ${workspaceId} AND d.status <> 'pending' AND d.event_type <> ${TEST_EVENT}
    AND e.enabled AND EXISTS (SELECT 1 FROM ${events} WHERE id = d.event_id)`;
  const from = sql`${deliveries} d JOIN ${webhookEndpoints} e ON e.id = d.webhook_id`;
  return insertWhere(db, deliveries, row, condition, from).onConflictDoNothing();
}
