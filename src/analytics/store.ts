import { and, asc, between, desc, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { analyticsDays, conversationCounts, unansweredQuestionDays, unansweredQuestions } from "../platform/db/schema.ts";
import type { DayRange } from "./definitions.ts";

/** The rollup rows of the whole workspace have this agent id. */
export const ALL_AGENTS = "";

/** How many of the most frequent and of the latest questions are ranked. This bounds the rows read. */
const CANDIDATES = 100;
/** How many questions the overview shows. */
const TOP_QUESTIONS = 10;

/** The days of a range that have rollups, oldest first. */
export function listDays(db: Database, workspaceId: string, agentId: string, range: DayRange) {
  const { day, conversations, messages, aiReplies, humanReplies, leads, handoffs } = analyticsDays;
  const { handoffReasons, channels } = analyticsDays;
  const shown = { day, conversations, messages, aiReplies, humanReplies, leads, handoffs };
  return db
    .select({ ...shown, handoffReasons, channels })
    .from(analyticsDays)
    .where(isIn(workspaceId, agentId, range))
    .orderBy(asc(analyticsDays.day));
}

export type Day = Awaited<ReturnType<typeof listDays>>[number];

/**
 * The sums over the days of a range; resolutions until `durableDay` have matured.
 * @param withTimes whether to join the histograms too, as `medianSeconds` reads them.
 */
export function sumDays(
  db: Database,
  workspaceId: string,
  agentId: string,
  range: DayRange,
  { durableDay, withTimes }: { durableDay: number; withTimes: boolean },
) {
  const days = analyticsDays;
  const joined = (column: SQLiteColumn) =>
    sql<string | null>`${withTimes ? sql`group_concat(nullif(replace(trim(${column}, '{}'), '"', ''), ''))` : sql`NULL`}`;
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
      // AI resolutions that are old enough to be durable, and those of them that were reopened within the time.
      maturedResolutions: matured(days.aiResolutions),
      maturedReopened: matured(days.aiResolutionsUndone),
      firstResponses: joined(days.firstResponses).as("first_responses"),
      resolutions: joined(days.resolutions).as("resolutions"),
    })
    .from(days)
    .where(isIn(workspaceId, agentId, range));
}

export type Sums = Awaited<ReturnType<typeof sumDays>>[number];

/** How many conversations have each status now. */
export function sumStatuses(db: Database, workspaceId: string, agentId: string) {
  const { open, ai_handled, needs_human, human_active, resolved } = conversationCounts;
  const ofAgent = agentId === ALL_AGENTS ? undefined : eq(conversationCounts.agentId, agentId);
  return db
    .select({
      open: sumOf(open),
      ai_handled: sumOf(ai_handled),
      needs_human: sumOf(needs_human),
      human_active: sumOf(human_active),
      resolved: sumOf(resolved),
    })
    .from(conversationCounts)
    .where(and(eq(conversationCounts.workspaceId, workspaceId), ofAgent));
}

/**
 * The unanswered questions of a range, most frequent first, among the hundred most frequent of the last year and the hundred
 * latest. A question is missed only if a hundred were asked more often and a hundred others later.
 */
export function listUnansweredQuestions(db: Database, workspaceId: string, agentId: string, range: DayRange) {
  const table = unansweredQuestions;
  return db
    .select({ question: table.question, count: askedIn(workspaceId, agentId, range).as("count") })
    .from(table)
    .where(candidateQuestions(workspaceId, agentId))
    .orderBy(sql`count DESC`, desc(table.lastAskedAt), table.questionKey)
    .limit(TOP_QUESTIONS);
}

/** SQL condition on `unanswered_questions`: it is one of the most frequent, or of the latest. */
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

function isIn(workspaceId: string, agentId: string, { fromDay, toDay }: DayRange): SQL | undefined {
  return and(eq(analyticsDays.workspaceId, workspaceId), eq(analyticsDays.agentId, agentId), between(analyticsDays.day, fromDay, toDay));
}

function sumOf(column: SQLiteColumn | SQL): SQL<number> {
  return sql<number>`coalesce(sum(${column}), 0)`;
}
