import { and, desc, eq, gte, sql } from "drizzle-orm";
import { compiled } from "../platform/db/compiled.ts";
import { answers, conversations, handoffs, messageFeedback, messages, unansweredQuestions } from "../platform/db/schema.ts";
import { DAY_MS } from "../platform/time.ts";
import type { DayRange } from "./definitions.ts";
import { askedIn, candidateQuestions } from "./store.ts";

/** How many of the latest ratings, and of the latest curated answers, are read. */
const MAX_READ = 200;
/** How many conversations are read for each unanswered question. */
const MAX_EXAMPLES = 3;
/** Only the beginning of a longer question is read. */
const MAX_QUESTION_CHARS = 500;

/** One time that a question was asked, as the statement returns it in JSON. */
export interface StoredExample {
  conversation_id: string;
  message_id: string | null;
  at: number;
}

/** Lists the unanswered questions of a range, with the first time that each was asked in it and its latest conversations. */
export const listGapQuestions = compiled((db, workspaceId: string, agentId: string, range: DayRange) => {
  const table = unansweredQuestions;
  const asked = sql`FROM ${handoffs} h WHERE h.workspace_id = ${workspaceId} AND h.agent_id = ${agentId}
    AND h.question_key = ${table.questionKey} AND h.question_key IS NOT NULL AND h.requested_at >= ${range.fromDay} * ${DAY_MS}`;
  const latest = sql`SELECT json_object('conversation_id', h.conversation_id, 'message_id', h.trigger_message_id, 'at', h.requested_at) AS example
    ${asked} ORDER BY h.requested_at DESC LIMIT ${MAX_EXAMPLES}`;
  return db
    .select({
      question: sql<string>`substr(${table.question}, 1, ${MAX_QUESTION_CHARS})`,
      count: sql<number>`${askedIn(workspaceId, agentId, range)}`.as("count"),
      firstAt: sql<number | null>`(SELECT min(h.requested_at) ${asked})`,
      lastAt: table.lastAskedAt,
      examples: sql<string>`(SELECT json_group_array(json(example)) FROM (${latest}))`,
    })
    .from(table)
    .where(candidateQuestions(workspaceId, agentId));
});

/** Lists the latest answers to visitors of a range that were rated down, with their questions. The question of a hand-off message is null. */
export const listRatedDown = compiled((db, workspaceId: string, agentId: string, { fromDay }: DayRange) => {
  const rated = messageFeedback;
  const question = sql<string | null>`(SELECT substr(q.content, 1, ${MAX_QUESTION_CHARS}) FROM ${messages} a
    JOIN ${messages} q ON q.workspace_id = a.workspace_id AND q.conversation_id = a.conversation_id AND q.created_at <= a.created_at
    WHERE a.id = ${rated.messageId} AND NOT a.needs_human AND q.role = 'user' ORDER BY q.created_at DESC, q.id DESC LIMIT 1)`;
  return db
    .select({
      question: question.as("question"),
      conversationId: rated.conversationId,
      messageId: rated.messageId,
      comment: rated.comment,
      at: rated.createdAt,
    })
    .from(rated)
    .where(
      and(
        eq(rated.workspaceId, workspaceId),
        eq(rated.agentId, agentId),
        eq(rated.rating, "down"),
        gte(rated.createdAt, sql`${fromDay} * ${DAY_MS}`),
        sql`(SELECT channel FROM ${conversations} WHERE id = ${rated.conversationId}) <> 'playground'`,
      ),
    )
    .orderBy(desc(rated.createdAt), desc(rated.id))
    .limit(MAX_READ);
});

/** Lists the questions of an agent's latest curated answers, with the time of their last change. */
export const listCuratedQuestions = compiled((db, workspaceId: string, agentId: string) =>
  db
    .select({ question: answers.question, updatedAt: answers.updatedAt })
    .from(answers)
    .where(and(eq(answers.workspaceId, workspaceId), eq(answers.agentId, agentId)))
    .orderBy(desc(answers.id))
    .limit(MAX_READ),
);

export type GapQuestion = Awaited<ReturnType<typeof listGapQuestions>>[number];
export type RatedDown = Awaited<ReturnType<typeof listRatedDown>>[number];
export type CuratedQuestion = Awaited<ReturnType<typeof listCuratedQuestions>>[number];
