import { and, desc, eq, getTableColumns, inArray, lt, sql } from "drizzle-orm";
import { TEST_EVENT } from "../events/event-types.ts";
import { nextSequence } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints } from "../platform/db/schema.ts";
import { exists, insertWhere, isOwn, jsonIds } from "../platform/db/sql.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { windowsHaveRoom } from "../workspaces/usage-limit-store.ts";

type DeliveryStatus = (typeof deliveries.$inferSelect)["status"];

interface Page {
  limit: number;
  offset: number;
  cursor?: { id: string } | undefined;
}

/** One page of an endpoint's deliveries, newest first, plus one row when there is another page; then their attempts. */
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

/** A delivery with what its redelivery depends on, if its endpoint exists. */
export function findDelivery(db: Database, workspaceId: string, deliveryId: string) {
  const hasPayload = sql<number>`EXISTS (SELECT 1 FROM ${events} WHERE id = ${deliveries.eventId})`.as("has_payload");
  return db
    .select({ ...getTableColumns(deliveries), isEnabled: webhookEndpoints.enabled, hasPayload })
    .from(deliveries)
    .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
    .where(isOwn(deliveries, workspaceId, deliveryId));
}

/** A delivery's event with its payload, which is null once it is no longer kept. */
export function findDeliveredEvent(db: Database, workspaceId: string, deliveryId: string) {
  return db
    .select({ eventId: deliveries.eventId, eventType: deliveries.eventType, payload: events.payload })
    .from(deliveries)
    .leftJoin(events, eq(events.id, deliveries.eventId))
    .where(isOwn(deliveries, workspaceId, deliveryId));
}

/**
 * Adds a new delivery of a finished delivery's event, if its endpoint is enabled, its type is not one of the `unreadable` ones, and each
 * rate-limit window has room.
 */
export function createRedelivery(
  db: Database,
  workspaceId: string,
  deliveryId: string,
  redelivery: { id: string; nowMs: number; unreadable: readonly string[] },
  windows: readonly LimitWindow[],
) {
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
    AND d.event_type NOT IN ${jsonIds(redelivery.unreadable)} AND e.enabled AND EXISTS (SELECT 1 FROM ${events} WHERE id = d.event_id)
    AND ${windowsHaveRoom(workspaceId, windows)}`;
  const from = sql`${deliveries} d JOIN ${webhookEndpoints} e ON e.id = d.webhook_id`;
  return insertWhere(db, deliveries, row, condition, from).onConflictDoNothing();
}

/** A test delivery, which its caller sends immediately. */
export interface NewTest {
  deliveryId: string;
  eventId: string;
  workspaceId: string;
  webhookId: string;
  payload: string;
  nowMs: number;
  leaseUntil: number;
}

/**
 * Adds a test's event and its delivery, already leased, if the workspace has the endpoint and each rate-limit window has room. A test
 * with the same id stays as it is.
 */
export function addTest(db: Database, test: NewTest, windows: readonly LimitWindow[]) {
  const { deliveryId, eventId, workspaceId, webhookId, payload, nowMs, leaseUntil } = test;
  const endpointExists = exists(webhookEndpoints, isOwn(webhookEndpoints, workspaceId, webhookId));
  const condition = sql`${endpointExists} AND ${windowsHaveRoom(workspaceId, windows)}`;
  const event = { id: eventId, workspaceId, type: TEST_EVENT, payload, sequence: nextSequence(workspaceId), createdAt: nowMs };
  const delivery = {
    id: deliveryId,
    workspaceId,
    webhookId,
    eventId,
    eventType: TEST_EVENT,
    status: "pending" as const,
    trigger: "test" as const,
    nextAttemptAt: nowMs,
    leaseUntil,
    createdAt: nowMs,
  };
  return [
    insertWhere(db, events, event, condition).onConflictDoNothing(),
    insertWhere(db, deliveries, delivery, condition).onConflictDoNothing(),
  ] as const;
}

/** A test with its endpoint, and its attempts. */
export function findTest(db: Database, deliveryId: string) {
  const { url, secret, previousSecret, previousSecretUntil, olderSecrets } = webhookEndpoints;
  return [
    db
      .select({ delivery: getTableColumns(deliveries), endpoint: { url, secret, previousSecret, previousSecretUntil, olderSecrets } })
      .from(deliveries)
      .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
      .where(eq(deliveries.id, deliveryId)),
    db.select().from(deliveryAttempts).where(eq(deliveryAttempts.deliveryId, deliveryId)),
  ] as const;
}
