import { and, asc, desc, eq, gt, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import { type Channel, CONVERSATION_STATUSES, type ConversationStatus, type MessageRole, type Priority } from "../platform/db/columns.ts";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { isAmong, type Page } from "../platform/db/sql.ts";
import {
  conversationCounts,
  conversations,
  conversationSpans,
  IS_UNASSIGNED,
  IS_UNUSUAL_PRIORITY,
  messages,
} from "../platform/db/schema.ts";
import { DAY_MS } from "../platform/time.ts";
import { c, CONVERSATION_RECORD } from "./payloads.ts";
import { HUMAN_STATUSES } from "./status.ts";
import { PREVIEW_LENGTH } from "./store.ts";

/** The filters of a list of conversations. */
export interface ConversationFilter {
  agentId?: string | undefined;
  status?: ConversationStatus | undefined;
  channel?: Channel | undefined;
  /** Only conversations with activity at or after this time. */
  sinceMs?: number | undefined;
  assigneeId?: string | undefined;
  /** Only conversations that wait for the team or that it handles. */
  isWithTeam?: boolean | undefined;
  /** Only conversations that the team has and that are assigned to nobody. */
  isUnassigned?: boolean | undefined;
  teamId?: string | undefined;
  priority?: Priority | undefined;
  /** Only conversations with another priority than `normal`. */
  isUnusual?: boolean;
  /** Only conversations with messages that the team has not read. */
  isUnread?: boolean | undefined;
  visitorId?: string | undefined;
  /** Only conversations that are snoozed at this time, or only others. */
  snooze?: { isSnoozed: boolean; nowMs: number } | undefined;
}

/** Triggers count conversations by the day of their last activity, and by spans of this many days, of which a year has eleven. */
const SPAN_DAYS = 32;

/**
 * From this offset on, the daily counters are used to find where the page begins. A plain OFFSET reads every row before the page, which
 * takes 270 ms at an offset of 500,000 instead of 14.
 */
const DEEP_OFFSET = 2_000;

/** A page of the list, which begins with the newest activity unless it is `isOldestFirst`. */
export interface OrderedPage extends Page {
  isOldestFirst?: boolean | undefined;
}

interface ReadPage extends OrderedPage {
  isDeep: boolean;
}

/** The first day and the first span that lie entirely after the time of a filter. */
interface Since {
  nextDay: number;
  nextSpan: number;
}

/** Reads one page of conversations by last activity, plus one row if there is another page; then the total. */
export function pageConversations(db: Database, workspaceId: string, query: ConversationFilter & OrderedPage) {
  const { limit, offset, cursor, isOldestFirst, ...given } = query;
  // A compiled statement cannot look at the priority.
  const filter = { ...given, isUnusual: given.priority !== undefined && given.priority !== "normal" };
  const isDeep = offset >= DEEP_OFFSET && !cursor && !isOldestFirst && !isSelective(filter) && !filter.snooze && !filter.priority;
  const nextDay = Math.ceil((filter.sinceMs ?? 0) / DAY_MS);
  const since = { nextDay, nextSpan: Math.ceil(nextDay / SPAN_DAYS) * SPAN_DAYS };
  return selectPage(db, workspaceId, filter, { limit, offset, cursor, isOldestFirst, isDeep }, since);
}

const selectPage = compiled((db, workspaceId: string, filter: ConversationFilter, page: ReadPage, since: Since) => {
  return [selectListed(db, pageIds(workspaceId, filter, page), page.isOldestFirst), countAll(db, workspaceId, filter, since)] as const;
});

/** Lists these conversations by last activity, newest first. */
export const listConversations = compiled((db, workspaceId: string, conversationIds: readonly string[]) =>
  selectListed(db, sql`(SELECT id FROM ${conversations} WHERE ${isAmong(conversations, workspaceId, conversationIds)})`),
);

/** Selects the records of these conversations, with the role of the latest message and the question that waits for the team. */
function selectListed(db: Database, ids: SQL, isOldestFirst = false) {
  const inOrder = isOldestFirst ? asc : desc;
  const lastMessageRole = sql<MessageRole | null>`(SELECT m.role FROM ${messages} m WHERE m.id = c.latest_message_id)`;
  const questionPreview = sql<string | null>`CASE WHEN c.status = 'needs_human' THEN (
    SELECT substr(m.content, 1, ${PREVIEW_LENGTH}) FROM ${messages} m
    WHERE m.workspace_id = c.workspace_id AND m.conversation_id = c.id AND m.role = 'user'
    ORDER BY m.created_at DESC, m.id DESC LIMIT 1) END`;
  return db
    .select({
      record: CONVERSATION_RECORD,
      lastMessageRole: lastMessageRole.as("last_message_role"),
      questionPreview: questionPreview.as("question_preview"),
    })
    .from(c)
    .where(inArray(c.id, ids))
    .orderBy(inOrder(c.updatedAt), inOrder(c.id));
}

/** SQL: the ids of a page. It reads only indexes: each status is an index range in the order of the list, and the ranges are merged. */
function pageIds(workspaceId: string, filter: ConversationFilter, { limit, offset, cursor, isDeep, isOldestFirst }: ReadPage): SQL {
  const isAfter = isOldestFirst ? sql`>` : sql`<`;
  const after = cursor && sql`(${conversations.updatedAt}, ${conversations.id}) ${isAfter} (${cursor.atMs}, ${cursor.id})`;
  const direction = isOldestFirst ? sql`ASC` : sql`DESC`;
  const below = isDeep ? sql`${conversations.updatedAt} < (SELECT (day + 1) * ${DAY_MS} FROM start)` : undefined;
  const ranges = rangesOf(workspaceId, filter, and(after, below));
  const withStart = isDeep ? sql`WITH start AS MATERIALIZED (${startOfPage(workspaceId, filter, offset)}) ` : sql``;
  const skipped = isDeep ? sql`${offset} - coalesce((SELECT skipped FROM start), 0)` : sql`${offset}`;
  const merged = sql`${sql.join(ranges, sql` UNION ALL `)} ORDER BY updated_at ${direction}, id ${direction} LIMIT ${limit} + 1 OFFSET ${skipped}`;
  return sql`(${withStart}SELECT id FROM (${merged}))`;
}

/** SQL: the matching conversations, as one index range for each status. */
function rangesOf(workspaceId: string, filter: ConversationFilter, further?: SQL): SQL[] {
  return statusesOf(filter).map((status) => {
    const where = and(...conditions(workspaceId, { ...filter, status }), further);
    return sql`SELECT id, updated_at FROM ${conversations} ${indexHint(filter)} WHERE ${where}`;
  });
}

/**
 * Whether the filter selects assigned, unassigned, unread or snoozed conversations, or those of a visitor, a team or an unusual priority. They have
 * their own indexes, and are few enough to be counted.
 */
function isSelective(filter: ConversationFilter): boolean {
  const { assigneeId, teamId, visitorId } = filter;
  const isOfOne = [assigneeId, teamId, visitorId].some((id) => id !== undefined);
  return (
    isOfOne || filter.isUnread === true || filter.isUnassigned === true || filter.isUnusual === true || filter.snooze?.isSnoozed === true
  );
}

/** Names the index of the filter. Otherwise the planner would choose a less selective one, and read far more conversations. */
function indexHint(filter: ConversationFilter): SQL {
  const { assigneeId, isUnassigned, isUnread, teamId, visitorId, snooze } = filter;
  if (visitorId !== undefined) return sql`INDEXED BY conversations_visitor`;
  if (isUnread) return sql`INDEXED BY conversations_unread`;
  if (assigneeId !== undefined) return sql`INDEXED BY conversations_assigned`;
  if (isUnassigned) return sql`INDEXED BY conversations_unassigned`;
  if (teamId !== undefined) return sql`INDEXED BY conversations_team`;
  if (filter.isUnusual) return sql`INDEXED BY conversations_priority`;
  return snooze?.isSnoozed ? sql`INDEXED BY conversations_snoozed` : sql``;
}

function countAll(db: Database, workspaceId: string, filter: ConversationFilter, since: Since): Counted {
  if (isSelective(filter)) return countSelected(db, workspaceId, filter);
  const { snooze, priority, isUnusual: _, ...rest } = filter;
  // The counters know neither snoozes nor priorities. Conversations that are snoozed or not of the priority normal are few enough to be counted.
  if (snooze) {
    const others = { ...rest, priority };
    return countOthers(db, countAll(db, workspaceId, others, since), workspaceId, { ...others, snooze: { ...snooze, isSnoozed: true } });
  }
  if (priority) return countOthers(db, countAll(db, workspaceId, rest, since), workspaceId, { ...rest, isUnusual: true });
  return filter.sinceMs === undefined ? sumCounts(db, workspaceId, filter) : countSince(db, workspaceId, filter, since);
}

type Counted = ReturnType<typeof countSelected> | ReturnType<typeof sumCounts> | ReturnType<typeof countSince>;

/** Counts all conversations but the selected ones. */
function countOthers(db: Database, all: Counted, workspaceId: string, selected: ConversationFilter) {
  const ranges = sql.join(rangesOf(workspaceId, selected), sql` UNION ALL `);
  return db.select({ total: sql<number>`(${all.getSQL()}) - count(*)`.as("total") }).from(sql`(${ranges})`);
}

function countSelected(db: Database, workspaceId: string, filter: ConversationFilter) {
  const ranges = sql.join(rangesOf(workspaceId, filter), sql` UNION ALL `);
  return db.select({ total: sql<number>`count(*)`.as("total") }).from(sql`(${ranges})`);
}

/** SQL: computes from the counters on which day of last activity a page starts, and how many conversations of later days precede it. */
function startOfPage(workspaceId: string, filter: ConversationFilter, offset: number): SQL {
  const own = sumOf(conversationSpans, filter);
  const find = (days: number, skipped: SQL, within: SQL | undefined) => {
    const where = and(
      eq(conversationSpans.workspaceId, workspaceId),
      eq(conversationSpans.days, days),
      within,
      hasKey(conversationSpans, filter),
    );
    const spans = sql`SELECT day, ${own} AS own, sum(${own}) OVER (ORDER BY day DESC) AS running FROM ${conversationSpans} WHERE ${where} GROUP BY day`;
    return sql`SELECT day, ${skipped} + running - own AS skipped FROM (${spans}) WHERE ${skipped} + running > ${offset} ORDER BY day DESC LIMIT 1`;
  };
  const spanDay = sql`(SELECT day FROM span)`;
  const within = sql`${conversationSpans.day} BETWEEN ${spanDay} AND ${spanDay} + ${SPAN_DAYS - 1}`;
  return sql`WITH span AS MATERIALIZED (${find(SPAN_DAYS, sql`0`, undefined)}) ${find(1, sql`(SELECT skipped FROM span)`, within)}`;
}

/** Sums the counters that triggers maintain, one row for each agent and channel. */
function sumCounts(db: Database, workspaceId: string, filter: ConversationFilter) {
  return db
    .select({ total: sql<number>`coalesce(${sumOf(conversationCounts, filter)}, 0)`.as("total") })
    .from(conversationCounts)
    .where(and(eq(conversationCounts.workspaceId, workspaceId), hasKey(conversationCounts, filter)));
}

type Counters = typeof conversationCounts | typeof conversationSpans;

/** Lists the statuses that the filter selects. */
function statusesOf({ status, isWithTeam, isUnassigned }: ConversationFilter): readonly ConversationStatus[] {
  if (status !== undefined) return [status];
  return isWithTeam || isUnassigned ? HUMAN_STATUSES : CONVERSATION_STATUSES;
}

/** SQL: the sum of the counters for the statuses of the filter. */
function sumOf(counters: Counters, filter: ConversationFilter): SQL {
  const { status } = filter;
  if (status === undefined)
    return sql`sum(${sql.join(
      statusesOf(filter).map((name) => counters[name]),
      sql` + `,
    )})`;
  const cases = CONVERSATION_STATUSES.map((name) => sql`WHEN ${counters[name].name} THEN ${counters[name]}`);
  return sql`sum(CASE ${status} ${sql.join(cases, sql` `)} END)`;
}

/** Counts the rows of the first day, and sums the counters of the days and spans after it. */
function countSince(db: Database, workspaceId: string, filter: ConversationFilter, { nextDay, nextSpan }: Since) {
  const { days, day } = conversationSpans;
  const isSpan = (length: number, range: SQL | undefined) =>
    and(eq(conversationSpans.workspaceId, workspaceId), eq(days, length), range, hasKey(conversationSpans, filter));
  // Without a filter for one status all are named, so that the planner reads an index range of each.
  const isAmongStatuses = filter.status === undefined ? inArray(conversations.status, [...statusesOf(filter)]) : undefined;
  const isOfDay = and(...conditions(workspaceId, filter), isAmongStatuses, lt(conversations.updatedAt, sql`${nextDay} * ${DAY_MS}`));
  const ofDay = sql`(SELECT count(*) FROM ${conversations} WHERE ${isOfDay})`;
  const single = isSpan(1, and(gte(day, nextDay), lt(day, nextSpan)));
  const sum = sumOf(conversationSpans, filter);
  const ofSingleDays = sql`(SELECT coalesce(${sum}, 0) FROM ${conversationSpans} WHERE ${single})`;
  return db
    .select({ total: sql<number>`coalesce(${sum}, 0) + ${ofSingleDays} + ${ofDay}`.as("total") })
    .from(conversationSpans)
    .where(isSpan(SPAN_DAYS, gte(day, nextSpan)));
}

function hasKey(table: typeof conversations | Counters, { agentId, channel }: ConversationFilter): SQL | undefined {
  return and(
    agentId === undefined ? undefined : eq(table.agentId, agentId),
    channel === undefined ? undefined : eq(table.channel, channel),
  );
}

function conditions(workspaceId: string, filter: ConversationFilter): (SQL | undefined)[] {
  const { sinceMs, status, assigneeId, isUnassigned, isUnread, priority, teamId, visitorId, snooze } = filter;
  return [
    eq(conversations.workspaceId, workspaceId),
    hasKey(conversations, filter),
    status === undefined ? undefined : eq(conversations.status, status),
    assigneeId === undefined ? undefined : eq(conversations.assigneeId, assigneeId),
    // The conditions of indexes are not bound, because SQLite would then not use a partial index.
    isUnassigned ? IS_UNASSIGNED : undefined,
    teamId === undefined ? undefined : eq(conversations.teamId, teamId),
    filter.isUnusual ? IS_UNUSUAL_PRIORITY : undefined,
    priority === undefined ? undefined : sql`${conversations.priority} = ${priority}`,
    visitorId === undefined ? undefined : eq(conversations.visitorId, visitorId),
    snooze && isSnoozed(snooze),
    isUnread ? sql`${conversations.unreadCount} > 0` : undefined,
    sinceMs === undefined ? undefined : gte(conversations.updatedAt, sinceMs),
  ];
}

/** SQL condition: the conversation is snoozed at a time, or is not. */
function isSnoozed({ isSnoozed: wanted, nowMs }: NonNullable<ConversationFilter["snooze"]>): SQL {
  const { snoozedUntil } = conversations;
  return wanted ? gt(snoozedUntil, nowMs) : sql`coalesce(${snoozedUntil}, 0) <= ${nowMs}`;
}
