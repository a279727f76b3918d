import type { Database } from "../platform/db/client.ts";
import type { webhookEndpoints } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import { type AuditedOperation, changedFields, recordAudit } from "../workspaces/audit-store.ts";
import { cancelPendingDeliveries } from "./delivery-store.ts";
import {
  createEndpoint,
  type EndpointChanges,
  eraseEndpoint,
  eraseLog,
  findEndpoint,
  finishLogErasure,
  listReceivedTypes,
  MANUAL_REASON,
  rotateSecret,
  startLogErasure,
  updateEndpoint,
} from "./endpoint-store.ts";
import { newSecret, openSecret, sealSecret } from "./signature.ts";

/** Bounds the work of an event, which is matched against every endpoint. */
export const MAX_ENDPOINTS = 100;
/** How long a previous secret still signs: time to deploy the new one to every receiver. */
const PREVIOUS_SECRET_MS = DAY_MS;
/** How many previous secrets sign beside the current one. This bounds the length of the header that carries the signatures. */
export const MAX_PREVIOUS_SECRETS = 5;
/** Deliveries that one step of an erasure deletes, with their attempts. */
const DELIVERIES_PER_STEP = 500;
/** Steps that one run of the sweep makes for a deleted endpoint; the next run continues. */
const STEPS_PER_RUN = 20;

export type EndpointRow = typeof webhookEndpoints.$inferSelect;

interface NewEndpoint {
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
}

/**
 * Adds an endpoint. A repeated request returns the endpoint of its first run, with that endpoint's secret.
 * @returns undefined when the workspace has the maximum already.
 */
export async function addEndpoint(op: AuditedOperation, fields: NewEndpoint) {
  const { env, db, workspaceId, nowMs } = op;
  const id = op.newId();
  const secret = await sealSecret(env, newSecret(), id);
  const disabled = fields.enabled ? {} : { disabledReason: MANUAL_REASON, disabledAt: nowMs };
  const row = { id, workspaceId, ...fields, ...disabled, secret, createdAt: nowMs, updatedAt: nowMs };
  const {
    after: [[endpoint]],
  } = await transact(db, {
    writes: [createEndpoint(db, row, MAX_ENDPOINTS), recordAudit(db, op, "webhook.created", { targetId: id })],
    after: [findEndpoint(db, workspaceId, id)],
  });
  return endpoint && { endpoint, secret: await openSecret(env, endpoint.secret, id) };
}

/**
 * Changes an endpoint. Disabling it cancels its pending deliveries.
 * @param unreadable types of events: an endpoint that receives one of them stays as it is.
 * @returns the endpoint, or undefined when the workspace has no such endpoint, and those of the types that it receives.
 */
export async function changeEndpoint(op: AuditedOperation, webhookId: string, changes: EndpointChanges, unreadable: readonly string[]) {
  const { db, workspaceId, nowMs } = op;
  const fields = changedFields(changes);
  const isChange = fields.length > 0;
  const record = recordAudit(db, op, "webhook.updated", { targetId: webhookId, detail: { fields } });
  const { before, after } = await transact(db, {
    before: [listReceivedTypes(db, workspaceId, webhookId, unreadable)],
    writes: [
      ...(isChange ? [updateEndpoint(db, workspaceId, webhookId, changes, unreadable, nowMs), record] : []),
      ...(changes.enabled === false ? cancelPendingDeliveries(db, workspaceId, webhookId, nowMs) : []),
    ],
    after: [findEndpoint(db, workspaceId, webhookId)],
  });
  return { endpoint: after[0][0], refusedTypes: before[0].map(({ type }) => type) };
}

/**
 * Rotates an endpoint's secret; for a day, deliveries are signed with the previous one too.
 * @returns the endpoint with its new secret, which is undefined when the maximum of previous secrets still signs; or undefined when the
 * workspace has no such endpoint.
 */
export async function renewSecret(op: AuditedOperation, webhookId: string) {
  const { env, db, workspaceId, nowMs } = op;
  const rotation = {
    id: op.newId(),
    secret: await sealSecret(env, newSecret(), webhookId),
    previousUntilMs: nowMs + PREVIOUS_SECRET_MS,
    maxPrevious: MAX_PREVIOUS_SECRETS,
    nowMs,
  };
  const {
    after: [[endpoint]],
  } = await transact(db, {
    writes: [rotateSecret(db, workspaceId, webhookId, rotation), recordAudit(db, op, "webhook.secret_rotated", { targetId: webhookId })],
    after: [findEndpoint(db, workspaceId, webhookId)],
  });
  // The secret is read from the row, so that a repeated request returns the secret of its first run.
  const isRotated = endpoint?.rotationId === rotation.id;
  return endpoint && { endpoint, secret: isRotated ? await openSecret(env, endpoint.secret, webhookId) : undefined };
}

/**
 * Deletes an endpoint and its delivery log; the sweep deletes the rest of a long log.
 * @returns whether the workspace had the endpoint.
 */
export async function removeEndpoint(op: AuditedOperation, webhookId: string): Promise<boolean> {
  const { db, workspaceId, nowMs } = op;
  const [[erased]] = await db.batch([
    eraseEndpoint(db, workspaceId, webhookId),
    recordAudit(db, op, "webhook.deleted", { targetId: webhookId }),
    ...eraseLog(db, workspaceId, webhookId, DELIVERIES_PER_STEP),
    startLogErasure(db, workspaceId, webhookId, nowMs),
  ]);
  return erased !== undefined;
}

/** Deletes more of a deleted endpoint's log, in a bounded number of steps. */
export async function continueLogErasure(db: Database, { id, workspaceId }: { id: string; workspaceId: string }): Promise<void> {
  for (let step = 0; step < STEPS_PER_RUN; step++) {
    const [, , [finished]] = await db.batch([...eraseLog(db, workspaceId, id, DELIVERIES_PER_STEP), finishLogErasure(db, workspaceId, id)]);
    if (finished) return;
  }
}
