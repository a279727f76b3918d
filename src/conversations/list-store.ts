import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import { type Channel, CONVERSATION_STATUSES, type ConversationStatus } from "../platform/db/columns.ts";
import type { Database } from "../platform/db/client.ts";
import { conversationCounts, conversations, conversationSpans, handoffs, visitors } from "../platform/db/schema.ts";
import { DAY_MS } from "../platform/time.ts";

/** What a list of conversations may be narrowed to. */
export interface ConversationFilter {
  agentId?: string | undefined;
  status?: ConversationStatus | undefined;
  channel?: Channel | undefined;
  /** Only those with activity at or after it. */
  sinceMs?: number | undefined;
}

/** Beside single days, this many together are counted: a year is a dozen of these and at most 31 days. */
const LONG_SPAN_DAYS = 32;

/** From here on a page is found by the counts of days: about as many rows are read to find the day. */
const DEEP_OFFSET = 2_000;

interface Page {
  limit: number;
  offset: number;
  cursor?: { atMs: number; id: string } | undefined;
}

/** One page of conversations by last activity, newest first, with their visitors and latest hand-offs. */
export function pageConversations(db: Database, workspaceId: string, filter: ConversationFilter, page: Page) {
  const ids = pageIds(workspaceId, filter, page);
  const visitorIds = sql`(SELECT visitor_id FROM ${conversations} WHERE ${conversations.id} IN ${ids})`;
  const latest = sql`(SELECT max(other.id) FROM ${handoffs} other WHERE other.workspace_id = ${workspaceId} AND other.conversation_id = ${handoffs.conversationId})`;
  return [
    db
      .select()
      .from(conversations)
      .where(inArray(conversations.id, pageIds(workspaceId, filter, { ...page, limit: page.limit + 1 })))
      .orderBy(desc(conversations.updatedAt), desc(conversations.id)),
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

/** The identifiers of a page, from indexes alone. Each status has a range in the list's order; without one, all five are merged. */
function pageIds(workspaceId: string, filter: ConversationFilter, { limit, offset, cursor }: Page): SQL {
  const isDeep = offset >= DEEP_OFFSET && !cursor;
  const after = cursor && sql`(${conversations.updatedAt}, ${conversations.id}) < (${cursor.atMs}, ${cursor.id})`;
  const below = isDeep ? sql`${conversations.updatedAt} < (SELECT (day + 1) * ${DAY_MS} FROM landing)` : undefined;
  const statuses = filter.status === undefined ? CONVERSATION_STATUSES : [filter.status];
  const ranges = statuses.map((status) => {
    const where = and(...conditions(workspaceId, { ...filter, status }), after, below);
    return sql`SELECT id, updated_at FROM ${conversations} WHERE ${where}`;
  });
  const landing = isDeep ? sql`WITH landing AS MATERIALIZED (${landingDay(workspaceId, filter, offset)}) ` : sql``;
  const skipped = isDeep ? sql`${offset} - coalesce((SELECT passed FROM landing), 0)` : sql`${offset}`;
  const merged = sql`${sql.join(ranges, sql` UNION ALL `)} ORDER BY updated_at DESC, id DESC LIMIT ${limit} OFFSET ${skipped}`;
  return sql`(${landing}SELECT id FROM (${merged}))`;
}

/** The day of last activity that an offset falls on, and how many conversations of later days it passes: from the kept counts. */
function landingDay(workspaceId: string, filter: ConversationFilter, offset: number): SQL {
  const land = (length: number, passed: SQL, within: SQL | undefined) => {
    const where = and(
      eq(conversationSpans.workspaceId, workspaceId),
      eq(conversationSpans.days, length),
      within,
      isKind(conversationSpans, filter),
    );
    const spans = sql`SELECT day, sum(count) AS held, sum(sum(count)) OVER (ORDER BY day DESC) AS until FROM ${conversationSpans} WHERE ${where} GROUP BY day`;
    return sql`SELECT day, ${passed} + until - held AS passed FROM (${spans}) WHERE ${passed} + until > ${offset} ORDER BY day DESC LIMIT 1`;
  };
  const start = sql`(SELECT day FROM span)`;
  const within = sql`${conversationSpans.day} BETWEEN ${start} AND ${start} + ${LONG_SPAN_DAYS - 1}`;
  return sql`WITH span AS MATERIALIZED (${land(LONG_SPAN_DAYS, sql`0`, undefined)}) ${land(1, sql`(SELECT passed FROM span)`, within)}`;
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
  // All of them, so that a range of each is read.
  const isAnyStatus = filter.status === undefined ? inArray(conversations.status, [...CONVERSATION_STATUSES]) : undefined;
  const isOfDay = and(...conditions(workspaceId, filter), isAnyStatus, lt(conversations.updatedAt, nextDay * DAY_MS));
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
