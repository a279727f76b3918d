import { and, eq, getTableColumns, inArray, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { deliveries, deliveryAttempts, webhookEndpoints, webhookErasures, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere } from "../platform/db/sql.ts";

type NewEndpoint = typeof webhookEndpoints.$inferInsert;

/** The fields that a change may set; a field that is left out stays as it is. */
export interface EndpointChanges {
  url?: string | undefined;
  events?: string[] | undefined;
  description?: string | null | undefined;
  enabled?: boolean | undefined;
}

/** Why an endpoint is disabled that someone disabled by hand. */
export const MANUAL = "manual";

/** How many waiting deliveries one change gives up; those beyond are given up when they are due. */
const MAX_GIVEN_UP = 5_000;

const columns = getTableColumns(webhookEndpoints);

/** All endpoints of a workspace, oldest first. */
export function listEndpoints(db: Database, workspaceId: string) {
  return endpointsOf(db, { workspaceId });
}

const endpointsOf = compiled<typeof columns, { workspaceId: string }>(columns, (db, fields, param) =>
  db
    .select(fields)
    .from(webhookEndpoints)
    .where(eq(webhookEndpoints.workspaceId, param("workspaceId")))
    .orderBy(webhookEndpoints.id),
);

/** The endpoint, if it is the workspace's. */
export function findEndpoint(db: Database, workspaceId: string, webhookId: string) {
  return oneEndpoint(db, { workspaceId, webhookId });
}

const oneEndpoint = compiled<typeof columns, { workspaceId: string; webhookId: string }>(columns, (db, fields, param) =>
  db
    .select(fields)
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.id, param("webhookId")), eq(webhookEndpoints.workspaceId, param("workspaceId")))),
);

/** Adds an endpoint unless the workspace is deleted or has the maximum already. An endpoint with the same id stays as it is. */
export function createEndpoint(db: Database, endpoint: NewEndpoint, maxEndpoints: number) {
  const { workspaceId } = endpoint;
  const condition = sql`EXISTS (SELECT 1 FROM ${workspaces} WHERE id = ${workspaceId} AND deleted_at IS NULL)
    AND (SELECT count(*) FROM ${webhookEndpoints} WHERE workspace_id = ${workspaceId}) < ${maxEndpoints}`;
  return insertWhere(db, webhookEndpoints, endpoint, condition).onConflictDoNothing();
}

/** Changes an endpoint. Enabling it forgives its failures, also when it was enabled; disabling keeps the first reason. */
export function updateEndpoint(db: Database, workspaceId: string, webhookId: string, changes: EndpointChanges, nowMs: number) {
  const { enabled, ...rest } = changes;
  return db
    .update(webhookEndpoints)
    .set({ ...rest, ...(enabled === undefined ? {} : enabledColumns(enabled, nowMs)), updatedAt: nowMs })
    .where(isEndpoint(workspaceId, webhookId));
}

function enabledColumns(enabled: boolean, nowMs: number) {
  if (enabled) return { enabled, disabledReason: null, disabledAt: null, failureStreak: 0, failingSince: null };
  const { enabled: isEnabled, disabledReason, disabledAt } = webhookEndpoints;
  return {
    enabled,
    disabledReason: sql`CASE WHEN ${isEnabled} THEN ${MANUAL} ELSE ${disabledReason} END`,
    disabledAt: sql`CASE WHEN ${isEnabled} THEN ${nowMs} ELSE ${disabledAt} END`,
  };
}

/**
 * Fails the pending deliveries of a disabled endpoint, each with an attempt that gives the reason. A delivery under
 * lease is left to the run that holds the lease.
 */
export function giveUpWaiting(db: Database, workspaceId: string, webhookId: string, nowMs: number) {
  const isWaiting = and(
    eq(deliveries.workspaceId, workspaceId),
    eq(deliveries.webhookId, webhookId),
    IS_PENDING,
    isFree(nowMs),
    sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} WHERE id = ${webhookId} AND NOT enabled)`,
  );
  // Both statements take the same ones: the first in the order of the index.
  const waiting = db.select({ id: deliveries.id }).from(deliveries).where(isWaiting).orderBy(deliveries.id).limit(MAX_GIVEN_UP);
  return giveUp(db, sql`${deliveries.id} IN ${waiting}`, nowMs);
}

/**
 * Gives an endpoint a new secret; the old one stays valid beside it until its expiry. Repeating the same rotation
 * changes nothing.
 * @param rotation holds the new secret encrypted.
 */
export function rotateSecret(
  db: Database,
  workspaceId: string,
  webhookId: string,
  rotation: { id: string; secret: string; previousUntilMs: number; nowMs: number },
) {
  return db
    .update(webhookEndpoints)
    .set({
      secret: rotation.secret,
      rotationId: rotation.id,
      previousSecret: sql`${webhookEndpoints.secret}`,
      previousSecretUntil: rotation.previousUntilMs,
      updatedAt: rotation.nowMs,
    })
    .where(and(isEndpoint(workspaceId, webhookId), sql`${webhookEndpoints.rotationId} IS NOT ${rotation.id}`));
}

function isEndpoint(workspaceId: string, webhookId: string) {
  return and(eq(webhookEndpoints.id, webhookId), eq(webhookEndpoints.workspaceId, workspaceId));
}

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
  return db
    .select()
    .from(webhookErasures)
    .where(importCompleted(webhookErasures.workspaceId))
    .orderBy(webhookErasures.createdAt)
    .limit(limit);
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
