import { and, eq, inArray, sql } from "drizzle-orm";
import { hasArrived } from "../db/arrived.ts";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, deliveryAttempts, webhookEndpoints, webhookErasures } from "../db/schema.ts";

/** Removes an endpoint; nothing is sent to it afterwards. Returns the endpoint if it existed. */
export function eraseEndpoint(db: Database, workspaceId: string, webhookId: string) {
  return db
    .delete(webhookEndpoints)
    .where(and(eq(webhookEndpoints.id, webhookId), eq(webhookEndpoints.workspaceId, workspaceId)))
    .returning({ id: webhookEndpoints.id });
}

/** Removes the first `limit` deliveries of an endpoint that is gone, with their attempts. */
export function eraseLog(db: Database, workspaceId: string, webhookId: string, limit: number) {
  const isTheirs = and(eq(deliveries.workspaceId, workspaceId), eq(deliveries.webhookId, webhookId), isGone(webhookId));
  const first = db.select({ id: deliveries.id }).from(deliveries).where(isTheirs).orderBy(deliveries.id).limit(limit);
  return [
    db.delete(deliveryAttempts).where(inArray(deliveryAttempts.deliveryId, first)),
    db.delete(deliveries).where(inArray(deliveries.id, first)),
  ] as const;
}

/** Notes that a deleted endpoint still has a log, which the sweep goes on to remove. */
export function noteErasure(db: Database, workspaceId: string, webhookId: string, nowMs: number) {
  const row = { id: webhookId, workspaceId, createdAt: nowMs };
  return insertWhere(db, webhookErasures, row, sql`${isGone(webhookId)} AND ${hasLog(workspaceId, webhookId)}`).onConflictDoNothing();
}

/** Endpoints whose log is not erased yet. */
export function listWebhookErasures(db: Database, limit: number) {
  return db.select().from(webhookErasures).where(hasArrived(webhookErasures.workspaceId)).orderBy(webhookErasures.createdAt).limit(limit);
}

/** Ends an endpoint's erasure once its log is empty; returns the erasure then. */
export function endWebhookErasure(db: Database, workspaceId: string, webhookId: string) {
  return db
    .delete(webhookErasures)
    .where(and(eq(webhookErasures.id, webhookId), sql`NOT ${hasLog(workspaceId, webhookId)}`))
    .returning({ id: webhookErasures.id });
}

function hasLog(workspaceId: string, webhookId: string) {
  return sql`EXISTS (SELECT 1 FROM ${deliveries} WHERE workspace_id = ${workspaceId} AND webhook_id = ${webhookId})`;
}

function isGone(webhookId: string) {
  return sql`NOT EXISTS (SELECT 1 FROM ${webhookEndpoints} WHERE id = ${webhookId})`;
}
