import { type SQL, sql } from "drizzle-orm";
import {
  CONVERSATION_JSON,
  CONVERSATION_ROWS,
  handoffJson,
  LEAD_JSON,
  LEAD_ROWS,
  MESSAGE_JSON,
  MESSAGE_ROWS,
} from "../conversations/json-store.ts";
import type { Database } from "../db/client.ts";
import { shardOf } from "../db/ids.ts";
import { insertWhere } from "../db/insert-where.ts";
import { deliveries, events, handoffs, webhookEndpoints, workspaces } from "../db/schema.ts";
import { newIdSql } from "../db/sql-ids.ts";
import { SOURCE_JSON, SOURCE_ROWS } from "../knowledge/json-store.ts";
import { ALL_EVENTS, API_VERSION, type EventType } from "./events.ts";
import { hasWebhooks } from "./plan.ts";

/*
 * Each of these gives two writes to put into the batch right after the event's cause, in this order: the event, if any
 * endpoint listens (an event without listeners would be written and kept for nobody), and a delivery for each that does.
 * The second returns the deliveries, for wakeDeliveries.
 */

/** An event to be written beside its cause. */
export interface NewEvent {
  id: string;
  workspaceId: string;
  /** The conversation that it tells of, so that it can be erased with it. */
  conversationId: string | null;
  /** The lead that it tells of, likewise. */
  leadId?: string;
  nowMs: number;
}

/** SQL condition: the previous statement of the same batch changed one row. */
export const IF_CHANGED = sql`changes() = 1`;

/** An event with the conversation as it is when the statement runs. */
export function addConversationEvent(
  db: Database,
  event: NewEvent,
  type: "conversation.created" | "conversation.resolved",
  condition: SQL,
) {
  const record = sql`(SELECT ${CONVERSATION_JSON} FROM ${CONVERSATION_ROWS} WHERE c.id = ${event.conversationId})`;
  return addEvent(db, event, type, record, condition);
}

/** The event of a message that the same batch adds. */
export function addMessageEvent(
  db: Database,
  event: NewEvent,
  type: "message.ai_replied" | "message.human_replied",
  messageId: string,
  condition: SQL,
) {
  const record = sql`(SELECT ${MESSAGE_JSON} FROM ${MESSAGE_ROWS} WHERE m.id = ${messageId})`;
  return addEvent(db, event, type, record, condition);
}

/** The event of a hand-off that the same batch adds. */
export function addHandoffEvent(db: Database, event: NewEvent, handoffId: string, condition: SQL) {
  const record = sql`(SELECT ${handoffJson()} FROM ${handoffs} h WHERE h.id = ${handoffId})`;
  return addEvent(db, event, "handoff.created", record, condition);
}

/** The event of a lead that the same batch adds. */
export function addLeadEvent(db: Database, event: NewEvent, leadId: string, condition: SQL) {
  const record = sql`(SELECT ${LEAD_JSON} FROM ${LEAD_ROWS} WHERE l.id = ${leadId})`;
  return addEvent(db, { ...event, leadId }, "lead.created", record, condition);
}

/** The event of a source whose sync has just ended. */
export function addSourceEvent(
  db: Database,
  event: Omit<NewEvent, "conversationId">,
  type: "source.synced" | "source.failed",
  sourceId: string,
  condition: SQL,
) {
  const record = sql`(SELECT ${SOURCE_JSON} FROM ${SOURCE_ROWS} WHERE s.id = ${sourceId} AND s.workspace_id = ${event.workspaceId})`;
  return addEvent(db, { ...event, conversationId: null }, type, record, condition);
}

/** The payload is frozen here: every delivery sends these bytes. A trigger cuts what is too long (migration 0003). */
function addEvent(db: Database, event: NewEvent, type: EventType, record: SQL, condition: SQL) {
  const { id, workspaceId, conversationId, leadId = null, nowMs } = event;
  const createdAt = new Date(nowMs).toISOString();
  const payload = sql`json_object('id', ${id}, 'type', ${type}, 'created_at', ${createdAt}, 'api_version', ${API_VERSION},
    'workspace_id', ${workspaceId}, 'data', json(${record}))`;
  const row = { id, workspaceId, type, payload, conversationId, leadId, createdAt: nowMs };
  const isHeard = sql`EXISTS (SELECT 1 FROM ${LISTENERS} WHERE ${listensTo(workspaceId, type)})`;
  return [
    insertWhere(db, events, row, sql`${condition} AND ${isHeard} AND ${record} IS NOT NULL`).onConflictDoNothing(),
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
