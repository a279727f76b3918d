import { and, asc, between, desc, eq, gte, ne, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { CONVERSATION_STATUSES, type ConversationStatus } from "../platform/db/columns.ts";
import { analyticsDays, analyticsSpans, conversationCounts, unansweredQuestionDays, unansweredQuestions } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import { type DayRange, SPAN_DAYS, spansIn } from "./definitions.ts";

/** The agent id of the rollup rows that count the whole workspace. */
export const ALL_AGENTS = "";

/** How many of the most frequent, and of the latest, questions are ranked. This bounds the rows that are read. */
const CANDIDATES = 100;
/** How many questions the overview shows. */
const TOP_QUESTIONS = 10;

/** Lists the days of a range that have rollups, oldest first. */
export function listDays(db: Database, workspaceId: string, agentId: string, range: DayRange) {
  const { day, conversations, messages, aiReplies, humanReplies, leads, handoffs } = analyticsDays;
  return db
    .select({ day, conversations, messages, aiReplies, humanReplies, leads, handoffs })
    .from(analyticsDays)
    .where(isIn(analyticsDays, workspaceId, agentId, range))
    .orderBy(asc(analyticsDays.day));
}

export type Day = Awaited<ReturnType<typeof listDays>>[number];

/** Adds up the days of a range. Resolutions up to `durableDay` are old enough to count as durable or not. */
export function sumDays(db: Database, workspaceId: string, agentId: string, range: DayRange, durableDay: number) {
  const days = analyticsDays;
  const matured = (column: SQLiteColumn) => sumOf(sql`CASE WHEN ${days.day} <= ${durableDay} THEN ${column} ELSE 0 END`);
  return db
    .select({
      conversations: sumOf(days.conversations),
      messages: sumOf(days.messages),
      aiReplies: sumOf(days.aiReplies),
      humanReplies: sumOf(days.humanReplies),
      leads: sumOf(days.leads),
      handoffs: sumOf(days.handoffs),
      unanswered: sumOf(days.unanswered),
      ratedUp: sumOf(days.ratedUp),
      ratedDown: sumOf(days.ratedDown),
      withAgent: sumOf(days.withAgent),
      handedOff: sumOf(days.handedOff),
      aiResolved: sumOf(days.aiResolved),
      resolved: sumOf(days.resolved),
      reopened: sumOf(days.reopened),
      csatSum: sumOf(days.csatSum),
      csatCount: sumOf(days.csatCount),
      // AI resolutions that are old enough to be durable, and how many of them were reopened too early.
      maturedResolutions: matured(days.aiResolutions),
      maturedReopened: matured(days.aiResolutionsUndone),
    })
    .from(days)
    .where(isIn(days, workspaceId, agentId, range));
}

export type Sums = Awaited<ReturnType<typeof sumDays>>[number];

/** Lists the counters by name of the spans in `spanned`, which whole spans cover. Spans that do not exist yet are left out. */
export function listSpans(db: Database, workspaceId: string, agentId: string, spanned: DayRange) {
  return db
    .select(countersOf(analyticsSpans))
    .from(analyticsSpans)
    .where(isIn(analyticsSpans, workspaceId, agentId, spanned));
}

/** Lists the counters by name of the days of a range that no span of `listSpans` includes. */
export function listUnspannedDays(db: Database, workspaceId: string, agentId: string, range: DayRange, spanned: DayRange) {
  const { day } = analyticsDays;
  const spans = sql`SELECT day FROM ${analyticsSpans} WHERE ${isIn(analyticsSpans, workspaceId, agentId, spanned)}`;
  return db
    .select({ day, ...countersOf(analyticsDays) })
    .from(analyticsDays)
    .where(and(isIn(analyticsDays, workspaceId, agentId, range), sql`${day} - ${day} % ${SPAN_DAYS} NOT IN (${spans})`));
}

export type Counters = Awaited<ReturnType<typeof listSpans>>[number];

function countersOf({ handoffReasons, channels, firstResponses, resolutions, teamReplies }: typeof analyticsDays | typeof analyticsSpans) {
  return { handoffReasons, channels, firstResponses, resolutions, teamReplies };
}

/** Creates the missing spans of a range by adding up their days. */
export function createMissingSpans(db: Database, workspaceId: string, agentId: string, spanned: DayRange) {
  const firstDays = JSON.stringify(spansIn(spanned));
  const [first, last] = [sql`s.value`, sql`s.value + ${SPAN_DAYS} - 1`];
  const isKept = isIn(analyticsSpans, workspaceId, agentId, { fromDay: first, toDay: first });
  const isInSpan = isIn(analyticsDays, workspaceId, agentId, { fromDay: first, toDay: last });
  const added = (counters: SQLiteColumn) =>
    sql`(SELECT json_group_object(key, total) FROM (SELECT json_each.key, sum(json_each.value) AS total
      FROM ${analyticsDays} CROSS JOIN json_each(${counters}) WHERE ${isInSpan} GROUP BY json_each.key))`;
  const span = {
    workspaceId,
    agentId,
    day: first,
    handoffReasons: added(analyticsDays.handoffReasons),
    channels: added(analyticsDays.channels),
    firstResponses: added(analyticsDays.firstResponses),
    resolutions: added(analyticsDays.resolutions),
    teamReplies: added(analyticsDays.teamReplies),
  };
  const isMissing = sql`NOT EXISTS (SELECT 1 FROM ${analyticsSpans} WHERE ${isKept}) AND EXISTS (SELECT 1 FROM ${analyticsDays} WHERE ${isInSpan})`;
  return insertWhere(db, analyticsSpans, span, isMissing, sql`json_each(${firstDays}) AS s`);
}

/** Counts the conversations that have each status at present, without those in the playground. */
export function sumStatuses(db: Database, workspaceId: string, agentId: string) {
  const sums = Object.fromEntries(CONVERSATION_STATUSES.map((status) => [status, sumOf(conversationCounts[status])]));
  const ofAgent = agentId === ALL_AGENTS ? undefined : eq(conversationCounts.agentId, agentId);
  return db
    .select(sums as Record<ConversationStatus, SQL<number>>)
    .from(conversationCounts)
    .where(and(eq(conversationCounts.workspaceId, workspaceId), ofAgent, ne(conversationCounts.channel, "playground")));
}

/**
 * Lists the most frequent unanswered questions of a range, among the hundred most frequent of the last year and the hundred latest.
 * A question is left out only if a hundred others were asked more often and a hundred others were asked later.
 * @param range must end today, so that no question was asked more often in it than in the last year.
 */
export function listUnansweredQuestions(db: Database, workspaceId: string, agentId: string, range: DayRange) {
  const table = unansweredQuestions;
  const count = askedIn(workspaceId, agentId, range);
  // At least ten questions were asked this often in the range. A question that was asked less often in the last year is not in the top ten.
  const least = sql`(SELECT min(count) FROM (SELECT ${count} AS count FROM ${table}
    WHERE workspace_id = ${workspaceId} AND agent_id = ${agentId} ORDER BY asked DESC LIMIT ${TOP_QUESTIONS}))`;
  const isCounted = and(gte(table.asked, least), gte(table.lastAskedAt, sql`${range.fromDay} * ${DAY_MS}`));
  return db
    .select({ question: table.question, count: count.as("count") })
    .from(table)
    .where(and(candidateQuestions(workspaceId, agentId), isCounted))
    .orderBy(sql`count DESC`, desc(table.lastAskedAt), table.questionKey)
    .limit(TOP_QUESTIONS);
}

/** SQL condition on `unanswered_questions`: the question is among the most frequent or the latest. */
export function candidateQuestions(workspaceId: string, agentId: string): SQL {
  const first = (column: SQLiteColumn) =>
    sql`SELECT * FROM (SELECT rowid FROM ${unansweredQuestions} WHERE workspace_id = ${workspaceId} AND agent_id = ${agentId}
      ORDER BY ${column} DESC LIMIT ${CANDIDATES})`;
  return sql`rowid IN (${first(unansweredQuestions.asked)} UNION ${first(unansweredQuestions.lastAskedAt)})`;
}

/** SQL: how often a row of `unanswered_questions` was asked in a range. */
export function askedIn(workspaceId: string, agentId: string, { fromDay, toDay }: DayRange): SQL<number> {
  const askedUntil = (day: SQL) =>
    sql`coalesce((SELECT d.asked_until FROM ${unansweredQuestionDays} d WHERE d.workspace_id = ${workspaceId} AND d.agent_id = ${agentId}
      AND d.question_key = ${unansweredQuestions.questionKey} AND d.day <= ${day} ORDER BY d.day DESC LIMIT 1), 0)`;
  return sql<number>`${askedUntil(sql`${toDay}`)} - ${askedUntil(sql`${fromDay} - 1`)}`;
}

/** SQL condition: the row belongs to the agent, and its day is in the range. The day of a span is its first day. */
function isIn(
  table: typeof analyticsDays | typeof analyticsSpans,
  workspaceId: string,
  agentId: string,
  { fromDay, toDay }: Record<keyof DayRange, number | SQL>,
): SQL | undefined {
  return and(eq(table.workspaceId, workspaceId), eq(table.agentId, agentId), between(table.day, fromDay, toDay));
}

function sumOf(column: SQLiteColumn | SQL): SQL<number> {
  return sql<number>`coalesce(sum(${column}), 0)`;
}
