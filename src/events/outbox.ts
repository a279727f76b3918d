import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { deliveries, events, visitorCounts, webhookEndpoints, workspaces } from "../platform/db/schema.ts";
import { IF_CHANGED, insertWhere, newIdSql, timestampJson } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { DAY_MS } from "../platform/time.ts";
import { ALL_SENDERS } from "../workspaces/usage-limits.ts";
import { limitSql } from "../workspaces/store.ts";
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

/** Returns the head of an event whose payload has a conversation, or something of it. */
export function newEvent({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }, nowMs: number): NewEvent {
  return { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
}

/** The number of days for which events are recorded after they were last read over the API. */
export const RECORDED_DAYS = 7;

/**
 * Appends an event to the outbox: three statements that must follow the statement that causes the event, and write nothing if that
 * changed no row. The first writes the event if an enabled endpoint is subscribed to its type or events are read over the API; the
 * second writes a delivery to each such endpoint, as far as the plan allows more deliveries on that day; the third notes on the other
 * endpoints that they were skipped. Pass the batch's results to `wakeDeliveries`.
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
    noteSkipped(db, event, type),
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

/** Adds a delivery to each subscribed endpoint for which the day has room, if the previous statement wrote the event. */
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
  // The limit is the number of rows, since the statement adds one for each endpoint.
  const condition = sql`${IF_CHANGED} AND ${isSubscribed(workspaceId, type)} LIMIT ${deliveriesLeft(workspaceId, nowMs)}`;
  return insertWhere(db, deliveries, row, condition, SUBSCRIBERS).returning({ deliveryId: deliveries.id });
}

/** Notes the time on the subscribed endpoints that have no delivery of the event, if the previous statements wrote it on a full day. */
function noteSkipped(db: Database, { id, workspaceId, nowMs }: NewEvent, type: EventType) {
  const isWritten = sql`EXISTS (SELECT 1 FROM ${events} WHERE id = ${id})`;
  const isDelivered = sql`EXISTS (SELECT 1 FROM ${deliveries} d WHERE d.workspace_id = ${workspaceId} AND d.event_id = ${id} AND d.webhook_id = e.id)`;
  // The join begins with the condition that is rarely true, so that no endpoint is read while the day has room.
  const isFull = sql`(SELECT 1 WHERE ${deliveriesLeft(workspaceId, nowMs)} = 0 AND ${isWritten})`;
  const skipped = sql`(SELECT e.id FROM ${isFull} CROSS JOIN ${SUBSCRIBERS} WHERE ${isSubscribed(workspaceId, type)} AND NOT ${isDelivered})`;
  return db
    .update(webhookEndpoints)
    .set({ lastSkippedAt: sql`${nowMs}` })
    .where(sql`${webhookEndpoints.id} IN ${skipped}`);
}

/** SQL: how many deliveries the plan still allows on the day of a time. The trigger `deliveries_counted` counts them. */
function deliveriesLeft(workspaceId: string, nowMs: number): SQL {
  const made = sql`(SELECT count FROM ${visitorCounts} WHERE workspace_id = ${workspaceId} AND flow = 'deliveries'
    AND starts_at = ${nowMs} - ${nowMs} % ${DAY_MS} AND sender = ${ALL_SENDERS})`;
  return sql`coalesce((SELECT max(0, ${limitSql("w", "deliveries_per_day")} - coalesce(${made}, 0)) FROM ${workspaces} w WHERE w.id = ${workspaceId}), 0)`;
}

const SUBSCRIBERS = sql`${webhookEndpoints} e JOIN ${workspaces} w ON w.id = e.workspace_id`;

/** SQL condition: the endpoint is enabled and subscribed to the type, and its workspace may use webhooks. */
function isSubscribed(workspaceId: string, type: EventType): SQL {
  return sql`e.workspace_id = ${workspaceId} AND e.enabled AND w.deleted_at IS NULL AND ${limitSql("w", "webhooks")}
    AND EXISTS (SELECT 1 FROM json_each(e.events) WHERE value IN (${type}, ${ALL_EVENTS}))`;
}

/** SQL condition: events were read over the API lately, and the workspace's plan allows it. */
function isRecording(nowMs: number): SQL {
  return sql`w.events_read_at > ${nowMs} - ${RECORDED_DAYS * DAY_MS} AND w.deleted_at IS NULL AND ${limitSql("w", "webhooks")}`;
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
