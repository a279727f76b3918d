import { and, desc, eq, inArray, isNull, ne, type SQL, sql } from "drizzle-orm";
import type { HandoffReason } from "../platform/db/columns.ts";
import { findAgent } from "../agents/store.ts";
import { conversationExists, isConversation, moveConversation } from "../conversations/moves-store.ts";
import { HUMAN_STATUSES, moveBy } from "../conversations/status.ts";
import { addHandoff } from "../conversations/store.ts";
import { conversationRecord, messageRecord } from "../conversations/payloads.ts";
import { appendEvent, type NewEvent } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { agents, conversations, messages, usagePeriods, workspaces } from "../platform/db/schema.ts";
import { insertWhere, transact, writeThenRead } from "../platform/db/sql.ts";
import { questionKeyOf } from "./question-key.ts";
import type { Turn } from "./turn.ts";
import { isTheirs, keepVisitor, mergedIdOf, personOf } from "./visitor-store.ts";

/** How many of the visitor's earlier messages a follow-up is understood by. */
export const PREVIOUS_QUESTIONS = 3;
/** How many earlier messages of both sides a model may read; how many it does read its context decides. */
const EARLIER_MESSAGES = 16;

/**
 * The first batch of a turn: it reads what the answer needs and stores the question, if it may be asked. Each write
 * depends on the same condition, and running the batch again changes nothing.
 */
export async function beginTurn(db: Database, turn: Turn) {
  const { workspaceId, agentId } = turn;
  const { before, written, after } = await transact(db, {
    before: [findAgent(db, workspaceId, agentId), findState(db, turn), listEarlier(db, turn)],
    writes: [
      ...(turn.visitor ? keepVisitor(db, turn, turn.visitor, isAdmitted(turn)) : []),
      ...(turn.isNew ? [createConversation(db, turn)] : continueConversation(db, turn)),
      addQuestion(db, turn),
      ...(turn.isNew ? appendEvent(db, eventOf(turn, turn.nowMs), "conversation.created", conversationRecord(turn.conversationId)) : []),
    ],
    after: [findStored(db, turn)],
  });
  const [[agent], [state], earlier] = before;
  return { agent, state, earlier, stored: after[0], written };
}

/** What a turn must know of the conversation as it found it. */
function findState(db: Database, turn: Turn) {
  return db
    .select({
      agentId: conversations.agentId,
      channel: conversations.channel,
      status: conversations.status,
      isOthers: sql<number>`NOT ${isTheirs(turn, sql`${conversations.visitorId}`)}`.as("is_others"),
    })
    .from(conversations)
    .where(isConversation(turn));
}

/** The last messages of this context, newest first. */
function listEarlier(db: Database, { workspaceId, conversationId, questionId }: Turn) {
  const contextAfter = sql`coalesce((SELECT context_after FROM ${conversations} WHERE id = ${conversationId}), '')`;
  return db
    .select({ role: messages.role, content: messages.content })
    .from(messages)
    .where(
      and(
        eq(messages.workspaceId, workspaceId),
        eq(messages.conversationId, conversationId),
        sql`${messages.id} > ${contextAfter}`,
        sql`${messages.id} < ${questionId}`,
        ne(messages.role, "system"),
      ),
    )
    .orderBy(desc(messages.id))
    .limit(EARLIER_MESSAGES);
}

function createConversation(db: Database, turn: Turn) {
  const { workspaceId, agentId, channel, nowMs } = turn;
  const row = {
    id: turn.conversationId,
    workspaceId,
    agentId,
    channel,
    status: "open" as const,
    subject: turn.subject ?? null,
    visitorId: visitorIdOf(turn),
    begunBy: turn.visitor ? mergedIdOf(turn, turn.visitor) : null,
    lastMessageAt: nowMs,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  return insertWhere(db, conversations, row, isAdmitted(turn)).onConflictDoNothing();
}

/** Writing to a resolved conversation opens it again; a visitor who had no name has one from now on. */
function continueConversation(db: Database, turn: Turn) {
  const isFirstRun = sql`NOT EXISTS (SELECT 1 FROM ${messages} WHERE id = ${turn.questionId})`;
  const where = sql`${isAdmitted(turn)} AND ${isFirstRun}`;
  const visitorId = visitorIdOf(turn);
  const attach = db
    .update(conversations)
    .set({ visitorId })
    .where(and(isConversation(turn), isNull(conversations.visitorId), where));
  return [...(turn.visitor ? [attach] : []), moveConversation(db, turn, moveBy("visitor_wrote"), { nowMs: turn.nowMs, where })];
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

/** What a turn came to. */
export interface TurnOutcome {
  text: string;
  citations: Record<string, unknown>[];
  confidence: number;
  handoff: { reason: HandoffReason; summary: string } | null;
  agentName: string;
  nowMs: number;
}

/**
 * The second batch of a turn: the answer, the conversation's new status and, where a human is needed, the hand-off.
 * @returns the conversation's status then, if it is still there, and what was written.
 */
export async function finishTurn(db: Database, turn: Turn, outcome: TurnOutcome) {
  const { handoff, nowMs } = outcome;
  const { written, read } = await writeThenRead(
    db,
    [
      addAnswer(db, turn, outcome),
      ...appendEvent(db, eventOf(turn, nowMs), "message.ai_replied", messageRecord(turn.answerId)),
      moveConversation(db, turn, moveBy(handoff ? "agent_handed_off" : "agent_answered"), { nowMs }),
      ...(handoff ? handOff(db, turn, handoff, nowMs) : []),
      ...(handoff?.reason === "model_failure" ? [returnQuota(db, turn)] : []),
    ],
    [findState(db, turn)],
  );
  const [[state]] = read;
  return { status: state?.status, written };
}

function addAnswer(db: Database, turn: Turn, outcome: TurnOutcome) {
  const { workspaceId, conversationId, agentId } = turn;
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
  return insertWhere(db, messages, answer, conversationExists(turn)).onConflictDoNothing();
}

function handOff(db: Database, turn: Turn, handoff: NonNullable<TurnOutcome["handoff"]>, nowMs: number) {
  const questionKey = handoff.reason === "missing_knowledge" ? questionKeyOf(turn.message) : null;
  return addHandoff(db, { ...turn, nowMs }, { ...handoff, triggerMessageId: turn.questionId, questionKey });
}

function eventOf({ workspaceId, conversationId }: Turn, nowMs: number): NewEvent {
  return { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
}

/** What failed on our side uses no quota. */
export function returnQuota(db: Database, { workspaceId, questionId }: Turn) {
  return db
    .update(messages)
    .set({ quotaPeriod: null })
    .where(and(eq(messages.id, questionId), eq(messages.workspaceId, workspaceId)));
}

/** The condition of every write of the first batch: agent, conversation and visitor fit, and the quota is not used up. */
function isAdmitted(turn: Turn): SQL {
  const { workspaceId, agentId, conversationId, quota } = turn;
  const used = sql`(SELECT messages FROM ${usagePeriods} WHERE workspace_id = ${workspaceId} AND period = ${quota.period})`;
  const withinQuota = sql`coalesce(${used}, 0) < ${quota.limit}`;
  const agent = sql`FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id`;
  const agentFits = sql`a.id = ${agentId} AND a.workspace_id = ${workspaceId} AND w.deleted_at IS NULL`;
  if (turn.isNew) return sql`EXISTS (SELECT 1 ${agent} WHERE ${agentFits} AND a.status = 'active' AND ${withinQuota})`;
  return sql`EXISTS (SELECT 1 ${agent} JOIN ${conversations} c ON c.agent_id = a.id
    WHERE ${agentFits} AND c.id = ${conversationId} AND c.workspace_id = ${workspaceId} AND c.channel = ${turn.channel}
      AND ${isTheirs(turn, sql`c.visitor_id`)}
      AND (c.status IN ${HUMAN_STATUSES} OR (a.status = 'active' AND ${withinQuota})))`;
}

function visitorIdOf({ workspaceId, conversationId, visitor }: Turn): SQL {
  return visitor ? personOf(workspaceId, visitor.anonId) : sql`(SELECT visitor_id FROM ${conversations} WHERE id = ${conversationId})`;
}

/** An agent's answer, if it is this conversation's. */
export function findAnswer(db: Database, workspaceId: string, conversationId: string, messageId: string) {
  return db
    .select()
    .from(messages)
    .where(
      and(
        eq(messages.id, messageId),
        eq(messages.workspaceId, workspaceId),
        eq(messages.conversationId, conversationId),
        eq(messages.role, "assistant"),
      ),
    );
}
