import { and, desc, eq, gte, inArray, lt, ne, sql } from "drizzle-orm";
import { agentExists } from "../agents/store.ts";
import type { Database } from "../platform/db/client.ts";
import { UNANSWERED_REASONS } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { agents, answerDrafts, answers, handoffs, messages } from "../platform/db/schema.ts";
import { exists, findOwn, insertWhere, isAmong, isOfAgent, isOfConversation, isOwn, jsonIds } from "../platform/db/sql.ts";

/** The most characters of the question of a curated answer. */
const MAX_QUESTION_CHARS = 2_000;

/**
 * Drafts a curated answer from a human's reply, if the reply is stored and the conversation waits for a human because the agent could
 * not answer. A longer reply replaces an earlier one such as "I'll look it up", until the visitor writes again.
 */
export function createDraft(db: Database, workspaceId: string, conversationId: string, messageId: string) {
  const row = {
    id: sql`h.id`,
    workspaceId,
    agentId: sql`h.agent_id`,
    conversationId,
    messageId,
    question: sql`substr(q.content, 1, ${MAX_QUESTION_CHARS})`,
    answer: sql`r.content`,
    status: "pending" as const,
    createdAt: sql`r.created_at`,
    updatedAt: sql`r.created_at`,
  };
  const from = sql`${handoffs} h CROSS JOIN ${messages} q ON q.id = h.trigger_message_id AND q.workspace_id = h.workspace_id
    CROSS JOIN ${messages} r ON r.id = ${messageId} AND r.workspace_id = h.workspace_id`;
  const isUnanswered = sql`h.workspace_id = ${workspaceId} AND h.conversation_id = ${conversationId} AND h.status <> 'resolved'
    AND h.reason IN ${jsonIds(UNANSWERED_REASONS)}`;
  const hasVisitorWritten = sql`EXISTS (SELECT 1 FROM ${messages} m WHERE m.workspace_id = ${workspaceId}
    AND m.conversation_id = ${conversationId} AND m.role = 'user' AND m.created_at > ${answerDrafts.updatedAt})`;
  return insertWhere(db, answerDrafts, row, isUnanswered, from).onConflictDoUpdate({
    target: answerDrafts.id,
    set: { answer: sql`excluded.answer`, messageId: sql`excluded.message_id`, updatedAt: sql`excluded.updated_at` },
    setWhere: sql`${answerDrafts.status} = 'pending' AND length(excluded.answer) > length(${answerDrafts.answer}) AND NOT ${hasVisitorWritten}`,
  });
}

/** A human's reply in a conversation. */
export interface ReplyKey {
  workspaceId: string;
  conversationId: string;
  messageId: string;
}

/** The most messages of a visitor that a reply is compared with. */
const MAX_COMPARED_QUESTIONS = 20;

/**
 * Lists the visitor's messages that a drafted reply may answer, the latest first: the question of the hand-off, and what the visitor
 * has written since. The list is empty if the reply has no draft.
 */
export function listQuestionsBefore(db: Database, reply: ReplyKey) {
  return db
    .select({ content: messages.content, language: agents.language })
    .from(messages)
    .innerJoin(answerDrafts, isOfReply(reply))
    .innerJoin(handoffs, eq(handoffs.id, answerDrafts.id))
    .innerJoin(agents, eq(agents.id, answerDrafts.agentId))
    .where(
      and(
        isOfConversation(messages, reply),
        eq(messages.role, "user"),
        gte(messages.id, handoffs.triggerMessageId),
        lt(messages.id, reply.messageId),
      ),
    )
    .orderBy(desc(messages.createdAt), desc(messages.id))
    .limit(MAX_COMPARED_QUESTIONS);
}

/** Sets the question of the draft of a reply, if the draft is still open. */
export function setDraftQuestion(db: Database, reply: ReplyKey, question: string) {
  return db
    .update(answerDrafts)
    .set({ question: sql`substr(${question}, 1, ${MAX_QUESTION_CHARS})` })
    .where(and(isOfReply(reply), eq(answerDrafts.status, "pending")));
}

/** Lists all drafts of an agent in any status, oldest first. */
export const listDrafts = compiled((db, workspaceId: string, agentId: string) =>
  db.select().from(answerDrafts).where(isOfAgent(answerDrafts, { workspaceId, agentId })).orderBy(answerDrafts.id),
);

/** Lists the drafts from these conversations in any status. */
export function listDraftsOf(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  const wanted = inArray(answerDrafts.conversationId, jsonIds(conversationIds));
  return db
    .select()
    .from(answerDrafts)
    .where(and(eq(answerDrafts.workspaceId, workspaceId), wanted));
}

/** Inserts a curated answer, unless the draft is accepted already or the agent has `maxAnswers`. */
export function createAcceptedAnswer(db: Database, answer: typeof answers.$inferInsert, draftId: string, maxAnswers: number) {
  const { workspaceId, agentId } = answer;
  const isUnaccepted = exists(answerDrafts, isOwn(answerDrafts, workspaceId, draftId), ne(answerDrafts.status, "accepted"));
  const hasRoom = agentExists(workspaceId, agentId, lt(agents.answersCount, maxAnswers));
  return insertWhere(db, answers, answer, sql`${isUnaccepted} AND ${hasRoom}`).onConflictDoNothing();
}

/** Marks drafts as accepted, if the curated answer is stored. */
export function acceptDrafts(db: Database, workspaceId: string, draftIds: readonly string[], answerId: string, nowMs: number) {
  const isStored = exists(answers, eq(answers.id, answerId));
  return db
    .update(answerDrafts)
    .set({ status: "accepted", answerId, updatedAt: nowMs })
    .where(and(isAmong(answerDrafts, workspaceId, draftIds), ne(answerDrafts.status, "accepted"), isStored));
}

/** Marks pending drafts as dismissed. */
export function dismissDrafts(db: Database, workspaceId: string, draftIds: readonly string[], nowMs: number) {
  return db
    .update(answerDrafts)
    .set({ status: "dismissed", updatedAt: nowMs })
    .where(and(isAmong(answerDrafts, workspaceId, draftIds), eq(answerDrafts.status, "pending")));
}

/** Finds the curated answer that was made of a draft. */
export function findAnswerOfDraft(db: Database, workspaceId: string, draftId: string) {
  const answerId = sql`(SELECT answer_id FROM ${answerDrafts} WHERE id = ${draftId} AND workspace_id = ${workspaceId})`;
  return findOwn(db, answers, workspaceId, answerId);
}

function isOfReply(reply: ReplyKey) {
  return and(isOfConversation(answerDrafts, reply), eq(answerDrafts.messageId, reply.messageId));
}
