import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { CHANNELS } from "../agents/wire.ts";
import type { Database } from "../db/client.ts";
import { DAY_MS } from "../db/days.ts";
import { conversationCounts, conversations, conversationSpans, handoffs, visitors } from "../db/schema.ts";
import type { ConversationStatus } from "./status.ts";

/** What a list of conversations may be narrowed to. */
export interface ConversationFilter {
  agentId?: string | undefined;
  status?: ConversationStatus | undefined;
  channel?: (typeof CHANNELS)[number] | undefined;
  /** Only those with activity at or after it. */
  sinceMs?: number | undefined;
}

/** Beside single days, this many together are counted: a year is a dozen of these and at most 31 days. */
const LONG_SPAN_DAYS = 32;

interface Page {
  limit: number;
  offset: number;
  cursor?: { atMs: number; id: string } | undefined;
}

/** One page of conversations by last activity, newest first, with their visitors and latest hand-offs. */
export function pageConversations(db: Database, workspaceId: string, filter: ConversationFilter, { limit, offset, cursor }: Page) {
  const after = cursor && sql`(${conversations.updatedAt}, ${conversations.id}) < (${cursor.atMs}, ${cursor.id})`;
  const where = and(...conditions(workspaceId, filter), after);
  const order = [desc(conversations.updatedAt), desc(conversations.id)] as const;
  const ids = db
    .select({ id: conversations.id })
    .from(conversations)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .offset(offset);
  const visitorIds = db.select({ id: conversations.visitorId }).from(conversations).where(inArray(conversations.id, ids));
  const latest = sql`(SELECT max(other.id) FROM ${handoffs} other WHERE other.workspace_id = ${workspaceId} AND other.conversation_id = ${handoffs.conversationId})`;
  return [
    db
      .select()
      .from(conversations)
      .where(where)
      .orderBy(...order)
      .limit(limit + 1)
      .offset(offset),
    db
      .select()
      .from(visitors)
      // The plus keeps the planner from reading all visitors: it cannot know that there are fewer identifiers.
      .where(and(sql`+${visitors.workspaceId} = ${workspaceId}`, inArray(visitors.id, visitorIds))),
    db
      .select()
      .from(handoffs)
      .where(and(eq(handoffs.workspaceId, workspaceId), inArray(handoffs.conversationId, ids), eq(handoffs.id, latest))),
    filter.sinceMs === undefined ? sumCounts(db, workspaceId, filter) : countSince(db, workspaceId, filter, filter.sinceMs),
  ] as const;
}

/** From the kept counts: their number is that of the kinds, not of the conversations. */
function sumCounts(db: Database, workspaceId: string, filter: ConversationFilter) {
  return db
    .select({ total: sql<number>`coalesce(sum(${conversationCounts.count}), 0)`.as("total") })
    .from(conversationCounts)
    .where(and(eq(conversationCounts.workspaceId, workspaceId), isKind(conversationCounts, filter)));
}

/** With a time, the rest of its day is a range of the index; the days after it have kept counts, and so has each 32 of them. */
function countSince(db: Database, workspaceId: string, filter: ConversationFilter, sinceMs: number) {
  const { days, day, count } = conversationSpans;
  const nextDay = Math.ceil(sinceMs / DAY_MS);
  const nextSpan = Math.ceil(nextDay / LONG_SPAN_DAYS) * LONG_SPAN_DAYS;
  const isSpan = (length: number, range: SQL | undefined) =>
    and(eq(conversationSpans.workspaceId, workspaceId), eq(days, length), range, isKind(conversationSpans, filter));
  const isOfDay = and(...conditions(workspaceId, filter), lt(conversations.updatedAt, nextDay * DAY_MS));
  const ofDay = sql`(SELECT count(*) FROM ${conversations} WHERE ${isOfDay})`;
  const single = isSpan(1, and(gte(day, nextDay), lt(day, nextSpan)));
  const ofSingleDays = sql`(SELECT coalesce(sum(count), 0) FROM ${conversationSpans} WHERE ${single})`;
  return db
    .select({ total: sql<number>`coalesce(sum(${count}), 0) + ${ofSingleDays} + ${ofDay}`.as("total") })
    .from(conversationSpans)
    .where(isSpan(LONG_SPAN_DAYS, gte(day, nextSpan)));
}

function isKind(
  table: typeof conversations | typeof conversationCounts | typeof conversationSpans,
  filter: ConversationFilter,
): SQL | undefined {
  const { agentId, status, channel } = filter;
  return and(
    agentId === undefined ? undefined : eq(table.agentId, agentId),
    status === undefined ? undefined : eq(table.status, status),
    channel === undefined ? undefined : eq(table.channel, channel),
  );
}

function conditions(workspaceId: string, filter: ConversationFilter): (SQL | undefined)[] {
  const { sinceMs } = filter;
  return [
    eq(conversations.workspaceId, workspaceId),
    isKind(conversations, filter),
    sinceMs === undefined ? undefined : gte(conversations.updatedAt, sinceMs),
  ];
}
