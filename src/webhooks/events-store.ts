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
import { insertWhere } from "../db/insert-where.ts";
import { events, handoffs } from "../db/schema.ts";
import { API_VERSION, type EventType } from "./events.ts";

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

/** That the statement before this one, in the same batch, changed a row. */
export const IF_CHANGED = sql`changes() = 1`;

/** The conversation as it is when the statement runs. */
export function addConversationEvent(
  db: Database,
  event: NewEvent,
  type: "conversation.created" | "conversation.resolved",
  condition: SQL,
) {
  const record = sql`(SELECT ${CONVERSATION_JSON} FROM ${CONVERSATION_ROWS} WHERE c.id = ${event.conversationId})`;
  return addEvent(db, event, type, record, condition);
}

/** A message that is in the batch. */
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

/** A hand-off that is in the batch. */
export function addHandoffEvent(db: Database, event: NewEvent, handoffId: string, condition: SQL) {
  const record = sql`(SELECT ${handoffJson()} FROM ${handoffs} h WHERE h.id = ${handoffId})`;
  return addEvent(db, event, "handoff.created", record, condition);
}

/** A lead that is in the batch. */
export function addLeadEvent(db: Database, event: NewEvent, leadId: string, condition: SQL) {
  const record = sql`(SELECT ${LEAD_JSON} FROM ${LEAD_ROWS} WHERE l.id = ${leadId})`;
  return addEvent(db, { ...event, leadId }, "lead.created", record, condition);
}

/** The payload is frozen here: every delivery sends these bytes. */
function addEvent(
  db: Database,
  { id, workspaceId, conversationId, leadId, nowMs }: NewEvent,
  type: EventType,
  record: SQL,
  condition: SQL,
) {
  const createdAt = new Date(nowMs).toISOString();
  const payload = sql`json_object('id', ${id}, 'type', ${type}, 'created_at', ${createdAt}, 'api_version', ${API_VERSION},
    'workspace_id', ${workspaceId}, 'data', json(${record}))`;
  const row = { id, workspaceId, type, payload, conversationId, leadId: leadId ?? null, createdAt: nowMs };
  return insertWhere(db, events, row, sql`${condition} AND ${record} IS NOT NULL`).onConflictDoNothing();
}
