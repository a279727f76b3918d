import { and, eq, not, or, sql } from "drizzle-orm";
import { ALL_EVENTS } from "../events/event-types.ts";
import type { Database } from "../platform/db/client.ts";
import { deliveries, webhookEndpoints, webhookErasures } from "../platform/db/schema.ts";
import { exists, findOwn, importCompleted, insertWhere, isOwn, workspaceExists } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import { deleteWithAttempts } from "./delivery-store.ts";

type NewEndpoint = typeof webhookEndpoints.$inferInsert;

/** The fields that a change may set; a field that is left out stays as it is. */
export interface EndpointChanges {
  url?: string | undefined;
  events?: string[] | undefined;
  description?: string | null | undefined;
  enabled?: boolean | undefined;
}

/** The `disabled_reason` of an endpoint that a caller disabled. */
export const MANUAL_REASON = "manual";

/** All endpoints of a workspace, oldest first. */
export function listEndpoints(db: Database, workspaceId: string) {
  return db.select().from(webhookEndpoints).where(eq(webhookEndpoints.workspaceId, workspaceId)).orderBy(webhookEndpoints.id);
}

/** One endpoint of a workspace. */
export function findEndpoint(db: Database, workspaceId: string, webhookId: string) {
  return findOwn(db, webhookEndpoints, workspaceId, webhookId);
}

/** Adds an endpoint unless the workspace is deleted or has the maximum already. An endpoint with the same id stays as it is. */
export function createEndpoint(db: Database, endpoint: NewEndpoint, maxEndpoints: number) {
  const { workspaceId } = endpoint;
  const condition = sql`${workspaceExists(workspaceId)} AND (SELECT count(*) FROM ${webhookEndpoints} WHERE workspace_id = ${workspaceId}) < ${maxEndpoints}`;
  return insertWhere(db, webhookEndpoints, endpoint, condition).onConflictDoNothing();
}

/** Those of some types of events that an endpoint receives: it subscribes to them, or a pending delivery has one. */
export function listReceivedTypes(db: Database, workspaceId: string, webhookId: string, types: readonly string[]) {
  return db
    .select({ type: sql<string>`json_each.value`.as("type") })
    .from(sql`json_each(${JSON.stringify(types)})`)
    .where(isReceived(workspaceId, webhookId));
}

/** SQL condition on a type from `json_each`: the endpoint receives events of it. */
function isReceived(workspaceId: string, webhookId: string) {
  const isSubscribed = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} e CROSS JOIN json_each(e.events) s
    WHERE e.id = ${webhookId} AND e.workspace_id = ${workspaceId} AND s.value IN (json_each.value, ${ALL_EVENTS}))`;
  const isPending = sql`EXISTS (SELECT 1 FROM ${deliveries} d
    WHERE d.workspace_id = ${workspaceId} AND d.webhook_id = ${webhookId} AND d.status = 'pending' AND d.event_type = json_each.value)`;
  return or(isSubscribed, isPending);
}

/**
 * Changes an endpoint, unless it receives an event of an `unreadable` type. Enabling it resets its failure streak, even if it was
 * enabled; disabling it again keeps the first reason.
 */
export function updateEndpoint(
  db: Database,
  workspaceId: string,
  webhookId: string,
  changes: EndpointChanges,
  unreadable: readonly string[],
  nowMs: number,
) {
  const { enabled, ...rest } = changes;
  const isReadable = sql`NOT EXISTS (SELECT 1 FROM json_each(${JSON.stringify(unreadable)}) WHERE ${isReceived(workspaceId, webhookId)})`;
  return db
    .update(webhookEndpoints)
    .set({ ...rest, ...(enabled === undefined ? {} : enabledColumns(enabled, nowMs)), updatedAt: nowMs })
    .where(and(isOwn(webhookEndpoints, workspaceId, webhookId), isReadable));
}

function enabledColumns(enabled: boolean, nowMs: number) {
  if (enabled) return { enabled, disabledReason: null, disabledAt: null, failureStreak: 0, failingSince: null };
  const { enabled: isEnabled, disabledReason, disabledAt } = webhookEndpoints;
  return {
    enabled,
    disabledReason: sql`CASE WHEN ${isEnabled} THEN ${MANUAL_REASON} ELSE ${disabledReason} END`,
    disabledAt: sql`CASE WHEN ${isEnabled} THEN ${nowMs} ELSE ${disabledAt} END`,
  };
}

/**
 * Replaces an endpoint's secret; each replaced one stays valid until its expiry. Repeating a rotation changes nothing.
 * @param rotation holds the encrypted new secret, and how many replaced ones may be valid; with as many, nothing changes.
 */
export function rotateSecret(
  db: Database,
  workspaceId: string,
  webhookId: string,
  rotation: { id: string; secret: string; previousUntilMs: number; maxPrevious: number; nowMs: number },
) {
  const { previousSecret, previousSecretUntil, olderSecrets, rotationId } = webhookEndpoints;
  const older = sql`(SELECT json_group_array(json(value)) FROM (
    SELECT value FROM json_each(${olderSecrets}) WHERE value ->> 'untilMs' > ${rotation.nowMs} UNION ALL
    SELECT json_object('secret', ${previousSecret}, 'untilMs', ${previousSecretUntil}) WHERE ${previousSecretUntil} > ${rotation.nowMs}))`;
  return db
    .update(webhookEndpoints)
    .set({
      secret: rotation.secret,
      rotationId: rotation.id,
      previousSecret: sql`${webhookEndpoints.secret}`,
      previousSecretUntil: rotation.previousUntilMs,
      olderSecrets: older,
      updatedAt: rotation.nowMs,
    })
    .where(
      and(
        isOwn(webhookEndpoints, workspaceId, webhookId),
        sql`${rotationId} IS NOT ${rotation.id}`,
        sql`json_array_length(${older}) < ${rotation.maxPrevious}`,
      ),
    );
}

/** Deletes an endpoint; returns it if it existed. */
export function eraseEndpoint(db: Database, workspaceId: string, webhookId: string) {
  return db
    .delete(webhookEndpoints)
    .where(isOwn(webhookEndpoints, workspaceId, webhookId))
    .returning({ id: webhookEndpoints.id });
}

/** Deletes up to `limit` deliveries of a deleted endpoint, with their attempts. */
export function eraseLog(db: Database, workspaceId: string, webhookId: string, limit: number) {
  const isOfEndpoint = and(isOf(workspaceId, webhookId), isDeleted(webhookId));
  const first = db.select({ id: deliveries.id }).from(deliveries).where(isOfEndpoint).orderBy(deliveries.id).limit(limit);
  return deleteWithAttempts(db, sql`${first}`);
}

/** Records that a deleted endpoint still has a delivery log, which the sweep erases. */
export function startLogErasure(db: Database, workspaceId: string, webhookId: string, nowMs: number) {
  const row = { id: webhookId, workspaceId, createdAt: nowMs };
  return insertWhere(db, webhookErasures, row, sql`${isDeleted(webhookId)} AND ${hasLog(workspaceId, webhookId)}`).onConflictDoNothing();
}

/** Deleted endpoints whose delivery log is not erased yet, with the workspaces in turn. */
export function listLogErasures(db: Database, nowMs: number, limit: number) {
  const { id, workspaceId } = webhookErasures;
  const where = and(importCompleted(workspaceId), isNotPutOff("webhooks", id, nowMs));
  return db
    .select()
    .from(webhookErasures)
    .where(isNextInTurn(WAITING.webhookErasures, where, limit));
}

/** Deletes the record of an endpoint's erasure if its log is empty. Returns the deleted record. */
export function finishLogErasure(db: Database, workspaceId: string, webhookId: string) {
  return db
    .delete(webhookErasures)
    .where(and(eq(webhookErasures.id, webhookId), sql`NOT ${hasLog(workspaceId, webhookId)}`))
    .returning({ id: webhookErasures.id });
}

function hasLog(workspaceId: string, webhookId: string) {
  return exists(deliveries, isOf(workspaceId, webhookId));
}

function isOf(workspaceId: string, webhookId: string) {
  return and(eq(deliveries.workspaceId, workspaceId), eq(deliveries.webhookId, webhookId));
}

function isDeleted(webhookId: string) {
  return not(exists(webhookEndpoints, eq(webhookEndpoints.id, webhookId)));
}
