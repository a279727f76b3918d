import { eq, getTableColumns, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints } from "../db/schema.ts";
import { TEST_EVENT } from "./events.ts";

/** A test delivery, which its caller sends at once. */
export interface NewTest {
  deliveryId: string;
  eventId: string;
  workspaceId: string;
  webhookId: string;
  payload: string;
  nowMs: number;
  leaseUntil: number;
}

/** Adds a test's event and its delivery, already under lease, if the workspace has the endpoint. A test with the same id stays as it is. */
export function addTest(db: Database, { deliveryId, eventId, workspaceId, webhookId, payload, nowMs, leaseUntil }: NewTest) {
  const isThere = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} WHERE id = ${webhookId} AND workspace_id = ${workspaceId})`;
  const event = { id: eventId, workspaceId, type: TEST_EVENT, payload, createdAt: nowMs };
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
    insertWhere(db, events, event, isThere).onConflictDoNothing(),
    insertWhere(db, deliveries, delivery, isThere).onConflictDoNothing(),
  ] as const;
}

/** A test with its endpoint, and its attempts. */
export function findTest(db: Database, deliveryId: string) {
  const { url, secret, previousSecret, previousSecretUntil } = webhookEndpoints;
  return [
    db
      .select({ delivery: getTableColumns(deliveries), endpoint: { url, secret, previousSecret, previousSecretUntil } })
      .from(deliveries)
      .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
      .where(eq(deliveries.id, deliveryId)),
    db.select().from(deliveryAttempts).where(eq(deliveryAttempts.deliveryId, deliveryId)),
  ] as const;
}
