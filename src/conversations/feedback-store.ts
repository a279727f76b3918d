import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { RATINGS } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { conversations, feedbackDays, messageFeedback, messages } from "../platform/db/schema.ts";
import { insertWhere, type Page } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import type { ConversationKey } from "./store.ts";

/** The author of ratings by the visitor. A conversation has only one visitor. */
export const BY_VISITOR = "visitor";

/** A rating of an answer. */
export interface Rating {
  id: string;
  messageId: string;
  /** BY_VISITOR, or the id of a member or of an API key. */
  author: string;
  rating: (typeof RATINGS)[number];
  comment: string | null;
}

/** How many API keys may rate an answer: as many as the largest plan has. Each new key could otherwise add a rating. */
const MAX_KEYS = 200;

/**
 * Rates an answer of the conversation, and replaces the author's earlier rating. Returns no row if there is no such answer or
 * too many keys have rated it.
 */
export const setFeedback = compiled((db, { workspaceId, conversationId }: ConversationKey, given: Rating, nowMs: number) => {
  const { author, rating, comment } = given;
  const agentId = sql`(SELECT agent_id FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
  const isAnswer = sql`EXISTS (SELECT 1 FROM ${messages} WHERE id = ${given.messageId} AND workspace_id = ${workspaceId}
    AND conversation_id = ${conversationId} AND role = 'assistant')`;
  const byOthers = sql`(SELECT count(*) FROM ${messageFeedback} WHERE workspace_id = ${workspaceId}
    AND conversation_id = ${conversationId} AND message_id = ${given.messageId} AND author <> ${author})`;
  const hasRoom = sql`(${author} = ${BY_VISITOR} OR ${byOthers} < ${MAX_KEYS})`;
  const row = { ...given, workspaceId, conversationId, agentId, createdAt: nowMs, updatedAt: nowMs };
  const target = [messageFeedback.workspaceId, messageFeedback.conversationId, messageFeedback.messageId, messageFeedback.author];
  return insertWhere(db, messageFeedback, row, sql`${isAnswer} AND ${hasRoom}`)
    .onConflictDoUpdate({ target, set: { rating, comment, updatedAt: nowMs } })
    .returning();
});

/** The filters of a list of ratings. */
export interface FeedbackFilter {
  agentId?: string | undefined;
  rating?: Rating["rating"] | undefined;
  /** Only ratings first given at or after this time. */
  sinceMs?: number | undefined;
}

/** Reads one page of ratings, newest first, plus one row if there is another page; then the total. */
export const pageFeedback = compiled(
  (db, workspaceId: string, filter: FeedbackFilter, page: Page) =>
    [selectPage(db, workspaceId, filter, page), countFeedback(db, workspaceId, filter)] as const,
);

function selectPage(db: Database, workspaceId: string, filter: FeedbackFilter, { limit, offset, cursor }: Page) {
  const { createdAt, id } = messageFeedback;
  const ranges = rangesOf(workspaceId, filter, cursor && sql`(${createdAt}, ${id}) < (${cursor.atMs}, ${cursor.id})`);
  const shown = sql`(SELECT id FROM (${ranges} ORDER BY created_at DESC, id DESC LIMIT ${limit} + 1 OFFSET ${offset}))`;
  return db.select().from(messageFeedback).where(inArray(id, shown)).orderBy(desc(createdAt), desc(id));
}

/** Sums the daily counters that triggers maintain. On the first day, which the range covers only in part, it counts the rows. */
function countFeedback(db: Database, workspaceId: string, filter: FeedbackFilter) {
  const { agentId, rating, sinceMs = 0 } = filter;
  const nextDay = sql`CAST((${sinceMs} + ${DAY_MS - 1}) / ${DAY_MS} AS INTEGER)`;
  const isBefore = lt(messageFeedback.createdAt, sql`${nextDay} * ${DAY_MS}`);
  const ofDay = sql`(SELECT count(*) FROM (${rangesOf(workspaceId, filter, isBefore)}))`;
  const { up, down } = feedbackDays;
  const ratings = rating ? sql`CASE ${rating} WHEN 'up' THEN ${up} ELSE ${down} END` : sql`${up} + ${down}`;
  const isAgent = agentId === undefined ? undefined : eq(feedbackDays.agentId, agentId);
  return db
    .select({ total: sql<number>`coalesce(sum(${ratings}), 0) + ${ofDay}`.as("total") })
    .from(feedbackDays)
    .where(and(eq(feedbackDays.workspaceId, workspaceId), gte(feedbackDays.day, nextDay), isAgent));
}

/** The matching ratings: one index range for "up" and one for "down". */
function rangesOf(workspaceId: string, { agentId, rating, sinceMs }: FeedbackFilter, further: SQL | undefined): SQL {
  const table = messageFeedback;
  const ranges = (rating ? [rating] : RATINGS).map((each) => {
    const isAgent = agentId === undefined ? undefined : eq(table.agentId, agentId);
    const isSince = sinceMs === undefined ? undefined : gte(table.createdAt, sinceMs);
    const where = and(eq(table.workspaceId, workspaceId), isAgent, eq(table.rating, each), isSince, further);
    return sql`SELECT id, created_at FROM ${table} WHERE ${where}`;
  });
  return sql.join(ranges, sql` UNION ALL `);
}
