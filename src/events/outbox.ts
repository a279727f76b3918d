import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { PLAN_NAMES } from "../platform/db/columns.ts";
import { newIdSql, shardOf } from "../platform/db/ids.ts";
import { deliveries, events, webhookEndpoints, workspaces } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { ALL_EVENTS, API_VERSION, type EventType } from "./event-types.ts";

/** An event to be written beside its cause. */
export interface NewEvent {
  id: string;
  workspaceId: string;
  /** The conversation that it tells of, so that it can be erased with it. */
  conversationId?: string | null;
  /** The lead that it tells of, likewise. */
  leadId?: string;
  nowMs: number;
}

/** SQL condition: the previous statement of the same batch changed one row. */
export const IF_CHANGED = sql`changes() = 1`;

/**
 * Two writes for the batch that causes an event, to be put right after the statement that changes one row: the event, if
 * any endpoint listens (an event without listeners would be kept for nobody), and a delivery for each endpoint that does.
 * The second returns the deliveries, for wakeDeliveries. Nothing is written where that statement changed no row.
 *
 * The payload is frozen here: every delivery sends these bytes. A trigger cuts what is too long (migration 0003).
 * @param record a subquery that gives the wire record as JSON text, as it is when the statement runs.
 */
export function appendEvent(db: Database, event: NewEvent, type: EventType, record: SQL) {
  const { id, workspaceId, conversationId = null, leadId = null, nowMs } = event;
  const createdAt = new Date(nowMs).toISOString();
  const payload = sql`json_object('id', ${id}, 'type', ${type}, 'created_at', ${createdAt}, 'api_version', ${API_VERSION},
    'workspace_id', ${workspaceId}, 'data', json(${record}))`;
  const row = { id, workspaceId, type, payload, conversationId, leadId, createdAt: nowMs };
  const isHeard = sql`EXISTS (SELECT 1 FROM ${LISTENERS} WHERE ${listensTo(workspaceId, type)})`;
  return [
    insertWhere(db, events, row, sql`${IF_CHANGED} AND ${isHeard} AND ${record} IS NOT NULL`).onConflictDoNothing(),
    fanOut(db, event, type),
  ] as const;
}

/** A delivery to each endpoint that listens, if the statement before wrote the event. */
function fanOut(db: Database, { id, workspaceId, nowMs }: NewEvent, type: EventType) {
  const row = {
    id: newIdSql(shardOf(workspaceId), nowMs),
    workspaceId,
    webhookId: sql`e.id`,
    eventId: id,
    eventType: type,
    status: "pending" as const,
    trigger: "event" as const,
    nextAttemptAt: nowMs,
    createdAt: nowMs,
  };
  const condition = sql`${IF_CHANGED} AND ${listensTo(workspaceId, type)}`;
  return insertWhere(db, deliveries, row, condition, LISTENERS).returning({ deliveryId: deliveries.id });
}

const LISTENERS = sql`${webhookEndpoints} e JOIN ${workspaces} w ON w.id = e.workspace_id`;

/** That the endpoint takes events of this type now. */
function listensTo(workspaceId: string, type: EventType): SQL {
  return sql`e.workspace_id = ${workspaceId} AND e.enabled AND w.deleted_at IS NULL AND ${hasWebhooks("w")}
    AND EXISTS (SELECT 1 FROM json_each(e.events) WHERE value IN (${type}, ${ALL_EVENTS}))`;
}

const PLANS_WITH_WEBHOOKS = PLAN_NAMES.filter((plan) => limitsOf(plan, {}).webhooks);

/**
 * SQL condition: the workspace may use webhooks, by its plan or the operator's override. It is `limitsOf` in SQL, for
 * statements that must not deliver otherwise.
 * @param alias the statement's alias of `workspaces`.
 */
export function hasWebhooks(alias: string): SQL {
  const of = sql.identifier(alias);
  return sql`coalesce(json_extract(${of}.limits, '$.webhooks'), ${of}.plan IN ${PLANS_WITH_WEBHOOKS})`;
}

/** A wake-up for one delivery. The delivery's row says what is to be done. */
export interface DeliveryMessage {
  deliveryId: string;
}

/**
 * Sends wake-ups for the deliveries that a committed batch added. The sweep finds a delivery whose wake-up is lost.
 * @param written what the batch's writes returned, those that add events included.
 */
export async function wakeDeliveries(env: Env, written: readonly unknown[]): Promise<void> {
  await sendWakeUps(env.DELIVERY_QUEUE, written.flatMap(deliveriesIn));
}

/** Sends wake-ups for deliveries to a lane, with a delay if one is given. */
export function sendDeliveryWakeUps(lane: Queue, ids: readonly string[], delaySeconds?: number): Promise<void> {
  return sendWakeUps(lane, ids.map((deliveryId) => ({ deliveryId })) satisfies DeliveryMessage[], delaySeconds);
}

/** An event's fan-out returns the deliveries that it made; what other writes return is something else. */
function deliveriesIn(rows: unknown): DeliveryMessage[] {
  return Array.isArray(rows) ? rows.filter((row: Partial<DeliveryMessage>) => row.deliveryId !== undefined) : [];
}

/** A wake-up: which message is to go out as mail. */
export interface EmailMessage {
  messageId: string;
}

/** Sends wake-ups for messages that wait to go out as mail. The sweep finds one whose wake-up is lost. */
export function wakeEmails(env: Env, messages: readonly EmailMessage[]): Promise<void> {
  return sendWakeUps(env.EMAIL_QUEUE, messages);
}
