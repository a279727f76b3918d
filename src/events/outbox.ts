import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { PLAN_NAMES } from "../platform/db/columns.ts";
import { deliveries, events, webhookEndpoints, workspaces } from "../platform/db/schema.ts";
import { insertWhere, newIdSql, timestampJson } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { DAY_MS } from "../platform/time.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { ALL_EVENTS, API_VERSION, type EventType } from "./event-types.ts";

/** An event to be written in the batch that causes it. */
export interface NewEvent {
  id: string;
  workspaceId: string;
  /** The conversation in its payload. The event is erased together with it. */
  conversationId?: string | null;
  /** The lead in its payload. The event is erased together with it. */
  leadId?: string;
  nowMs: number;
}

/** SQL condition: the previous statement of the same batch changed one row. */
export const IF_CHANGED = sql`changes() = 1`;

/** The number of days for which events are recorded after they were last read over the API. */
export const RECORDED_DAYS = 7;

/**
 * Appends an event to the outbox: two statements that must follow the statement that causes the event, and write nothing if that
 * changed no row. The first writes the event if an enabled endpoint is subscribed to its type or events are read over the API; the
 * second writes a delivery to each such endpoint. Pass the batch's results to `wakeDeliveries`.
 *
 * Every delivery sends the payload that is written here. The trigger `events_cut` shortens long texts.
 * @param record a subquery that gives the wire record as JSON text.
 */
export function appendEvent(db: Database, event: NewEvent, type: EventType, record: SQL) {
  const { id, workspaceId, conversationId = null, leadId = null, nowMs } = event;
  const payload = sql`json_object('id', ${id}, 'type', ${type}, 'created_at', ${timestampJson(sql`${nowMs}`)}, 'api_version', ${API_VERSION},
    'workspace_id', ${workspaceId}, 'data', json(${record}))`;
  const row = { id, workspaceId, type, payload, conversationId, leadId, sequence: nextSequence(workspaceId), createdAt: nowMs };
  const hasSubscribers = sql`EXISTS (SELECT 1 FROM ${SUBSCRIBERS} WHERE ${isSubscribed(workspaceId, type)})`;
  const hasReaders = sql`EXISTS (SELECT 1 FROM ${workspaces} w WHERE w.id = ${workspaceId} AND ${isRecording(nowMs)})`;
  return [
    insertWhere(
      db,
      events,
      row,
      sql`${IF_CHANGED} AND (${hasSubscribers} OR ${hasReaders}) AND ${record} IS NOT NULL`,
    ).onConflictDoNothing(),
    fanOut(db, event, type),
  ] as const;
}

/**
 * SQL: the sequence of an event that is being committed, which is the database's time in Unix milliseconds, or one more than the
 * previous event's if that is greater. Ids and `createdAt` do not show this order, since they are made before the batch is committed,
 * perhaps long before. Because it begins with the time, the number of an erased event is not given again.
 */
export function nextSequence(workspaceId: string): SQL {
  const now = sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`;
  return sql`coalesce((SELECT max(sequence) + 1 FROM ${events} WHERE workspace_id = ${workspaceId} AND sequence >= ${now}), ${now})`;
}

/** Adds a delivery to each subscribed endpoint, if the previous statement wrote the event. */
function fanOut(db: Database, { id, workspaceId, nowMs }: NewEvent, type: EventType) {
  const row = {
    id: newIdSql(workspaceId, nowMs),
    workspaceId,
    webhookId: sql`e.id`,
    eventId: id,
    eventType: type,
    status: "pending" as const,
    trigger: "event" as const,
    nextAttemptAt: nowMs,
    createdAt: nowMs,
  };
  const condition = sql`${IF_CHANGED} AND ${isSubscribed(workspaceId, type)}`;
  return insertWhere(db, deliveries, row, condition, SUBSCRIBERS).returning({ deliveryId: deliveries.id });
}

const SUBSCRIBERS = sql`${webhookEndpoints} e JOIN ${workspaces} w ON w.id = e.workspace_id`;

/** SQL condition: the endpoint is enabled and subscribed to the type, and its workspace may use webhooks. */
function isSubscribed(workspaceId: string, type: EventType): SQL {
  return sql`e.workspace_id = ${workspaceId} AND e.enabled AND w.deleted_at IS NULL AND ${hasWebhooks("w")}
    AND EXISTS (SELECT 1 FROM json_each(e.events) WHERE value IN (${type}, ${ALL_EVENTS}))`;
}

/** SQL condition: events were read over the API lately, and the workspace's plan allows it. */
function isRecording(nowMs: number): SQL {
  return sql`w.events_read_at > ${nowMs} - ${RECORDED_DAYS * DAY_MS} AND w.deleted_at IS NULL AND ${hasWebhooks("w")}`;
}

const PLANS_WITH_WEBHOOKS = PLAN_NAMES.filter((plan) => limitsOf(plan, {}).webhooks);

/**
 * SQL condition: the workspace may use webhooks, by its plan or the operator's override (`limitsOf` in SQL).
 * @param alias the statement's alias of `workspaces`.
 */
export function hasWebhooks(alias: string): SQL {
  const of = sql.identifier(alias);
  return sql`coalesce(json_extract(${of}.limits, '$.webhooks'), ${of}.plan IN ${PLANS_WITH_WEBHOOKS})`;
}

/** A wake-up for a delivery. Everything else is in its row. */
export interface DeliveryMessage {
  deliveryId: string;
}

/**
 * Sends wake-ups for the deliveries that a committed batch added. The sweep finds a delivery whose wake-up is lost.
 * @param written the results of the batch's writes, including those of `appendEvent`.
 */
export async function wakeDeliveries(env: Env, written: readonly unknown[]): Promise<void> {
  await sendWakeUps(env.DELIVERY_QUEUE, written.flatMap(deliveriesIn));
}

/** Sends wake-ups for deliveries to one of the delivery queues. */
export function sendDeliveryWakeUps(queue: Queue, ids: readonly string[], delaySeconds?: number): Promise<void> {
  return sendWakeUps(queue, ids.map((deliveryId) => ({ deliveryId })) satisfies DeliveryMessage[], delaySeconds);
}

/** Only the second statement of `appendEvent` returns rows with a `deliveryId`. */
function deliveriesIn(rows: unknown): DeliveryMessage[] {
  return Array.isArray(rows) ? rows.filter((row: Partial<DeliveryMessage>) => row.deliveryId !== undefined) : [];
}

/** A wake-up for a message that is to be sent as mail. */
export interface EmailMessage {
  messageId: string;
}

/** Sends wake-ups for messages that are to be sent as mail. The sweep finds one whose wake-up is lost. */
export function wakeEmails(env: Env, messages: readonly EmailMessage[]): Promise<void> {
  return sendWakeUps(env.EMAIL_QUEUE, messages);
}
