import { and, eq, getTableColumns, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { compiled } from "../db/compiled.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, webhookEndpoints, workspaces } from "../db/schema.ts";
import { giveUp, IS_PENDING, isFree } from "./give-up.ts";

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
