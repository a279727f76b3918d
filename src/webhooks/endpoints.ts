import { type Database, workspaceDb } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { webhookEndpoints } from "../platform/db/schema.ts";
import { writeThenRead } from "../platform/db/sql.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { newSecret, openSecret, sealSecret } from "./signature.ts";
import {
  createEndpoint,
  type EndpointChanges,
  endWebhookErasure,
  eraseEndpoint,
  eraseLog,
  findEndpoint,
  giveUpWaiting,
  MANUAL,
  noteErasure,
  rotateSecret,
  updateEndpoint,
} from "./store.ts";

/** As many as anyone has systems to tell. Each event asks all of them, so there must be an end. */
export const MAX_ENDPOINTS = 100;
/** How long the secret before still signs: time to bring the new one to every receiver. */
const PREVIOUS_SECRET_MS = 24 * 60 * 60 * 1000;
/** Deliveries that one step of an erasure removes, with their attempts. */
const ERASED_A_STEP = 500;
/** Steps of a run of the sweep for each endpoint that was deleted; the next run goes on. */
const STEPS_A_RUN = 20;

export type EndpointRow = typeof webhookEndpoints.$inferSelect;

/** The workspace, clock and identifiers that a change of endpoints works with. */
export interface WebhookOperation {
  env: Env;
  meter: Meter;
  workspaceId: string;
  nowMs: number;
  /** Makes the identifier of what is added. */
  newId: (shard: number) => string;
}

interface NewEndpoint {
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
}

/**
 * Adds an endpoint. When a repeated request finds the endpoint that its first run added, it returns that endpoint's
 * secret.
 * @returns the endpoint with its secret, or undefined when the workspace has the maximum already.
 */
export async function addEndpoint(op: WebhookOperation, fields: NewEndpoint) {
  const { env, workspaceId, nowMs } = op;
  const id = op.newId(shardOf(workspaceId));
  const secret = await sealSecret(env, newSecret(), id);
  const disabled = fields.enabled ? {} : { disabledReason: MANUAL, disabledAt: nowMs };
  const row = { id, workspaceId, ...fields, ...disabled, secret, createdAt: nowMs, updatedAt: nowMs };
  const db = workspaceDb(op);
  const [, [endpoint]] = await db.batch([createEndpoint(db, row, MAX_ENDPOINTS), findEndpoint(db, workspaceId, id)]);
  return endpoint && { endpoint, secret: await openSecret(env, endpoint.secret, id) };
}

/**
 * Changes an endpoint. Disabling it fails its pending deliveries.
 * @returns the changed endpoint, or undefined when the workspace has no such endpoint.
 */
export async function changeEndpoint(op: WebhookOperation, webhookId: string, changes: EndpointChanges): Promise<EndpointRow | undefined> {
  const { workspaceId, nowMs } = op;
  const db = workspaceDb(op);
  const isAsked = Object.values(changes).some((value) => value !== undefined);
  const writes = [
    ...(isAsked ? [updateEndpoint(db, workspaceId, webhookId, changes, nowMs)] : []),
    ...(changes.enabled === false ? giveUpWaiting(db, workspaceId, webhookId, nowMs) : []),
  ];
  const { read } = await writeThenRead(db, writes, [findEndpoint(db, workspaceId, webhookId)]);
  return read[0][0];
}

/**
 * Gives an endpoint a new secret; for a day, deliveries are signed with the previous secret too.
 * @returns the new secret and the time until which the previous one signs, or undefined when the workspace has no such
 * endpoint.
 */
export async function renewSecret(op: WebhookOperation, webhookId: string) {
  const { env, workspaceId, nowMs } = op;
  const rotation = {
    id: op.newId(shardOf(workspaceId)),
    secret: await sealSecret(env, newSecret(), webhookId),
    previousUntilMs: nowMs + PREVIOUS_SECRET_MS,
    nowMs,
  };
  const db = workspaceDb(op);
  const [, [endpoint]] = await db.batch([rotateSecret(db, workspaceId, webhookId, rotation), findEndpoint(db, workspaceId, webhookId)]);
  // The row's own, since a repetition finds the rotation done.
  return endpoint && { endpoint, secret: await openSecret(env, endpoint.secret, webhookId) };
}

/**
 * Removes an endpoint and its log; nothing is sent to it afterwards. What remains of a long log is removed by the sweep.
 * @returns whether the workspace had the endpoint.
 */
export async function removeEndpoint(op: WebhookOperation, webhookId: string): Promise<boolean> {
  const { workspaceId, nowMs } = op;
  const db = workspaceDb(op);
  const [[erased]] = await db.batch([
    eraseEndpoint(db, workspaceId, webhookId),
    ...eraseLog(db, workspaceId, webhookId, ERASED_A_STEP),
    noteErasure(db, workspaceId, webhookId, nowMs),
  ]);
  return erased !== undefined;
}

/** Removes more of a deleted endpoint's log, in a bounded number of steps. */
export async function eraseMoreLog(db: Database, { id, workspaceId }: { id: string; workspaceId: string }): Promise<void> {
  for (let step = 0; step < STEPS_A_RUN; step++) {
    const [, , [ended]] = await db.batch([...eraseLog(db, workspaceId, id, ERASED_A_STEP), endWebhookErasure(db, workspaceId, id)]);
    if (ended) return;
  }
}
