import { and, inArray, lt, type SQL, sql } from "drizzle-orm";
import { hasArrived } from "../db/arrived.ts";
import type { Database } from "../db/client.ts";
import { firstIdAt } from "../db/ids.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints } from "../db/schema.ts";
import { isFree } from "./give-up.ts";

/**
 * Takes the oldest deliveries that have been due since before `beforeMs` and are not under lease, and moves them to the
 * end of the line, so that the next run sees others even if one endpoint has many.
 */
export function takeStranded(db: Database, beforeMs: number, nowMs: number, limit: number) {
  // Written out and not bound, since a partial index is used for the very words of its condition.
  const isStranded = and(
    sql`status = 'pending'`,
    lt(deliveries.nextAttemptAt, beforeMs),
    isFree(nowMs),
    hasArrived(deliveries.workspaceId),
  );
  const oldest = db.select({ id: deliveries.id }).from(deliveries).where(isStranded).orderBy(deliveries.nextAttemptAt).limit(limit);
  const ofEndpoint = (column: SQL) => sql`(SELECT ${column} FROM ${webhookEndpoints} e WHERE e.id = ${deliveries.webhookId})`;
  return db
    .update(deliveries)
    .set({ nextAttemptAt: nowMs })
    .where(inArray(deliveries.id, oldest))
    .returning({
      id: deliveries.id,
      webhookId: deliveries.webhookId,
      failureStreak: sql<number | null>`${ofEndpoint(sql`e.failure_streak`)}`.as("failure_streak"),
      lastDurationMs: sql<number | null>`${ofEndpoint(sql`e.last_duration_ms`)}`.as("last_duration_ms"),
    });
}

/** Removes some of the deliveries from before `beforeMs` that are over, with their attempts. */
export function pruneDeliveries(db: Database, beforeMs: number, limit: number) {
  const isOld = and(lt(deliveries.id, firstIdAt(beforeMs)), sql`${deliveries.status} <> 'pending'`, hasArrived(deliveries.workspaceId));
  const oldest = db.select({ id: deliveries.id }).from(deliveries).where(isOld).orderBy(deliveries.id).limit(limit);
  return [
    db.delete(deliveryAttempts).where(inArray(deliveryAttempts.deliveryId, oldest)),
    db.delete(deliveries).where(inArray(deliveries.id, oldest)),
  ] as const;
}

/** Removes some of the events from before `beforeMs` that no delivery needs any more. */
export function pruneEvents(db: Database, beforeMs: number, limit: number) {
  const isNeeded = sql`EXISTS (SELECT 1 FROM ${deliveries} d WHERE d.workspace_id = ${events.workspaceId} AND d.event_id = ${events.id})`;
  const unneeded = db
    .select({ id: events.id })
    .from(events)
    .where(and(lt(events.createdAt, beforeMs), sql`NOT ${isNeeded}`, hasArrived(events.workspaceId)))
    .orderBy(events.createdAt)
    .limit(limit);
  return db.delete(events).where(inArray(events.id, unneeded));
}
