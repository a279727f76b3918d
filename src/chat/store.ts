import { and, desc, eq, inArray, type SQL, sql } from "drizzle-orm";
import { findAgent } from "../agents/store.ts";
import {
  AGENT_STATUSES,
  afterVisitorMessage,
  CONVERSATION_STATUSES,
  type ConversationStatus,
  HUMAN_STATUSES,
} from "../conversations/status.ts";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { agents, conversations, handoffs, messages, usagePeriods, visitors, workspaces } from "../db/schema.ts";
import type { Turn } from "./turn.ts";

/** How many of the visitor's earlier messages a follow-up is understood by. */
export const PREVIOUS_QUESTIONS = 3;

/**
 * The first batch of a turn: it reads what the answer needs and stores the question, if it may be asked. Each write
 * depends on the same condition, and running the batch again changes nothing.
 */
export function beginTurn(db: Database, turn: Turn) {
  const { workspaceId, agentId, conversationId } = turn;
  return [
    findAgent(db, workspaceId, agentId),
    findState(db, workspaceId, conversationId),
    listPreviousQuestions(db, turn),
    keepVisitor(db, turn),
    turn.isNew ? createConversation(db, turn) : reopenConversation(db, turn),
    addQuestion(db, turn),
    findStored(db, turn),
  ] as const;
}

/** What a turn must know of the conversation as it found it. */
function findState(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select({
      agentId: conversations.agentId,
      channel: conversations.channel,
      status: conversations.status,
      anonId: sql<string | null>`(SELECT anon_id FROM ${visitors} WHERE ${visitors.id} = ${conversations.visitorId})`.as("visitor_anon_id"),
    })
    .from(conversations)
    .where(and(eq(conversations.id, conversationId), eq(conversations.workspaceId, workspaceId)));
}

/** The visitor's last messages of this context, newest first. */
function listPreviousQuestions(db: Database, { workspaceId, conversationId, questionId }: Turn) {
  const contextAfter = sql`coalesce((SELECT context_after FROM ${conversations} WHERE id = ${conversationId}), '')`;
  return db
    .select({ content: messages.content })
    .from(messages)
    .where(
      and(
        eq(messages.workspaceId, workspaceId),
        eq(messages.conversationId, conversationId),
        sql`${messages.id} > ${contextAfter}`,
        sql`${messages.id} < ${questionId}`,
        eq(messages.role, "user"),
      ),
    )
    .orderBy(desc(messages.id))
    .limit(PREVIOUS_QUESTIONS);
}

function keepVisitor(db: Database, turn: Turn) {
  const { workspaceId, visitor, nowMs } = turn;
  const row = {
    id: turn.visitorId,
    workspaceId,
    anonId: visitor?.anonId ?? "",
    externalId: visitor?.externalId ?? null,
    name: visitor?.name ?? null,
    email: visitor?.email ?? null,
    emailKey: visitor?.email?.toLowerCase() ?? null,
    verified: true,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const newest = (column: string, then: SQL) => sql`coalesce(excluded.${sql.identifier(column)}, ${then})`;
  return insertWhere(db, visitors, row, visitor ? isAdmitted(turn) : sql`FALSE`).onConflictDoUpdate({
    target: [visitors.workspaceId, visitors.anonId],
    set: {
      name: newest("name", sql`${visitors.name}`),
      email: newest("email", sql`${visitors.email}`),
      emailKey: newest("email_key", sql`${visitors.emailKey}`),
      updatedAt: nowMs,
    },
  });
}

function createConversation(db: Database, turn: Turn) {
  const { workspaceId, agentId, channel, nowMs } = turn;
  const row = {
    id: turn.conversationId,
    workspaceId,
    agentId,
    channel,
    status: "open" as const,
    visitorId: visitorIdOf(turn),
    lastMessageAt: nowMs,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  return insertWhere(db, conversations, row, isAdmitted(turn)).onConflictDoNothing();
}

/** Writing to a resolved conversation opens it again, and its context starts anew. */
function reopenConversation(db: Database, turn: Turn) {
  const lastMessage = sql`(SELECT max(id) FROM ${messages} WHERE workspace_id = ${turn.workspaceId} AND conversation_id = ${turn.conversationId})`;
  const ifResolved = (then: SQL, otherwise: SQL) => sql`CASE WHEN ${conversations.status} = 'resolved' THEN ${then} ELSE ${otherwise} END`;
  return db
    .update(conversations)
    .set({
      status: sql`${caseOf(conversations.status, afterVisitorMessage)}`,
      reopenedCount: ifResolved(sql`${conversations.reopenedCount} + 1`, sql`${conversations.reopenedCount}`),
      contextAfter: ifResolved(lastMessage, sql`${conversations.contextAfter}`),
      resolvedAt: ifResolved(sql`NULL`, sql`${conversations.resolvedAt}`),
      resolvedBy: ifResolved(sql`NULL`, sql`${conversations.resolvedBy}`),
      visitorId: sql`coalesce(${conversations.visitorId}, ${visitorIdOf(turn)})`,
    })
    .where(
      and(
        eq(conversations.id, turn.conversationId),
        isAdmitted(turn),
        sql`NOT EXISTS (SELECT 1 FROM ${messages} WHERE id = ${turn.questionId})`,
      ),
    );
}

function addQuestion(db: Database, turn: Turn) {
  const { workspaceId, conversationId, visitor, nowMs } = turn;
  const status = sql`(SELECT status FROM ${conversations} WHERE id = ${conversationId})`;
  const row = {
    id: turn.questionId,
    workspaceId,
    conversationId,
    role: "user" as const,
    authorType: "visitor" as const,
    authorId: visitorIdOf(turn),
    authorName: visitor?.name ?? null,
    content: turn.message,
    quotaPeriod: sql`CASE WHEN ${status} IN ${HUMAN_STATUSES} THEN NULL ELSE ${turn.quota.period} END`,
    createdAt: nowMs,
  };
  return insertWhere(db, messages, row, isAdmitted(turn)).onConflictDoNothing();
}

/** Which of the turn's messages are stored by now. */
function findStored(db: Database, { workspaceId, questionId, answerId }: Turn) {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.workspaceId, workspaceId), inArray(messages.id, [questionId, answerId])));
}

/** The second batch of a turn: the answer, the conversation's new status and, where a human is needed, the hand-off. */
export function finishTurn(db: Database, turn: Turn, outcome: TurnOutcome) {
  const { workspaceId, conversationId, agentId } = turn;
  const stillThere = sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
  const answer = {
    id: turn.answerId,
    workspaceId,
    conversationId,
    role: "assistant" as const,
    authorType: "agent" as const,
    authorId: agentId,
    authorName: outcome.agentName,
    content: outcome.text,
    citations: outcome.citations,
    confidence: outcome.confidence,
    needsHuman: outcome.handoff !== null,
    createdAt: outcome.nowMs,
  };
  const isAgents = inArray(conversations.status, [...AGENT_STATUSES]);
  return [
    insertWhere(db, messages, answer, stillThere).onConflictDoNothing(),
    db
      .update(conversations)
      .set({ status: outcome.status })
      .where(and(eq(conversations.id, conversationId), eq(conversations.workspaceId, workspaceId), isAgents)),
    addHandoff(db, turn, outcome),
    returnQuota(db, turn, outcome.handoff?.reason === "model_failure"),
    findState(db, workspaceId, conversationId),
  ] as const;
}

export interface TurnOutcome {
  text: string;
  citations: Record<string, unknown>[];
  confidence: number;
  status: ConversationStatus;
  handoff: { id: string; reason: (typeof handoffs.$inferInsert)["reason"]; summary: string } | null;
  agentName: string;
  nowMs: number;
}

function addHandoff(db: Database, turn: Turn, { handoff, nowMs }: TurnOutcome) {
  const { workspaceId, agentId, conversationId, questionId } = turn;
  const row = {
    id: handoff?.id ?? "",
    workspaceId,
    agentId,
    conversationId,
    reason: handoff?.reason ?? "missing_knowledge",
    summary: handoff?.summary ?? null,
    triggerMessageId: questionId,
    status: "pending" as const,
    requestedAt: nowMs,
  };
  const isWaiting = sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId} AND status = 'needs_human')`;
  return insertWhere(db, handoffs, row, handoff ? isWaiting : sql`FALSE`).onConflictDoNothing();
}

/** What failed on our side uses no quota. */
export function returnQuota(db: Database, { workspaceId, questionId }: Turn, failed: boolean) {
  return db
    .update(messages)
    .set({ quotaPeriod: null })
    .where(and(eq(messages.id, questionId), eq(messages.workspaceId, workspaceId), failed ? sql`TRUE` : sql`FALSE`));
}

/** The condition of every write of the first batch: agent, conversation and visitor fit, and the quota is not used up. */
function isAdmitted(turn: Turn): SQL {
  const { workspaceId, agentId, conversationId, quota, visitor } = turn;
  const used = sql`(SELECT messages FROM ${usagePeriods} WHERE workspace_id = ${workspaceId} AND period = ${quota.period})`;
  const withinQuota = sql`coalesce(${used}, 0) < ${quota.limit}`;
  const agent = sql`FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id`;
  const agentFits = sql`a.id = ${agentId} AND a.workspace_id = ${workspaceId} AND w.deleted_at IS NULL`;
  if (turn.isNew) return sql`EXISTS (SELECT 1 ${agent} WHERE ${agentFits} AND a.status = 'active' AND ${withinQuota})`;
  const anonId = visitor?.anonId ?? null;
  return sql`EXISTS (SELECT 1 ${agent} JOIN ${conversations} c ON c.agent_id = a.id LEFT JOIN ${visitors} v ON v.id = c.visitor_id
    WHERE ${agentFits} AND c.id = ${conversationId} AND c.workspace_id = ${workspaceId} AND c.channel = ${turn.channel}
      AND (${anonId} IS NULL OR v.anon_id IS NULL OR v.anon_id = ${anonId})
      AND (c.status IN ${HUMAN_STATUSES} OR (a.status = 'active' AND ${withinQuota})))`;
}

function visitorIdOf({ workspaceId, conversationId, visitor }: Turn): SQL {
  if (!visitor) return sql`(SELECT visitor_id FROM ${conversations} WHERE id = ${conversationId})`;
  return sql`(SELECT id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND anon_id = ${visitor.anonId})`;
}

/** A rule over statuses as SQL, so that the rule is written once. */
function caseOf(column: typeof conversations.status, rule: (status: ConversationStatus) => ConversationStatus): SQL {
  const cases = CONVERSATION_STATUSES.map((status) => sql`WHEN ${status} THEN ${rule(status)}`);
  return sql`CASE ${column} ${sql.join(cases, sql` `)} END`;
}
