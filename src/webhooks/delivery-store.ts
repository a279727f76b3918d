import { and, eq, gt, inArray, isNotNull, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { firstIdAt } from "../platform/db/ids.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints, workspaces } from "../platform/db/schema.ts";
import { exists, importCompleted, insertWhere, jsonIds } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";
import { MEGABYTE } from "../workspaces/plans.ts";
import { limitSql } from "../workspaces/store.ts";
import type { AttemptResult } from "./attempt.ts";
import { MAX_FAILURE_STREAK, MIN_FAILING_MS, SLOW_MS } from "./retry-schedule.ts";

/** The queue that a delivery is sent from. Slow endpoints have a queue of their own, so that they do not delay fast ones. */
export type DeliveryQueue = "fast" | "slow";

/** A lease on deliveries. Leases on a delivery never overlap, so the time at which a lease ends identifies its holder. */
export interface Lease {
  nowMs: number;
  untilMs: number;
}

/** A leased delivery, with what recording an attempt needs: `attemptCount` is that of the attempts before it. */
export type LeasedDelivery = Pick<
  typeof deliveries.$inferSelect,
  "id" | "workspaceId" | "webhookId" | "trigger" | "attemptCount" | "leaseUntil"
>;

/** A wake-up may arrive this much before its delivery is due, because the clocks of two machines differ. */
export const MAX_CLOCK_SKEW_MS = 1_000;

/** How many pending deliveries one change of an endpoint cancels; the others are cancelled when they are due. */
const MAX_CANCELLED = 5_000;

/**
 * Leases the deliveries that are due and not leased; returns them. The fast queue skips those of slow endpoints. A
 * delivery of a workspace that is being imported is not claimed.
 */
export function claimDeliveries(db: Database, ids: readonly string[], queue: DeliveryQueue, { nowMs, untilMs }: Lease) {
  const isFast = sql`NOT EXISTS (SELECT 1 FROM ${webhookEndpoints} e WHERE e.id = ${deliveries.webhookId} AND ${IS_SLOW})`;
  return db
    .update(deliveries)
    .set({ leaseUntil: untilMs })
    .where(
      and(
        isOneOf(ids),
        IS_PENDING,
        lte(deliveries.nextAttemptAt, nowMs + MAX_CLOCK_SKEW_MS),
        isUnleased(nowMs),
        importCompleted(deliveries.workspaceId),
        queue === "fast" ? isFast : undefined,
      ),
    )
    .returning({ id: deliveries.id });
}

/** `isSlow` as SQL, of an endpoint with the alias `e`. */
export const IS_SLOW = sql`(e.failure_streak > 0 OR coalesce(e.last_duration_ms, 0) > ${SLOW_MS})`;

const endpointColumns = {
  url: webhookEndpoints.url,
  isEnabled: webhookEndpoints.enabled,
  secret: webhookEndpoints.secret,
  previousSecret: webhookEndpoints.previousSecret,
  previousSecretUntil: webhookEndpoints.previousSecretUntil,
  olderSecrets: webhookEndpoints.olderSecrets,
  failureStreak: webhookEndpoints.failureStreak,
  lastDurationMs: webhookEndpoints.lastDurationMs,
};

/** Those of the deliveries that are pending, with everything that is needed to send them except the payloads. */
export function listPendingDeliveries(db: Database, ids: readonly string[]) {
  return db
    .select({
      id: deliveries.id,
      workspaceId: deliveries.workspaceId,
      webhookId: deliveries.webhookId,
      eventId: deliveries.eventId,
      trigger: deliveries.trigger,
      attemptCount: deliveries.attemptCount,
      nextAttemptAt: deliveries.nextAttemptAt,
      leaseUntil: deliveries.leaseUntil,
      endpoint: endpointColumns,
      hasPlan: sql<number>`${limitSql("workspaces", "webhooks")} AND ${workspaces.deletedAt} IS NULL`,
    })
    .from(deliveries)
    .leftJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
    .leftJoin(workspaces, eq(workspaces.id, deliveries.workspaceId))
    .where(and(isOneOf(ids), IS_PENDING));
}

/** The payloads of the deliveries' events. An event with several deliveries is returned once. */
export function listPayloads(db: Database, ids: readonly string[]) {
  const eventIds = sql`(SELECT ${deliveries.eventId} FROM ${deliveries} WHERE ${isOneOf(ids)})`;
  return db
    .select({ eventId: events.id, payload: events.payload })
    .from(events)
    .where(sql`${events.id} IN ${eventIds}`);
}

/** Ends the lease on deliveries that were not attempted; returns those whose lease had not been lost. */
export function releaseDeliveries(db: Database, ids: readonly string[], leaseUntil: number) {
  return db
    .update(deliveries)
    .set({ leaseUntil: null })
    .where(isLeased(isOneOf(ids), leaseUntil))
    .returning({ id: deliveries.id, webhookId: deliveries.webhookId });
}

/** Marks an endpoint as slow while its response is still pending, so that no other batch waits for it. */
export function markEndpointSlow(db: Database, webhookId: string) {
  return db
    .update(webhookEndpoints)
    .set({ lastDurationMs: SLOW_MS + 1 })
    .where(eq(webhookEndpoints.id, webhookId));
}

/** Cancels leased deliveries that may not be sent. */
export function cancelLeasedDeliveries(db: Database, ids: readonly string[], leaseUntil: number, nowMs: number) {
  return cancelDeliveries(db, isLeased(isOneOf(ids), leaseUntil), nowMs);
}

/** Cancels the pending deliveries of a disabled endpoint. One that is leased is left to the run that holds the lease. */
export function cancelPendingDeliveries(db: Database, workspaceId: string, webhookId: string, nowMs: number) {
  // NULL while the endpoint is enabled, so that no delivery is read.
  const disabled = sql`(SELECT id FROM ${webhookEndpoints} WHERE id = ${webhookId} AND NOT enabled)`;
  const isCancelled = and(eq(deliveries.workspaceId, workspaceId), eq(deliveries.webhookId, disabled), IS_PENDING, isUnleased(nowMs));
  // The order makes both statements select the same deliveries.
  const first = db.select({ id: deliveries.id }).from(deliveries).where(isCancelled).orderBy(deliveries.id).limit(MAX_CANCELLED);
  return cancelDeliveries(db, sql`${deliveries.id} IN ${first}`, nowMs);
}

/**
 * Cancels deliveries: they fail, each with an attempt that gives the reason.
 * @param isCancelled is evaluated by both statements, so it may not read what the first one writes.
 */
function cancelDeliveries(db: Database, isCancelled: SQL, nowMs: number) {
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
    insertWhere(db, deliveryAttempts, attempt, isCancelled, from),
    db
      .update(deliveries)
      .set({ status: "failed", attemptCount: number, nextAttemptAt: null, leaseUntil: null, completedAt: nowMs })
      .where(isCancelled),
  ] as const;
}

/**
 * Records a successful attempt: the attempt's row, the endpoint's health and the delivery, which is returned. Writes nothing
 * once the lease is lost, so that a delivery that another run has claimed is recorded once.
 */
export function recordSuccess(db: Database, delivery: LeasedDelivery, result: AttemptResult) {
  const endedAt = result.startedAtMs + result.durationMs;
  return [
    addAttempt(db, delivery, result),
    db
      .update(webhookEndpoints)
      .set({ failureStreak: 0, failingSince: null, lastSuccessAt: endedAt, lastDurationMs: result.durationMs })
      .where(affectsHealth(delivery)),
    db
      .update(deliveries)
      .set({ status: "succeeded", ...countAttempt(delivery), nextAttemptAt: null, completedAt: endedAt })
      .where(isStillLeased(delivery))
      .returning(),
  ] as const;
}

/** What happens after a failed attempt. */
export interface RetryDecision {
  /** When the next attempt is due; undefined after the last one. */
  retryAt: number | undefined;
  /** The endpoint responded that it is gone. */
  isGone: boolean;
}

/**
 * Records a failed attempt, like `recordSuccess`. It may disable the endpoint, whose pending deliveries are then cancelled
 * (`cancelPendingDeliveries`). A failure does not count against the endpoint when it was at a previous URL, or when nothing was sent.
 */
export function recordFailure(db: Database, delivery: LeasedDelivery, result: AttemptResult, { retryAt, isGone }: RetryDecision) {
  const endedAt = result.startedAtMs + result.durationMs;
  const { enabled, failureStreak, failingSince, disabledReason, disabledAt } = webhookEndpoints;
  const since = sql`coalesce(${failingSince}, ${result.startedAtMs})`;
  const isFailing = sql`${failureStreak} + 1 >= ${MAX_FAILURE_STREAK} AND ${endedAt} - ${since} >= ${MIN_FAILING_MS}`;
  const isDisabling = isGone ? sql`${enabled}` : sql`(${enabled} AND ${isFailing})`;
  const reason = isGone ? "gone" : "failing";
  const isEnabled = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} WHERE id = ${delivery.webhookId} AND enabled)`;
  const mayRetry = retryAt === undefined ? sql`FALSE` : isEnabled;
  const wasSent = result.error === "secret_unreadable" ? sql`FALSE` : undefined;
  return [
    addAttempt(db, delivery, result),
    db
      .update(webhookEndpoints)
      .set({
        failureStreak: sql`${failureStreak} + 1`,
        failingSince: since,
        lastDurationMs: result.durationMs,
        enabled: sql`iif(${isDisabling}, FALSE, ${enabled})`,
        disabledReason: sql`iif(${isDisabling}, ${reason}, ${disabledReason})`,
        disabledAt: sql`iif(${isDisabling}, ${endedAt}, ${disabledAt})`,
      })
      .where(and(affectsHealth(delivery), eq(webhookEndpoints.url, result.url), wasSent)),
    db
      .update(deliveries)
      .set({
        ...countAttempt(delivery),
        status: sql`iif(${mayRetry}, 'pending', 'failed')`,
        nextAttemptAt: sql`iif(${mayRetry}, ${retryAt ?? null}, NULL)`,
        completedAt: sql`iif(${mayRetry}, NULL, ${endedAt})`,
      })
      .where(isStillLeased(delivery))
      .returning(),
    ...(delivery.attemptCount === 0 ? [] : [dropEarlierAttempts(db, delivery)]),
    ...(delivery.trigger === "test" ? [] : cancelPendingDeliveries(db, delivery.workspaceId, delivery.webhookId, endedAt)),
  ] as const;
}

/** The attempt's row with the whole body that was read, which the log may have no room for. */
export function attemptRow(delivery: LeasedDelivery, result: AttemptResult): typeof deliveryAttempts.$inferSelect {
  return {
    deliveryId: delivery.id,
    workspaceId: delivery.workspaceId,
    number: delivery.attemptCount + 1,
    startedAt: result.startedAtMs,
    durationMs: result.durationMs,
    responseStatus: result.status,
    responseBody: result.body,
    conversationId: null,
    responseTruncated: result.isTruncated,
    error: result.error,
    url: result.url,
  };
}

/** Adds an attempt, without the response's body if the workspace's log has no room for it. */
function addAttempt(db: Database, delivery: LeasedDelivery, result: AttemptResult) {
  const row = attemptRow(delivery, result);
  if (!row.responseBody) return insertWhere(db, deliveryAttempts, row, leaseHolds(delivery));
  const isKept = sql`octet_length(body) <= ${logBytesLeft(delivery.workspaceId)}`;
  const kept = {
    ...row,
    responseBody: sql`iif(${isKept}, body, NULL)`,
    responseTruncated: sql`iif(${isKept}, ${row.responseTruncated}, TRUE)`,
  };
  return insertWhere(db, deliveryAttempts, kept, leaseHolds(delivery), sql`(SELECT ${row.responseBody} AS body)`);
}

/** Deletes the attempts before a delivery's latest one while the workspace's log is full, so that a retry takes no further room. */
function dropEarlierAttempts(db: Database, { id, workspaceId, attemptCount }: LeasedDelivery) {
  return db
    .delete(deliveryAttempts)
    .where(
      and(
        eq(deliveryAttempts.deliveryId, id),
        lte(deliveryAttempts.number, attemptCount),
        sql`${logBytesLeft(workspaceId)} <= 0`,
        exists(deliveryAttempts, eq(deliveryAttempts.deliveryId, id), gt(deliveryAttempts.number, attemptCount)),
      ),
    );
}

/** SQL: how many bytes the delivery log of a workspace may still grow by; below 0 where attempts without a body exceeded it. */
function logBytesLeft(workspaceId: string): SQL {
  return sql`(SELECT ${limitSql("w", "delivery_log_mb")} * ${MEGABYTE} - w.delivery_log_bytes FROM ${workspaces} w WHERE w.id = ${workspaceId})`;
}

function countAttempt({ attemptCount }: LeasedDelivery) {
  return { attemptCount: attemptCount + 1, leaseUntil: null };
}

/** SQL condition: the row is the delivery's endpoint, and the attempt affects its health. A test does not. */
function affectsHealth(delivery: LeasedDelivery): SQL {
  const isNoTest = delivery.trigger === "test" ? sql`FALSE` : undefined;
  return and(eq(webhookEndpoints.id, delivery.webhookId), isNoTest, leaseHolds(delivery))!;
}

function leaseHolds(delivery: LeasedDelivery): SQL {
  return sql`EXISTS (SELECT 1 FROM ${deliveries} WHERE ${isStillLeased(delivery)})`;
}

function isStillLeased({ id, leaseUntil }: LeasedDelivery): SQL {
  return isLeased(eq(deliveries.id, id), leaseUntil);
}

function isLeased(isDelivery: SQL, leaseUntil: number | null): SQL {
  return and(isDelivery, IS_PENDING, sql`${deliveries.leaseUntil} = ${leaseUntil}`)!;
}

/** SQL condition: the delivery was never claimed, or its lease has expired. */
export function isUnleased(nowMs: number): SQL {
  return or(isNull(deliveries.leaseUntil), lt(deliveries.leaseUntil, nowMs))!;
}

function isOneOf(ids: readonly string[]): SQL {
  return sql`${deliveries.id} IN ${jsonIds(ids)}`;
}

const IS_PENDING = eq(deliveries.status, "pending");

/**
 * Returns deliveries that have been due since before `beforeMs` and are not leased, with the workspaces in turn, and makes them due now,
 * so that the next run sees others even if one endpoint has many.
 */
export function rescueOrphans(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const where = and(lt(deliveries.nextAttemptAt, beforeMs), isUnleased(nowMs), importCompleted(deliveries.workspaceId));
  const ofEndpoint = (column: SQL) => sql`(SELECT ${column} FROM ${webhookEndpoints} e WHERE e.id = ${deliveries.webhookId})`;
  return db
    .update(deliveries)
    .set({ nextAttemptAt: nowMs })
    .where(isNextInTurn(WAITING.deliveries, where, limit))
    .returning({
      id: deliveries.id,
      webhookId: deliveries.webhookId,
      failureStreak: sql<number | null>`${ofEndpoint(sql`e.failure_streak`)}`.as("failure_streak"),
      lastDurationMs: sql<number | null>`${ofEndpoint(sql`e.last_duration_ms`)}`.as("last_duration_ms"),
    });
}

/** Deletes up to `limit` finished deliveries from before `beforeMs`, with their attempts. */
export function pruneDeliveries(db: Database, beforeMs: number, limit: number) {
  const isOld = and(
    lt(deliveries.id, firstIdAt(beforeMs)),
    sql`${deliveries.status} <> 'pending'`,
    importCompleted(deliveries.workspaceId),
  );
  const oldest = db.select({ id: deliveries.id }).from(deliveries).where(isOld).orderBy(deliveries.id).limit(limit);
  return deleteWithAttempts(db, sql`${oldest}`);
}

/** Deletes deliveries and their attempts. @param ids a subquery, which is evaluated by both statements. */
export function deleteWithAttempts(db: Database, ids: SQL) {
  return [
    db.delete(deliveryAttempts).where(sql`${deliveryAttempts.deliveryId} IN ${ids}`),
    db.delete(deliveries).where(sql`${deliveries.id} IN ${ids}`),
  ] as const;
}

/** Deletes the response bodies of up to `limit` successful attempts from before `beforeMs`. */
export function pruneSuccessBodies(db: Database, beforeMs: number, limit: number) {
  const { startedAt, error, responseBody, workspaceId } = deliveryAttempts;
  const isOld = and(isNull(error), isNotNull(responseBody), lt(startedAt, beforeMs), importCompleted(workspaceId));
  const oldest = sql`(SELECT rowid FROM ${deliveryAttempts} WHERE ${isOld} ORDER BY ${startedAt} LIMIT ${limit})`;
  return db
    .update(deliveryAttempts)
    .set({ responseBody: null, responseTruncated: sql`${responseBody} <> ''` })
    .where(sql`rowid IN ${oldest}`);
}

/** Deletes up to `limit` events from before `beforeMs` that have no deliveries. */
export function pruneEvents(db: Database, beforeMs: number, limit: number) {
  const isNeeded = sql`EXISTS (SELECT 1 FROM ${deliveries} d WHERE d.workspace_id = ${events.workspaceId} AND d.event_id = ${events.id})`;
  const unneeded = db
    .select({ id: events.id })
    .from(events)
    .where(and(lt(events.createdAt, beforeMs), sql`NOT ${isNeeded}`, importCompleted(events.workspaceId)))
    .orderBy(events.createdAt)
    .limit(limit);
  return db.delete(events).where(inArray(events.id, unneeded));
}
