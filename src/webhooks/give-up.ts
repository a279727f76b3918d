import { eq, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, deliveryAttempts, webhookEndpoints } from "../db/schema.ts";

/** SQL condition: the delivery is not under lease, either never claimed or with an expired lease. */
export function isFree(nowMs: number): SQL {
  return or(isNull(deliveries.leaseUntil), lt(deliveries.leaseUntil, nowMs))!;
}

/**
 * Fails the deliveries that meet a condition, each with an attempt that says that the endpoint is disabled.
 * @param isGivenUp must select the same deliveries in both statements, so the first may not change what the condition
 * reads.
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

/** SQL condition: the delivery has neither succeeded nor failed. */
export const IS_PENDING = eq(deliveries.status, "pending");
