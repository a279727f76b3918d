import { eq, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, deliveryAttempts, webhookEndpoints } from "../db/schema.ts";

/** Nobody holds the delivery: it was never claimed, or whoever claimed it died. */
export function isFree(nowMs: number): SQL {
  return or(isNull(deliveries.leaseUntil), lt(deliveries.leaseUntil, nowMs))!;
}

/**
 * Fails the deliveries for which the condition holds, each with an attempt that says that its endpoint is disabled.
 * @param isGivenUp picks the same deliveries in both statements, so the first may not change what it reads.
 */
export function giveUp(db: Database, isGivenUp: SQL, nowMs: number) {
  const number = sql<number>`${deliveries.attemptCount} + 1`;
  const attempt = {
    deliveryId: sql`${deliveries.id}`,
    workspaceId: sql`${deliveries.workspaceId}`,
    number,
    startedAt: nowMs,
    durationMs: 0,
    error: "endpoint_disabled",
    url: sql`e.url`,
  };
  const from = sql`${deliveries} JOIN ${webhookEndpoints} e ON e.id = ${deliveries.webhookId}`;
  return [
    insertWhere(db, deliveryAttempts, attempt, isGivenUp, from),
    db
      .update(deliveries)
      .set({ status: "failed", attemptCount: number, nextAttemptAt: null, leaseUntil: null, completedAt: nowMs })
      .where(isGivenUp),
  ] as const;
}

/** The delivery is not over. */
export const IS_PENDING = eq(deliveries.status, "pending");
