import { and, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import { hasWebhooks } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { firstIdAt } from "../platform/db/ids.ts";
import { deliveries, deliveryAttempts, events, webhookEndpoints, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, jsonIds } from "../platform/db/sql.ts";
import type { AttemptResult } from "./attempt.ts";
import { MAX_FAILURE_STREAK, MIN_FAILING_MS, type SelfDisabledReason, SLOW_MS } from "./retry-schedule.ts";
import { giveUp, giveUpWaiting, IS_PENDING, isFree } from "./store.ts";

/** A lease on deliveries. No two leases on a delivery overlap, so the time at which a lease ends identifies its holder. */
export interface Lease {
  nowMs: number;
  untilMs: number;
}

/** A delivery under lease, with what recording an attempt needs. */
export interface HeldDelivery {
  id: string;
  workspaceId: string;
  webhookId: string;
  trigger: "event" | "test" | "redelivery";
  /** Attempts before this one. */
  attemptCount: number;
  leaseUntil: number | null;
}

/** A wake-up may arrive this much before the delivery is due: the clocks of two machines differ. */
export const MAX_EARLY_MS = 1_000;

/** Leases the deliveries that are due and not under lease; returns them. @param lane "fast" skips those of slow endpoints. */
export function claimDeliveries(db: Database, ids: readonly string[], lane: "fast" | "slow", { nowMs, untilMs }: Lease) {
  const isFast = sql`NOT EXISTS (SELECT 1 FROM ${webhookEndpoints} e WHERE e.id = ${deliveries.webhookId} AND ${IS_SLOW})`;
  return db
    .update(deliveries)
    .set({ leaseUntil: untilMs })
    .where(and(isOneOf(ids), isDue(nowMs + MAX_EARLY_MS), isFree(nowMs), lane === "fast" ? isFast : undefined))
    .returning({ id: deliveries.id });
}

/** `isSlow` as SQL, of an endpoint read as `e`. */
export const IS_SLOW = sql`(e.failure_streak > 0 OR coalesce(e.last_duration_ms, 0) > ${SLOW_MS})`;

const endpointColumns = {
  url: webhookEndpoints.url,
  isEnabled: webhookEndpoints.enabled,
  secret: webhookEndpoints.secret,
  previousSecret: webhookEndpoints.previousSecret,
  previousSecretUntil: webhookEndpoints.previousSecretUntil,
  failureStreak: webhookEndpoints.failureStreak,
  lastDurationMs: webhookEndpoints.lastDurationMs,
};

/** The pending ones of the deliveries, with all that sending them needs except payloads. */
export function listDeliverable(db: Database, ids: readonly string[]) {
  return db
    .select({
      id: deliveries.id,
      workspaceId: deliveries.workspaceId,
      webhookId: deliveries.webhookId,
      eventId: deliveries.eventId,
      eventType: deliveries.eventType,
      trigger: deliveries.trigger,
      attemptCount: deliveries.attemptCount,
      nextAttemptAt: deliveries.nextAttemptAt,
      leaseUntil: deliveries.leaseUntil,
      endpoint: endpointColumns,
      hasPlan: sql<number>`${hasWebhooks("workspaces")} AND ${workspaces.deletedAt} IS NULL`,
    })
    .from(deliveries)
    .leftJoin(webhookEndpoints, eq(webhookEndpoints.id, deliveries.webhookId))
    .leftJoin(workspaces, eq(workspaces.id, deliveries.workspaceId))
    .where(and(isOneOf(ids), IS_PENDING));
}

/** The payloads of the deliveries' events. An event with several deliveries is returned once. */
export function listPayloads(db: Database, ids: readonly string[]) {
  const theirs = sql`(SELECT ${deliveries.eventId} FROM ${deliveries} WHERE ${isOneOf(ids)})`;
  return db
    .select({ eventId: events.id, payload: events.payload })
    .from(events)
    .where(sql`${events.id} IN ${theirs}`);
}

/** Ends the lease on deliveries that were not attempted; returns those whose lease had not been lost. */
export function releaseDeliveries(db: Database, ids: readonly string[], leaseUntil: number) {
  return db
    .update(deliveries)
    .set({ leaseUntil: null })
    .where(and(isOneOf(ids), IS_PENDING, eq(deliveries.leaseUntil, leaseUntil)))
    .returning({ id: deliveries.id, webhookId: deliveries.webhookId });
}

/** Marks an endpoint as slow while its exchange is still open, so that no other batch waits for it. */
export function noteSlow(db: Database, webhookId: string) {
  return db
    .update(webhookEndpoints)
    .set({ lastDurationMs: SLOW_MS + 1 })
    .where(eq(webhookEndpoints.id, webhookId));
}

/** Fails leased deliveries that may not be sent, each with an attempt that gives the reason. */
export function giveUpHeld(db: Database, ids: readonly string[], leaseUntil: number, nowMs: number) {
  const isHeld = and(isOneOf(ids), IS_PENDING, eq(deliveries.leaseUntil, leaseUntil))!;
  return giveUp(db, isHeld, nowMs);
}

/**
 * Records a successful attempt: the attempt's row, the endpoint's health and the delivery, which is returned. Nothing is
 * written once the lease is lost, so that a delivery taken over by another run is recorded once.
 */
export function recordSuccess(db: Database, held: HeldDelivery, result: AttemptResult) {
  const endedAt = result.startedAtMs + result.durationMs;
  return [
    addAttempt(db, held, result),
    db
      .update(webhookEndpoints)
      .set({ failureStreak: 0, failingSince: null, lastSuccessAt: endedAt, lastDurationMs: result.durationMs })
      .where(and(isItsEndpoint(held), counts(held), isStillHeld(held))),
    db
      .update(deliveries)
      .set({ status: "succeeded", ...attempted(held), nextAttemptAt: null, completedAt: endedAt })
      .where(isHeldRow(held))
      .returning(),
  ] as const;
}

/** What follows from a failed attempt. */
export interface Consequence {
  /** When the next attempt is due; undefined when this was the last. */
  nextAttemptAt: number | undefined;
  /** The endpoint says that it is gone. */
  isGone: boolean;
}

/**
 * Records a failed attempt, like `recordSuccess`. It may disable the endpoint, which fails all of the endpoint's pending
 * deliveries. A failure does not count against the endpoint when it was at a former URL, or when nothing was sent.
 */
export function recordFailure(db: Database, held: HeldDelivery, result: AttemptResult, { nextAttemptAt, isGone }: Consequence) {
  const endedAt = result.startedAtMs + result.durationMs;
  const { enabled, failureStreak, failingSince, disabledReason, disabledAt } = webhookEndpoints;
  const since = sql`coalesce(${failingSince}, ${result.startedAtMs})`;
  const isFailing = sql`${failureStreak} + 1 >= ${MAX_FAILURE_STREAK} AND ${endedAt} - ${since} >= ${MIN_FAILING_MS}`;
  const isDisabling = isGone ? sql`${enabled}` : sql`(${enabled} AND ${isFailing})`;
  const reason: SelfDisabledReason = isGone ? "gone" : "failing";
  const isEnabled = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} WHERE id = ${held.webhookId} AND enabled)`;
  const mayRetry = nextAttemptAt === undefined ? sql`FALSE` : isEnabled;
  return [
    addAttempt(db, held, result),
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
      .where(and(isItsEndpoint(held), eq(webhookEndpoints.url, result.url), wasSent(result), counts(held), isStillHeld(held))),
    db
      .update(deliveries)
      .set({
        ...attempted(held),
        status: sql`iif(${mayRetry}, 'pending', 'failed')`,
        nextAttemptAt: sql`iif(${mayRetry}, ${nextAttemptAt ?? null}, NULL)`,
        completedAt: sql`iif(${mayRetry}, NULL, ${endedAt})`,
      })
      .where(isHeldRow(held))
      .returning(),
    ...(held.trigger === "test" ? [] : giveUpWaiting(db, held.workspaceId, held.webhookId, endedAt)),
  ] as const;
}

/** The attempt's row: what the log shows of it. */
export function attemptRow(held: HeldDelivery, result: AttemptResult): typeof deliveryAttempts.$inferSelect {
  return {
    deliveryId: held.id,
    workspaceId: held.workspaceId,
    number: held.attemptCount + 1,
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

function addAttempt(db: Database, held: HeldDelivery, result: AttemptResult) {
  return insertWhere(db, deliveryAttempts, attemptRow(held, result), isStillHeld(held));
}

function attempted({ attemptCount }: HeldDelivery) {
  return { attemptCount: attemptCount + 1, leaseUntil: null };
}

function isStillHeld(held: HeldDelivery): SQL {
  return sql`EXISTS (SELECT 1 FROM ${deliveries} WHERE ${isHeldRow(held)})`;
}

function isHeldRow({ id, leaseUntil }: HeldDelivery): SQL {
  return and(eq(deliveries.id, id), IS_PENDING, sql`${deliveries.leaseUntil} = ${leaseUntil}`)!;
}

function isItsEndpoint({ webhookId }: HeldDelivery): SQL {
  return eq(webhookEndpoints.id, webhookId);
}

/** A test says nothing of how an endpoint does. */
function counts({ trigger }: HeldDelivery): SQL | undefined {
  return trigger === "test" ? sql`FALSE` : undefined;
}

/** Where its secret could not be read the failure is ours. */
function wasSent({ error }: AttemptResult): SQL | undefined {
  return error === "secret_unreadable" ? sql`FALSE` : undefined;
}

function isDue(byMs: number): SQL {
  return and(IS_PENDING, lte(deliveries.nextAttemptAt, byMs))!;
}

function isOneOf(ids: readonly string[]): SQL {
  return sql`${deliveries.id} IN ${jsonIds(ids)}`;
}

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
    importCompleted(deliveries.workspaceId),
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
  const isOld = and(
    lt(deliveries.id, firstIdAt(beforeMs)),
    sql`${deliveries.status} <> 'pending'`,
    importCompleted(deliveries.workspaceId),
  );
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
    .where(and(lt(events.createdAt, beforeMs), sql`NOT ${isNeeded}`, importCompleted(events.workspaceId)))
    .orderBy(events.createdAt)
    .limit(limit);
  return db.delete(events).where(inArray(events.id, unneeded));
}
