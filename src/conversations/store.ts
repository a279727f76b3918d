import { and, desc, eq, getTableColumns, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import { appendEvent } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { CONVERSATION_STATUSES, type ConversationStatus, type HandoffReason } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { firstIdAt, newId, shardOf } from "../platform/db/ids.ts";
import { agents, auditLog, conversations, handoffs, messages, notes } from "../platform/db/schema.ts";
import { exists, findOwn, importCompleted, insertWhere, isOfConversation, isOwn, jsonIds, type Page } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import type { VisitorWindow } from "../workspaces/visitor-limits.ts";
import { mayBeSent } from "../workspaces/visitor-store.ts";
import { c, CONVERSATION_RECORD, handoffRecord } from "./payloads.ts";
import { handoffStatusAt, type Transition } from "./status.ts";

/** A conversation, and the workspace that it must belong to. */
export type ConversationKey = { workspaceId: string; conversationId: string };

/** One conversation of a workspace. */
export const findConversation = compiled((db, workspaceId: string, conversationId: string) =>
  findOwn(db, conversations, workspaceId, conversationId),
);

/** The wire record of a conversation. */
export const findConversationRecord = compiled((db, workspaceId: string, conversationId: string) =>
  db
    .select({ record: CONVERSATION_RECORD })
    .from(c)
    .where(isOwn(c, workspaceId, conversationId)),
);

/** How many messages a conversation has; no row where the workspace has no such conversation. */
export function findMessageCount(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select({ messages: conversations.messageCount })
    .from(conversations)
    .where(isOwn(conversations, workspaceId, conversationId));
}

/** The conversation's latest hand-off. */
export const findLatestHandoff = compiled((db, workspaceId: string, conversationId: string) =>
  db.select().from(handoffs).where(isOfConversation(handoffs, { workspaceId, conversationId })).orderBy(desc(handoffs.id)).limit(1),
);

/** The order of a transcript. By time first: an id may be older than its message. */
export const NEWEST_MESSAGE_FIRST = [desc(messages.createdAt), desc(messages.id)] as const;

/** A note in the columns of a message. */
const noteAsMessage = {
  ...getTableColumns(messages),
  ...getTableColumns(notes),
  role: sql`'note'`,
  authorType: sql`'member'`,
  citations: sql`'[]'`,
  confidence: sql`NULL`,
  needsHuman: sql`0`,
  quotaPeriod: sql`NULL`,
};

/** The latest messages and notes of a conversation, newest first: those before a position, if one is given. */
export const listTranscript = compiled((db, key: ConversationKey, { limit, cursor }: Omit<Page, "offset">) => {
  // The comparison is left out where there is no position, since it costs a twentieth of the request.
  const isShown = (table: typeof messages | typeof notes) =>
    and(isOfConversation(table, key), cursor && sql`(${table.createdAt}, ${table.id}) < (${cursor.atMs}, ${cursor.id})`);
  const ofNotes = db.select(noteAsMessage).from(notes).where(isShown(notes)) as never;
  return db
    .select()
    .from(messages)
    .where(isShown(messages))
    .unionAll(ofNotes)
    .orderBy(...NEWEST_MESSAGE_FIRST)
    .limit(limit);
});

/**
 * The time of a message that is written now: later than all that its conversation has, so that the transcript is in the order
 * in which messages were stored, whatever clocks say.
 */
export function messageTime({ conversationId }: { conversationId: string }, nowMs: number): SQL {
  return sql`(SELECT max(${nowMs}, last_message_at + (message_count > 0)) FROM ${conversations} WHERE id = ${conversationId})`;
}

/** A message that is written with its conversation. */
interface CountedMessage {
  id: string;
  content: string;
  at: number | SQL;
}

/** How much of a message a conversation's preview shows. */
export const PREVIEW_LENGTH = 200;

/**
 * What a message changes in its conversation. A trigger does this for every message whose conversation does not name it as its
 * last one: a writer that changes the conversation anyway does it in the same statement, so that the row and its indexes are
 * written once. The message must follow in the batch.
 */
export function countedMessage(agentId: string | SQL, { id, content, at }: CountedMessage) {
  return {
    lastMessagePreview: sql`substr(${content}, 1, ${PREVIEW_LENGTH})`,
    lastMessageAt: at,
    latestMessageId: id,
    idleAt: sql`${at} + 60000 * (SELECT inactivity_minutes FROM ${agents} WHERE ${agents.id} = ${agentId})`,
  };
}

/** One message. */
export function findMessage(db: Database, workspaceId: string, messageId: string) {
  return findOwn(db, messages, workspaceId, messageId);
}

/** What a team member changes of a conversation, besides its status. */
export interface TeamChanges {
  tags?: string[] | undefined;
  assignee?: Member | null | undefined;
  read?: boolean | undefined;
}

/** Who on the team writes, or has a conversation. */
export interface Member {
  id: string;
  name: string;
}

/** Changes what is given. Reading is no activity, so it leaves the conversation's place in the list. */
export const changeForTeam = compiled((db, workspaceId: string, conversationId: string, changes: TeamChanges, nowMs: number) => {
  const { tags, assignee, read } = changes;
  const set = {
    ...(tags !== undefined && { tags }),
    ...(assignee !== undefined && { assigneeId: assignee?.id ?? null, assigneeName: assignee?.name ?? null }),
    ...((tags !== undefined || assignee !== undefined) && { updatedAt: nowMs }),
    ...(read !== undefined && { unreadCount: read ? 0 : sql`max(${conversations.unreadCount}, 1)` }),
  };
  return db
    .update(conversations)
    .set(set)
    .where(isOwn(conversations, workspaceId, conversationId));
});

/** Adds a human's message if the conversation exists and has room, and so has each window. */
export function createReply(
  db: Database,
  key: ConversationKey,
  reply: { id: string; content: string; author: Member | null; nowMs: number; maxMessages: number },
  windows: readonly VisitorWindow[],
) {
  const { workspaceId, conversationId } = key;
  const hasRoom = exists(conversations, isConversation(key), lt(conversations.messageCount, reply.maxMessages));
  const row = {
    id: reply.id,
    workspaceId,
    conversationId,
    role: "human" as const,
    authorType: "member" as const,
    authorId: reply.author?.id ?? null,
    authorName: reply.author?.name ?? null,
    content: reply.content,
    createdAt: messageTime(key, reply.nowMs),
  };
  return insertWhere(db, messages, row, sql`${hasRoom} AND ${mayBeSent(workspaceId, windows)}`).onConflictDoNothing();
}

/** SQL condition: since some time, somebody was erased whom one of the hashes names, alone or with a person (persons.ts). */
export function erasureExists(workspaceId: string, sinceMs: number, subjectHashes: readonly string[]): SQL {
  const isOne = sql`IN ${jsonIds(subjectHashes)}`;
  const isNamed = sql`(subject_hash ${isOne} OR EXISTS (SELECT 1 FROM json_each(detail, '$.visitors') WHERE value ${isOne}))`;
  // The index holds ids, which are never older than their records.
  const isSince = sql`id >= ${firstIdAt(sinceMs)} AND created_at >= ${sinceMs}`;
  return sql`EXISTS (SELECT 1 FROM ${auditLog} WHERE workspace_id = ${workspaceId} AND ${isSince} AND ${isNamed})`;
}

/** SQL condition: the message is stored. */
function messageExists(messageId: string): SQL {
  return exists(messages, eq(messages.id, messageId));
}

/** Records when a human first replied. */
export function recordHumanReply(db: Database, key: ConversationKey, messageId: string, nowMs: number) {
  return db
    .update(conversations)
    .set({ firstHumanReplyAt: nowMs })
    .where(and(isConversation(key), isNull(conversations.firstHumanReplyAt), messageExists(messageId)));
}

/** SQL condition: the visitor has been silent for longer than the agent's idle time. */
export function isIdle(nowMs: number): SQL {
  return lte(conversations.idleAt, nowMs);
}

/** Idle conversations, workspaces in turn. */
export function listIdle(db: Database, nowMs: number, limit: number) {
  const { id, workspaceId } = conversations;
  const where = and(isIdle(nowMs), importCompleted(workspaceId), isNotPutOff("conversations", id, nowMs));
  return db
    .select({ workspaceId, conversationId: id })
    .from(conversations)
    .where(isNextInTurn(WAITING.idleConversations, where, limit));
}

interface HandoffKey extends ConversationKey {
  agentId: string;
  nowMs: number;
}

interface HandoffCause {
  reason: HandoffReason;
  summary: string | SQL | null;
  triggerMessageId: string | SQL | null;
  /** Groups questions without an answer for analytics. */
  questionKey: string | null;
  /** How the model failed. */
  failure?: string | null;
}

/** Creates a hand-off and its event, unless the conversation has one already or a human has taken over. */
export function createHandoff(db: Database, { workspaceId, conversationId, agentId, nowMs }: HandoffKey, cause: HandoffCause) {
  const id = newId(shardOf(workspaceId), nowMs);
  const row = { id, workspaceId, agentId, conversationId, ...cause, status: "pending" as const, requestedAt: nowMs };
  const isWaiting = exists(conversations, isOwn(conversations, workspaceId, conversationId), eq(conversations.status, "needs_human"));
  const event = { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
  return [
    insertWhere(db, handoffs, row, isWaiting).onConflictDoNothing(),
    ...appendEvent(db, event, "handoff.created", handoffRecord(id)),
  ] as const;
}

/**
 * Changes a conversation as the agent's answer does, its status included, unless the answer is stored. The answer must follow in
 * the batch, at the time of the conversation's last message.
 */
export function recordAnswer(
  db: Database,
  key: ConversationKey,
  answer: { id: string; content: string; isWaiting: boolean; nowMs: number },
  transition: Transition,
) {
  const { firstAiReplyAt, lastMessageAt, messageCount, status, updatedAt } = conversations;
  const at = sql`max(${answer.nowMs}, ${lastMessageAt} + (${messageCount} > 0))`;
  return db
    .update(conversations)
    .set({
      ...countedMessage(sql`${conversations.agentId}`, { id: answer.id, content: answer.content, at }),
      messageCount: sql`${messageCount} + 1`,
      updatedAt: sql`max(${updatedAt}, ${at})`,
      firstAiReplyAt: sql`coalesce(${firstAiReplyAt}, ${at})`,
      // The question waits for the team now.
      ...(answer.isWaiting && { unreadCount: sql`max(${conversations.unreadCount}, 1)` }),
      status: sql`${caseOf(status, transition)}`,
    })
    .where(and(isConversation(key), sql`NOT ${messageExists(answer.id)}`));
}

interface TransitionOptions {
  nowMs: number;
  /** Who resolves it, if the transition does. */
  by?: "ai" | "human" | "api" | "auto";
  /** The human's reply that causes it: nothing changes unless it is stored. */
  messageId?: string | undefined;
  /** A further condition. */
  where?: SQL;
}

/**
 * Changes a conversation's status, in the statement that reads it: there is no race. It changes a row only when the status
 * changes, which the next statement of the batch can test with `IF_CHANGED`.
 */
export function transitionConversation(
  db: Database,
  key: ConversationKey,
  transition: Transition,
  { nowMs, by, messageId, where }: TransitionOptions,
) {
  const to = caseOf(conversations.status, transition);
  const isResolving = sql`${to} = 'resolved'`;
  const isReopening = sql`${conversations.status} = 'resolved'`;
  const lastMessage = sql`(SELECT id FROM ${messages} WHERE workspace_id = ${key.workspaceId} AND conversation_id = ${key.conversationId}
    AND id <> ${messageId ?? ""} ORDER BY created_at DESC, id DESC LIMIT 1)`;
  return db
    .update(conversations)
    .set({
      status: sql`${to}`,
      resolvedAt: sql`CASE WHEN ${isResolving} THEN ${nowMs} END`,
      resolvedBy: sql`CASE WHEN ${isResolving} THEN ${by ?? null} END`,
      reopenedCount: sql`${conversations.reopenedCount} + (${isReopening})`,
      // Reopening starts a new context for the model.
      contextAfter: sql`CASE WHEN ${isReopening} THEN ${lastMessage} ELSE ${conversations.contextAfter} END`,
      updatedAt: nowMs,
    })
    .where(and(isConversation(key), sql`${to} <> ${conversations.status}`, where, messageId ? messageExists(messageId) : undefined));
}

/**
 * Updates the conversation's open hand-off for a transition. It goes before `transitionConversation` in the batch, because it
 * reads the former status.
 * @param messageId the human's reply that causes it: nothing changes unless it is stored.
 */
export function transitionHandoff(
  db: Database,
  key: ConversationKey,
  transition: Transition,
  { nowMs, messageId }: { nowMs: number; messageId?: string | undefined },
) {
  const status = sql`(SELECT status FROM ${conversations} WHERE id = ${key.conversationId} AND workspace_id = ${key.workspaceId})`;
  const reached = caseOf(status, (from) => handoffStatusAt(transition(from)));
  const accepts = messageId ? sql`TRUE` : sql`${reached} = 'accepted'`;
  return db
    .update(handoffs)
    .set({
      status: sql`${reached}`,
      acceptedAt: sql`coalesce(${handoffs.acceptedAt}, CASE WHEN ${accepts} THEN ${nowMs} END)`,
      resolvedAt: sql`CASE WHEN ${reached} = 'resolved' THEN ${nowMs} END`,
    })
    .where(
      and(
        isOfConversation(handoffs, key),
        sql`${handoffs.status} <> 'resolved'`,
        sql`${reached} IS NOT NULL`,
        messageId ? messageExists(messageId) : undefined,
      ),
    );
}

/** SQL condition: the workspace has the conversation. */
export function conversationExists(key: ConversationKey): SQL {
  return exists(conversations, isConversation(key));
}

/** SQL condition on `conversations`: it is this one, of this workspace. */
export function isConversation({ workspaceId, conversationId }: ConversationKey): SQL {
  return isOwn(conversations, workspaceId, conversationId);
}

/** A function of the status as a SQL expression. */
function caseOf(status: SQL | typeof conversations.status, rule: (status: ConversationStatus) => string | null): SQL {
  const cases = CONVERSATION_STATUSES.map((from) => sql`WHEN ${from} THEN ${rule(from)}`);
  return sql`(CASE ${status} ${sql.join(cases, sql` `)} END)`;
}
