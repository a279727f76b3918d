import { eq, sql, type SQL } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { CONVERSATION_STATUSES } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { isAmong, type Position } from "../platform/db/sql.ts";
import { conversations, messages, notes, visitors } from "../platform/db/schema.ts";
import { SECOND_MS } from "../platform/time.ts";

/** Selects the columns of conversations that the index needs. */
function selectForIndex(db: Database, condition: SQL) {
  const ofConversation = sql`${notes.workspaceId} = ${conversations.workspaceId} AND ${notes.conversationId} = ${conversations.id}`;
  return db
    .select({
      id: conversations.id,
      agentId: conversations.agentId,
      channel: conversations.channel,
      status: conversations.status,
      assigneeId: conversations.assigneeId,
      subject: conversations.subject,
      messageCount: conversations.messageCount,
      updatedAt: conversations.updatedAt,
      visitorName: sql<string | null>`${visitors.name}`.as("visitor_name"),
      visitorEmail: sql<string | null>`${visitors.email}`.as("visitor_email"),
      notedAt: sql<number>`coalesce((SELECT max(${notes.createdAt}) FROM ${notes} WHERE ${ofConversation}), 0)`.as("noted_at"),
    })
    .from(conversations)
    .leftJoin(visitors, eq(visitors.id, conversations.visitorId))
    .where(condition);
}

/** Lists conversations by last activity after a position, oldest first. Each status is a range of the list's index. */
export const listChanged = compiled((db, workspaceId: string, after: Position, limit: number) => {
  const ranges = CONVERSATION_STATUSES.map(
    (status) => sql`SELECT id, updated_at FROM ${conversations}
      WHERE workspace_id = ${workspaceId} AND status = ${status} AND (updated_at, id) > (${after.atMs}, ${after.id})`,
  );
  const page = sql`(SELECT id FROM (${sql.join(ranges, sql` UNION ALL `)} ORDER BY updated_at, id LIMIT ${limit}))`;
  return selectForIndex(db, sql`${conversations.id} IN ${page}`).orderBy(conversations.updatedAt, conversations.id);
});

/** The changes of a second: their number, and sums that differ if other conversations or messages changed. */
export interface ChangedSecond {
  second: number;
  count: number;
  /** The messages of all these conversations. A message that is committed late does not change the time of its conversation. */
  messages: number;
  atSum: number;
  idSum: number;
}

/** The positions of digits in an id that are random, from which `idNumber` makes a number. */
const RANDOM_DIGITS = [21, 22, 23, 24, 25, 26];

/** Counts the changes of a period by seconds. */
export const countChanged = compiled((db, workspaceId: string, sinceMs: number, untilMs: number) => {
  const idSum = sql.join(
    RANDOM_DIGITS.map((at, power) => sql`unicode(substr(id, ${at}, 1)) * ${64 ** power}`),
    sql` + `,
  );
  const ranges = CONVERSATION_STATUSES.map(
    (status) => sql`SELECT id, updated_at, message_count FROM ${conversations}
      WHERE workspace_id = ${workspaceId} AND status = ${status} AND updated_at >= ${sinceMs} AND updated_at < ${untilMs}`,
  );
  return db
    .select({
      // SECOND_MS is part of the text, since a bound number is a float, which does not divide to an integer.
      second: sql<number>`updated_at / ${sql.raw(String(SECOND_MS))}`.as("second"),
      count: sql<number>`count(*)`.as("count"),
      messages: sql<number>`sum(message_count)`.as("messages"),
      atSum: sql<number>`sum(updated_at % ${SECOND_MS})`.as("at_sum"),
      idSum: sql<number>`sum(${idSum})`.as("id_sum"),
    })
    .from(sql`(${sql.join(ranges, sql` UNION ALL `)})`)
    .groupBy(sql`1`);
});

/** Returns the number of an id that `countChanged` adds up. */
export function idNumber(id: string): number {
  return RANDOM_DIGITS.reduce((sum, at, power) => sum + id.charCodeAt(at - 1) * 64 ** power, 0);
}

/** Lists the conversations with these ids that exist. */
export function listExisting(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  return selectForIndex(db, isAmong(conversations, workspaceId, conversationIds));
}

/** The last message and note of a conversation that the index has read. */
export interface TextPosition {
  id: string;
  messageAt: number;
  messageId: string;
  noteAt: number;
  noteId: string;
}

/** Lists the messages, and the notes, of these conversations after their positions, by conversation, oldest first. */
export function listNewTexts(db: Database, workspaceId: string, positions: readonly TextPosition[], limit: number) {
  const after = (table: typeof messages | typeof notes, list: readonly [string, number, string][]) =>
    db
      .select({
        id: sql<string>`t.id`.as("id"),
        conversationId: sql<string>`t.conversation_id`.as("conversation_id"),
        createdAt: sql<number>`t.created_at`.as("created_at"),
        content: sql<string>`t.content`.as("content"),
      })
      // CROSS JOIN keeps the order: by conversation, then by time.
      .from(
        sql`json_each(${JSON.stringify(list)}) CROSS JOIN ${table} t ON t.workspace_id = ${workspaceId} AND t.conversation_id = json_each.value ->> 0
          AND (t.created_at, t.id) > (json_each.value ->> 1, json_each.value ->> 2)`,
      )
      .limit(limit);
  return [
    after(
      messages,
      positions.map(({ id, messageAt, messageId }) => [id, messageAt, messageId]),
    ),
    after(
      notes,
      positions.map(({ id, noteAt, noteId }) => [id, noteAt, noteId]),
    ),
  ] as const;
}

/** Lists the ids of conversations with unread messages. */
export function listUnread(db: Database, workspaceId: string, limit: number) {
  return db
    .select({ id: sql<string>`id`.as("id") })
    .from(sql`${conversations} INDEXED BY conversations_unread`)
    .where(sql`workspace_id = ${workspaceId} AND unread_count > 0`)
    .limit(limit);
}

/** Lists the contents of these messages and notes. */
export const listContents = compiled((db, workspaceId: string, ids: readonly string[]) => {
  const contentsIn = (table: typeof messages | typeof notes) =>
    db
      .select({ id: table.id, content: table.content })
      .from(table)
      .where(isAmong(table, workspaceId, ids));
  return [contentsIn(messages), contentsIn(notes)] as const;
});
