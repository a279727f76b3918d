import { type SQL, sql } from "drizzle-orm";
import { conversations, handoffs, messages, visitors } from "../platform/db/schema.ts";
import { booleanJson, timestampJson } from "../platform/db/sql.ts";

/*
 * The wire records as SQL expressions: the batch that causes an event writes its payload, so that it shows the record as it
 * was then. A test compares them with the records of wire.ts, field by field.
 */

/** A conversation's wire record, of a row of `conversations` with the alias c. */
export const CONVERSATION_JSON = sql`json_object(
  'id', c.id, 'agent_id', c.agent_id, 'channel', c.channel, 'status', c.status, 'subject', c.subject, 'tags', json(c.tags),
  'assignee', json(CASE WHEN c.assignee_id IS NULL THEN NULL ELSE json_object('id', c.assignee_id, 'name', coalesce(c.assignee_name, '')) END),
  'visitor', json((SELECT json_object('id', v.id, 'anon_id', v.anon_id, 'external_id', v.external_id, 'name', v.name, 'email', v.email,
    'verified', ${booleanJson(sql`v.verified`)}) FROM ${visitors} v WHERE v.id = c.visitor_id)),
  'message_count', c.message_count, 'unread_count', c.unread_count, 'last_message_preview', c.last_message_preview, 'last_message_at', ${timestampJson(sql`c.last_message_at`)},
  'handoff', json((SELECT ${handoffJson()} FROM ${handoffs} h WHERE h.workspace_id = c.workspace_id AND h.conversation_id = c.id
    ORDER BY h.id DESC LIMIT 1)),
  'csat', json(CASE WHEN c.csat_score IS NULL THEN NULL ELSE json_object('score', c.csat_score, 'comment', c.csat_comment) END),
  'resolved_at', ${timestampJson(sql`c.resolved_at`)}, 'resolved_by', c.resolved_by,
  'first_human_reply_at', ${timestampJson(sql`c.first_human_reply_at`)}, 'reopened_count', c.reopened_count,
  'created_at', ${timestampJson(sql`c.created_at`)}, 'updated_at', ${timestampJson(sql`c.updated_at`)})`;

/** A hand-off's wire record, of a row of `handoffs` with the alias h. */
function handoffJson(): SQL {
  return sql`json_object('id', h.id, 'conversation_id', h.conversation_id, 'reason', h.reason, 'summary', h.summary,
    'trigger_message_id', h.trigger_message_id, 'status', h.status, 'requested_at', ${timestampJson(sql`h.requested_at`)},
    'accepted_at', ${timestampJson(sql`h.accepted_at`)}, 'resolved_at', ${timestampJson(sql`h.resolved_at`)})`;
}

/** A message's wire record, of a row of `messages` with the alias m. */
const MESSAGE_JSON = sql`json_object('id', m.id, 'conversation_id', m.conversation_id, 'role', m.role,
  'author', json_object('type', m.author_type, 'id', m.author_id, 'name', m.author_name), 'content', m.content,
  'citations', json(m.citations), 'confidence', m.confidence, 'needs_human', ${booleanJson(sql`m.needs_human`)},
  'created_at', ${timestampJson(sql`m.created_at`)})`;

/** A subquery that gives a conversation's wire record, for `appendEvent`. */
export function conversationRecord(id: string): SQL {
  return sql`(SELECT ${CONVERSATION_JSON} FROM ${conversations} c WHERE c.id = ${id})`;
}

/** A subquery that gives a message's wire record, for `appendEvent`. */
export function messageRecord(id: string): SQL {
  return sql`(SELECT ${MESSAGE_JSON} FROM ${messages} m WHERE m.id = ${id})`;
}

/** A subquery that gives a hand-off's wire record, for `appendEvent`. */
export function handoffRecord(id: string): SQL {
  return sql`(SELECT ${handoffJson()} FROM ${handoffs} h WHERE h.id = ${id})`;
}
