import { and, desc, eq, getTableColumns, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import { appendEvent, newEvent } from "../events/outbox.ts";
import { areTakable, type TakenFiles, takenFiles } from "../attachments/store.ts";
import type { Database } from "../platform/db/client.ts";
import {
  CONVERSATION_STATUSES,
  type ConversationStatus,
  type HandoffReason,
  MAX_TAGS,
  type Priority,
  type Resolver,
} from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { firstIdAt, newId, shardOf, timeOf } from "../platform/db/ids.ts";
import { agents, auditLog, conversations, handoffs, messages, notes } from "../platform/db/schema.ts";
import {
  exists,
  findOwn,
  IF_CHANGED,
  importCompleted,
  increasedTo,
  insertWhere,
  isAmong,
  isOfConversation,
  isOwn,
  jsonIds,
  jsonParam,
  type Page,
  type Position,
} from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import { routeHandoff, type RoutingText } from "../routing/assignment.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import { c, CONVERSATION_RECORD, handoffRecord } from "./payloads.ts";
import { handoffStatusAt, type Transition } from "./status.ts";

/** The id of a conversation, and the workspace that it must belong to. */
export type ConversationKey = { workspaceId: string; conversationId: string };

export const findConversation = compiled((db, workspaceId: string, conversationId: string) =>
  findOwn(db, conversations, workspaceId, conversationId),
);

/** Finds the wire record of a conversation. */
export const findConversationRecord = compiled((db, workspaceId: string, conversationId: string) =>
  db
    .select({ record: CONVERSATION_RECORD })
    .from(c)
    .where(isOwn(c, workspaceId, conversationId)),
);

/** Finds how many messages a conversation has. Returns no row if the workspace has no such conversation. */
export function findMessageCount(db: Database, workspaceId: string, conversationId: string) {
  return db
    .select({ messages: conversations.messageCount })
    .from(conversations)
    .where(isOwn(conversations, workspaceId, conversationId));
}

export const findLatestHandoff = compiled((db, workspaceId: string, conversationId: string) =>
  db.select().from(handoffs).where(isOfConversation(handoffs, { workspaceId, conversationId })).orderBy(desc(handoffs.id)).limit(1),
);

/** The order of a transcript: first by time, since an id may be created before its message. */
export const NEWEST_MESSAGE_FIRST = [desc(messages.createdAt), desc(messages.id)] as const;

/** A note in the columns of a message. */
const noteAsMessage = {
  ...getTableColumns(messages),
  ...getTableColumns(notes),
  role: sql`'note'`,
  authorType: sql`'member'`,
  citations: sql`'[]'`,
  attachments: sql`'[]'`,
  confidence: sql`NULL`,
  needsHuman: sql`0`,
  quotaPeriod: sql`NULL`,
  agentVersion: sql`NULL`,
};

/** Lists the latest messages and notes of a conversation, newest first. With a cursor, it lists only those before its position. */
export const listTranscript = compiled((db, key: ConversationKey, { limit, cursor }: Omit<Page, "offset">) => {
  // The comparison takes a twentieth of the request's time, so it is left out if there is no cursor.
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

/** Lists the messages and notes of a conversation after a message, note or cursor, oldest first. */
export function listTranscriptAfter(db: Database, key: ConversationKey, after: string | Position, limit: number) {
  const isShown = (table: typeof messages | typeof notes) => and(isOfConversation(table, key), isAfter(table, after));
  const ofNotes = db.select(noteAsMessage).from(notes).where(isShown(notes)) as never;
  return db.select().from(messages).where(isShown(messages)).unionAll(ofNotes).orderBy(messages.createdAt, messages.id).limit(limit);
}

/** SQL condition: a message or note was written after this one. If this one does not exist, the time in its id is used. */
export function isAfter({ createdAt, id }: typeof messages | typeof notes, after: string | Position): SQL {
  if (typeof after === "object") return sql`(${createdAt}, ${id}) > (${after.atMs}, ${after.id})`;
  const timeIn = (table: typeof messages | typeof notes) => sql`(SELECT seen.created_at FROM ${table} seen WHERE seen.id = ${after})`;
  return sql`(${createdAt}, ${id}) > (coalesce(${timeIn(messages)}, ${timeIn(notes)}, ${timeOf(after)}), ${after})`;
}

/**
 * SQL: the time of a message that is written now. It is later than that of all other messages of the conversation, so that the
 * transcript has the order in which messages were stored, even if clocks differ.
 */
export function messageTime({ conversationId }: { conversationId: string }, nowMs: number): SQL {
  return sql`(SELECT max(${nowMs}, last_message_at + (message_count > 0)) FROM ${conversations} WHERE id = ${conversationId})`;
}

/** The characters of the first message that are the subject of a conversation without one. */
export const SUBJECT_LENGTH = 80;

/** The characters of a message that a conversation's preview shows. */
export const PREVIEW_LENGTH = 200;

/**
 * Returns the columns of a conversation that a new message changes. A trigger sets them, unless the conversation already names it as
 * its latest one. A statement that changes the conversation anyway sets them itself, so that the row and its indexes are written
 * once. The message must follow in the batch.
 */
export function latestMessageColumns(agentId: string | SQL, { id, content, at }: { id: string; content: string; at: number | SQL }) {
  return {
    lastMessagePreview: sql`substr(${content}, 1, ${PREVIEW_LENGTH})`,
    lastMessageAt: at,
    latestMessageId: id,
    idleAt: sql`${at} + 60000 * (SELECT inactivity_minutes FROM ${agents} WHERE ${agents.id} = ${agentId})`,
  };
}

export function findMessage(db: Database, workspaceId: string, messageId: string) {
  return findOwn(db, messages, workspaceId, messageId);
}

/** The changes of a conversation by the team, other than its status. */
interface TeamChanges {
  tags?: string[] | undefined;
  assignee?: Member | null | undefined;
  read?: boolean | undefined;
  snoozedUntil?: number | null | undefined;
  teamId?: string | null | undefined;
  priority?: Priority | undefined;
  /** Whether it is taken from its assignee, and waits for a free member of its team. */
  isQueued?: boolean | undefined;
}

/** A member of the team, as an author or assignee. */
export interface Member {
  id: string;
  name: string;
}

/** Changes the given columns. Reading and snoozing do not count as activity, so the conversation keeps its place in the list. */
export const updateByTeam = compiled((db, workspaceId: string, conversationId: string, changes: TeamChanges, nowMs: number) => {
  const { tags, assignee, read, snoozedUntil, teamId, priority, isQueued } = changes;
  const { assigneeId, passedOverId } = conversations;
  const updatedAt = increasedTo(conversations.updatedAt, nowMs);
  const set = {
    ...(teamId !== undefined && { teamId }),
    // Without a team it no longer waits for a member. In another team it goes on waiting.
    ...(teamId === null && { queuedAt: null }),
    ...(priority !== undefined && { priority: sql`${priority}` }),
    ...(isQueued && { assigneeId: null, assigneeName: null, queuedAt: nowMs, passedOverId: sql`coalesce(${assigneeId}, ${passedOverId})` }),
    ...(tags !== undefined && { tags }),
    ...(assignee !== undefined && { assigneeId: assignee?.id ?? null, assigneeName: assignee?.name ?? null }),
    ...([tags, assignee, teamId, priority, isQueued].some((value) => value !== undefined) && { updatedAt }),
    ...(snoozedUntil !== undefined && { snoozedUntil }),
    ...(read !== undefined && { unreadCount: read ? 0 : sql`max(${conversations.unreadCount}, 1)` }),
  };
  return db
    .update(conversations)
    .set(set)
    .where(isOwn(conversations, workspaceId, conversationId));
});

/** Adds and removes tags. It changes nothing if the conversation would then have more than `MAX_TAGS`, or the same ones as before. */
export const updateTags = compiled(
  (
    db,
    workspaceId: string,
    conversationId: string,
    { added, removed }: { added: readonly string[]; removed: readonly string[] },
    nowMs: number,
  ) => {
    const { tags } = conversations;
    const present = sql`SELECT key AS at, value FROM json_each(${tags}) WHERE value NOT IN ${jsonIds(removed)}`;
    const further = sql`SELECT ${MAX_TAGS} + key, value FROM json_each(${jsonParam(added)}) WHERE value NOT IN (SELECT value FROM json_each(${tags}))`;
    const next = sql`(SELECT json_group_array(value) FROM (${present} UNION ALL ${further} ORDER BY at))`;
    const hasRoom = sql`json_array_length(${next}) <= max(${MAX_TAGS}, json_array_length(${tags}))`;
    return db
      .update(conversations)
      .set({ tags: next, updatedAt: increasedTo(conversations.updatedAt, nowMs) })
      .where(and(isOwn(conversations, workspaceId, conversationId), sql`${next} <> ${tags}`, hasRoom));
  },
);

/** The fields of a conversation that a change of several conversations sets. */
export type ConversationState = Awaited<ReturnType<typeof listStates>>[number];

/** Lists those of the conversations that the workspace has. */
export function listStates(db: Database, workspaceId: string, ids: readonly string[]) {
  const { id, status, tags, snoozedUntil } = conversations;
  return db
    .select({ id, status, tags, snoozedUntil })
    .from(conversations)
    .where(isAmong(conversations, workspaceId, ids));
}

/** Adds a human's message if the conversation exists and has room, each rate-limit window has room, and it may take its files. */
export function createReply(
  db: Database,
  key: ConversationKey,
  reply: { id: string; content: string; author: Member | null; nowMs: number; maxMessages: number; files?: TakenFiles | undefined },
  windows: readonly LimitWindow[],
) {
  const { workspaceId, conversationId } = key;
  const hasRoom = exists(conversations, isConversation(key), lt(conversations.messageCount, reply.maxMessages));
  const taking = reply.files && { ...reply.files, workspaceId, messageId: reply.id, nowMs: reply.nowMs };
  const isAdmitted = sql`${hasRoom} AND ${windowsHaveRoom(workspaceId, windows)} AND ${taking ? areTakable(taking) : sql`TRUE`}`;
  const row = {
    id: reply.id,
    workspaceId,
    conversationId,
    role: "human" as const,
    authorType: "member" as const,
    authorId: reply.author?.id ?? null,
    authorName: reply.author?.name ?? null,
    content: reply.content,
    ...(taking && { attachments: takenFiles(taking) }),
    createdAt: messageTime(key, reply.nowMs),
  };
  return insertWhere(db, messages, row, isAdmitted).onConflictDoNothing();
}

/** SQL condition: since a time, a person with one of these hashes, or with a visitor of these hashes, was erased. See persons.ts. */
export function erasureExists(workspaceId: string, sinceMs: number, subjectHashes: readonly string[]): SQL {
  const isOne = sql`IN ${jsonIds(subjectHashes)}`;
  const isNamed = sql`(subject_hash ${isOne} OR EXISTS (SELECT 1 FROM json_each(detail, '$.visitors') WHERE value ${isOne}))`;
  // The condition on the id uses the index: an id is never older than its record.
  const isSince = sql`id >= ${firstIdAt(sinceMs)} AND created_at >= ${sinceMs}`;
  return sql`EXISTS (SELECT 1 FROM ${auditLog} WHERE workspace_id = ${workspaceId} AND ${isSince} AND ${isNamed})`;
}

/** SQL condition: the message is stored. */
function messageExists(messageId: string): SQL {
  return exists(messages, eq(messages.id, messageId));
}

/** SQL condition on `conversations`: nobody has written since this message. */
function isLatestMessage(messageId: string): SQL {
  return eq(conversations.latestMessageId, messageId);
}

/** Records the time of the first human reply. */
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

/** Lists idle conversations. The workspaces take turns. */
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
  /** The key by which analytics groups unanswered questions. */
  questionKey: string | null;
  /** How the model failed. */
  failure?: string | null;
  /** When the team opens next, Unix milliseconds; null if it is there. */
  opensAt: number | null;
}

/**
 * Creates a hand-off and its event, unless the conversation has one already or a human has taken over, and routes the conversation.
 * @param routingText what the visitor wrote, by which it is routed.
 * @param windows the windows that need room and in which the hand-off is counted.
 */
export function createHandoff(
  db: Database,
  { workspaceId, conversationId, agentId, nowMs }: HandoffKey,
  cause: HandoffCause,
  routingText: RoutingText,
  windows: readonly LimitWindow[] = [],
) {
  const id = newId(shardOf(workspaceId), nowMs);
  const row = { id, workspaceId, agentId, conversationId, ...cause, status: "pending" as const, requestedAt: nowMs };
  const isWaiting = exists(conversations, isOwn(conversations, workspaceId, conversationId), eq(conversations.status, "needs_human"));
  return [
    insertWhere(db, handoffs, row, sql`${isWaiting} AND ${windowsHaveRoom(workspaceId, windows)}`).onConflictDoNothing(),
    ...countInWindows(db, workspaceId, windows, IF_CHANGED),
    ...appendEvent(db, newEvent({ workspaceId, conversationId }, nowMs), "handoff.created", handoffRecord(id)),
    ...routeHandoff(db, { workspaceId, conversationId }, { id, isOpen: cause.opensAt === null, nowMs }, routingText),
  ] as const;
}

/**
 * Changes a conversation for a new answer of the agent, including its status, unless the answer is already stored. The answer must
 * follow in the batch, with the time of the conversation's last message.
 */
export function recordAnswer(
  db: Database,
  key: ConversationKey,
  answer: { id: string; content: string; isWaiting: boolean; nowMs: number },
  transition: Transition,
) {
  const { firstAiReplyAt, lastMessageAt, messageCount, reopenedCount, status, unreadCount, updatedAt } = conversations;
  const at = sql`max(${answer.nowMs}, ${lastMessageAt} + (${messageCount} > 0))`;
  return db
    .update(conversations)
    .set({
      ...latestMessageColumns(sql`${conversations.agentId}`, { id: answer.id, content: answer.content, at }),
      messageCount: sql`${messageCount} + 1`,
      updatedAt: sql`max(${updatedAt}, ${at})`,
      firstAiReplyAt: sql`coalesce(${firstAiReplyAt}, ${at})`,
      // The question now waits for the team, also if the conversation was resolved.
      ...(answer.isWaiting && {
        unreadCount: sql`max(${unreadCount}, 1)`,
        resolvedAt: null,
        resolvedBy: null,
        reopenedCount: sql`${reopenedCount} + (${status} = 'resolved')`,
      }),
      status: sql`${caseOf(status, transition)}`,
    })
    .where(and(isConversation(key), sql`NOT ${messageExists(answer.id)}`));
}

interface TransitionOptions {
  nowMs: number;
  /** Who resolves the conversation, if the transition resolves it. */
  by?: Resolver;
  /** The id of the human's reply that causes the transition. If a newer message exists, nothing changes: the request may be a repeated one. */
  messageId?: string | undefined;
  /** Whether the change marks the conversation as read. */
  isRead?: boolean;
  /** A further condition. */
  where?: SQL;
}

/**
 * Changes a conversation's status in the statement that reads it, so that there is no race. A row changes only if the status changes,
 * which the next statement of the batch can test with `IF_CHANGED`.
 */
export function transitionConversation(
  db: Database,
  key: ConversationKey,
  transition: Transition,
  { nowMs, by, messageId, isRead = false, where }: TransitionOptions,
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
      snoozedUntil: sql`CASE WHEN NOT ${isResolving} THEN ${conversations.snoozedUntil} END`,
      reopenedCount: sql`${conversations.reopenedCount} + (${isReopening})`,
      // Reopening starts a new context for the model.
      contextAfter: sql`CASE WHEN ${isReopening} THEN ${lastMessage} ELSE ${conversations.contextAfter} END`,
      updatedAt: increasedTo(conversations.updatedAt, nowMs),
      ...(isRead && { unreadCount: 0 }),
    })
    .where(and(isConversation(key), sql`${to} <> ${conversations.status}`, where, messageId ? isLatestMessage(messageId) : undefined));
}

/**
 * Updates the conversation's open hand-off for a transition. It must come before `transitionConversation` in the batch, because it
 * reads the previous status.
 * @param messageId the id of the human's reply that causes the transition. If a newer message exists, nothing changes.
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
        messageId ? exists(conversations, isConversation(key), isLatestMessage(messageId)) : undefined,
      ),
    );
}

/** SQL condition: the workspace has the conversation. */
export function conversationExists(key: ConversationKey): SQL {
  return exists(conversations, isConversation(key));
}

/** SQL condition on `conversations`: the row is this conversation of this workspace. */
export function isConversation({ workspaceId, conversationId }: ConversationKey): SQL {
  return isOwn(conversations, workspaceId, conversationId);
}

/** SQL: the result of a function of the status. */
function caseOf(status: SQL | typeof conversations.status, rule: (status: ConversationStatus) => string | null): SQL {
  const cases = CONVERSATION_STATUSES.map((from) => sql`WHEN ${from} THEN ${rule(from)}`);
  return sql`(CASE ${status} ${sql.join(cases, sql` `)} END)`;
}
