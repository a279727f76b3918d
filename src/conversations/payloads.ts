import { type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { conversations, handoffs, messages, visitors } from "../platform/db/schema.ts";
import { recordJson, timestampJson } from "../platform/db/sql.ts";
import type { ConversationRecord } from "./wire.ts";

/*
 * The wire records as SQL expressions. The batch that causes an event also writes its payload, so that the payload shows the record as
 * it was at that time. A test compares the expressions with the records of wire.ts, field by field.
 */

const HANDOFF_JSON = recordJson(
  handoffs,
  "h",
  "id, conversation_id, reason, summary, trigger_message_id, status, requested_at, accepted_at, resolved_at, team_open, opens_at",
  { team_open: sql`json(CASE WHEN h.opens_at IS NULL THEN 'true' ELSE 'false' END)` },
);

const VISITOR_JSON = recordJson(visitors, "v", "id, anon_id, external_id, name, email, verified");

const CONVERSATION_JSON = recordJson(
  conversations,
  "c",
  `id, agent_id, channel, status, subject, tags, assignee, team_id, priority, visitor, message_count, unread_count, snoozed_until,
    last_message_preview, last_message_at, handoff, csat, resolved_at, resolved_by, first_human_reply_at,
    reopened_count, created_at, updated_at`,
  {
    assignee: sql`json(CASE WHEN c.assignee_id IS NOT NULL THEN json_object('id', c.assignee_id, 'name', coalesce(c.assignee_name, '')) END)`,
    visitor: sql`json((SELECT ${VISITOR_JSON} FROM ${visitors} v WHERE v.id = c.visitor_id))`,
    handoff: sql`json((SELECT ${HANDOFF_JSON} FROM ${handoffs} h WHERE h.workspace_id = c.workspace_id AND h.conversation_id = c.id
      ORDER BY h.id DESC LIMIT 1))`,
    snoozed_until: timestampJson(sql`c.snoozed_until`),
    csat: sql`json(CASE WHEN c.csat_score IS NOT NULL THEN json_object('score', c.csat_score, 'comment', c.csat_comment) END)`,
  },
);

const MESSAGE_JSON = recordJson(
  messages,
  "m",
  "id, conversation_id, role, author, content, citations, attachments, confidence, needs_human, agent_version, created_at",
  {
    author: sql`json_object('type', m.author_type, 'id', m.author_id, 'name', m.author_name)`,
    // A signed address would end before the event is read.
    attachments: sql`json((SELECT json_group_array(json_set(value, '$.url', NULL, '$.expires_at', NULL)) FROM json_each(m.attachments)))`,
  },
);

/** Returns a subquery for a conversation's wire record, which `appendEvent` stores. */
export function conversationRecord(id: string): SQL {
  return sql`(SELECT ${CONVERSATION_JSON} FROM ${conversations} c WHERE c.id = ${id})`;
}

/**
 * Returns a subquery for the wire record in the event of a resolution. It is null while nobody has written since the conversation was
 * reopened, so that a status that is set back and forth sends one event. Each further one takes a message, which the plan limits.
 */
export function resolvedRecord(id: string): SQL {
  const lastMessage = sql`(SELECT m.id FROM ${messages} m WHERE m.workspace_id = c.workspace_id AND m.conversation_id = c.id
    ORDER BY m.created_at DESC, m.id DESC LIMIT 1)`;
  // Reopening sets `context_after` to the message that is the last one then.
  const hasNews = sql`(c.reopened_count = 0 OR c.context_after IS NOT ${lastMessage})`;
  return sql`(SELECT ${CONVERSATION_JSON} FROM ${conversations} c WHERE c.id = ${id} AND ${hasNews})`;
}

/** The alias of `conversations` in a statement that selects `CONVERSATION_RECORD`. */
export const c = alias(conversations, "c");

/** A conversation's wire record, with its visitor and its latest hand-off, as a column. */
export const CONVERSATION_RECORD = CONVERSATION_JSON.mapWith((json: string) => JSON.parse(json) as ConversationRecord).as("record");

/** Returns a subquery for a message's wire record, which `appendEvent` stores. */
export function messageRecord(id: string): SQL {
  return sql`(SELECT ${MESSAGE_JSON} FROM ${messages} m WHERE m.id = ${id})`;
}

/** Returns a subquery for a hand-off's wire record, which `appendEvent` stores. */
export function handoffRecord(id: string): SQL {
  return sql`(SELECT ${HANDOFF_JSON} FROM ${handoffs} h WHERE h.id = ${id})`;
}
