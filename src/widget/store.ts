import { and, desc, eq, inArray, isNotNull, lt, notInArray, or, type SQL, sql } from "drizzle-orm";
import { findAnsweringVersion } from "../agents/version-store.ts";
import type { VisitorClaim } from "../chat/visitor-token.ts";
import { isAnswer, storedReplyColumns } from "../chat/store.ts";
import { type ConversationKey, isAfter, messageTime } from "../conversations/store.ts";
import { HANDOFF_SUMMARY_LENGTH, HUMAN_STATUSES } from "../conversations/status.ts";
import type { Database } from "../platform/db/client.ts";
import { VISITOR_CHANNELS } from "../platform/db/columns.ts";
import { agents, conversations, leads, messages, visitors } from "../platform/db/schema.ts";
import { exists, findOwn, insertWhere, isOwn } from "../platform/db/sql.ts";
import { listCountsToday } from "../workspaces/usage-limit-store.ts";

/** How many messages a poll returns; the next one, after the last of them, returns more. */
const POLL_LIMIT = 200;
/** How many of the visitor's last messages are read to detect their language. */
const LAST_WRITTEN = 2;

/** Finds the allowed origins of the agent, or of the conversation's agent. */
export function findAllowedOrigins(db: Database, named: { agentId: string } | { conversationId: string }) {
  const agentId =
    "agentId" in named ? sql`${named.agentId}` : sql`(SELECT agent_id FROM ${conversations} WHERE id = ${named.conversationId})`;
  return db
    .select({ allowedOrigins: agents.allowedOrigins })
    .from(agents)
    .where(sql`${agents.id} = ${agentId}`);
}

/** Finds the visitor that a token names. */
export function findTokenVisitor(db: Database, { agentId, visitorId }: VisitorClaim) {
  return findOwn(db, visitors, workspaceOf(agentId), visitorId);
}

/**
 * Makes the visitor's tokens up to now invalid, for all agents of the workspace, and those of the anonymous visitors that were merged
 * into this one.
 */
export function endTokens(db: Database, { agentId, visitorId }: VisitorClaim, nowMs: number) {
  const isTheirs = isOwn(visitors, workspaceOf(agentId), visitorId);
  const isMerged = and(eq(visitors.workspaceId, workspaceOf(agentId)), eq(visitors.mergedInto, visitorId));
  return db.update(visitors).set({ tokensEndedAt: nowMs, updatedAt: nowMs }).where(or(isTheirs, isMerged));
}

/** Lists how much all visitors of the agent's workspace sent today, by flow. */
export function listSentToAgent(db: Database, agentId: string, nowMs: number) {
  return listCountsToday(db, workspaceOf(agentId), nowMs);
}

/** Finds a conversation with the agent, whoever its visitor is. */
export function findVisitorConversation(db: Database, agentId: string, conversationId: string) {
  return db
    .select({
      id: conversations.id,
      channel: conversations.channel,
      visitorId: conversations.visitorId,
      begunBy: conversations.begunBy,
      anonId: visitors.anonId,
    })
    .from(conversations)
    .leftJoin(visitors, eq(visitors.id, conversations.visitorId))
    .where(isVisitorConversation(agentId, conversationId));
}

/** Finds a conversation that the token gives access to. */
export function findOwnConversation(db: Database, claim: VisitorClaim, conversationId: string) {
  return db.select().from(conversations).where(isAccessible(claim, conversationId));
}

/** SQL: the person of a visitor, who may have been merged into another one. */
function ownerOf(visitorId: string): SQL {
  return sql`(SELECT coalesce(v.merged_into, v.id) FROM ${visitors} v WHERE v.id = ${visitorId})`;
}

/** How many of a visitor's conversations are listed. */
const LISTED_CONVERSATIONS = 20;

/** Lists the latest conversations that the token gives access to, newest first. */
export function listOwnConversations(db: Database, claim: VisitorClaim) {
  const { agentId, visitorId } = claim;
  const where = and(
    eq(conversations.workspaceId, workspaceOf(agentId)),
    eq(conversations.visitorId, ownerOf(visitorId)),
    isBy(visitorId),
    eq(conversations.agentId, agentId),
    inArray(conversations.channel, VISITOR_CHANNELS),
  );
  return db.select().from(conversations).where(where).orderBy(desc(conversations.id)).limit(LISTED_CONVERSATIONS);
}

/**
 * Lists the messages after another one, oldest first, in a conversation that the token gives access to.
 * @param after the last message that the visitor has seen; without it, all messages.
 */
export function listNewMessages(db: Database, claim: VisitorClaim, conversationId: string, after: string | undefined) {
  const isNew = after === undefined ? undefined : isAfter(messages, after);
  return db
    .select()
    .from(messages)
    .where(and(isReadable(claim, conversationId), isNew))
    .orderBy(messages.createdAt, messages.id)
    .limit(POLL_LIMIT);
}

/** Lists the visitor's last messages, newest first, in a conversation that the token gives access to, to detect their language. */
export function listLastWritten(db: Database, claim: VisitorClaim, conversationId: string) {
  return db
    .select({ content: messages.content })
    .from(messages)
    .where(and(isReadable(claim, conversationId), eq(messages.role, "user")))
    .orderBy(desc(messages.createdAt), desc(messages.id))
    .limit(LAST_WRITTEN);
}

/** Finds an agent's answer. The same batch must check that the conversation belongs to the visitor. */
export function findVisitorAnswer(db: Database, { agentId }: VisitorClaim, key: { conversation_id: string; message_id: string }) {
  const isVisitors = isAnswer(workspaceOf(agentId), key.conversation_id, key.message_id);
  return db.select(storedReplyColumns).from(messages).where(isVisitors);
}

/** Finds the version that answers a conversation. The same batch must check that the conversation belongs to the visitor. */
export function findVisitorVersion(db: Database, { agentId }: VisitorClaim, conversationId: string) {
  return findAnsweringVersion(db, { workspaceId: workspaceOf(agentId), agentId }, conversationId);
}

/** Stores the visitor's rating, which replaces an earlier one. */
export function setCsat(
  db: Database,
  claim: VisitorClaim,
  conversationId: string,
  csat: { score: number; comment: string | null },
  nowMs: number,
) {
  return db
    .update(conversations)
    .set({ csatScore: csat.score, csatComment: csat.comment, updatedAt: nowMs })
    .where(isAccessible(claim, conversationId));
}

/** SQL condition on `messages`: the message belongs to a conversation that the token gives access to. */
function isReadable(claim: VisitorClaim, conversationId: string): SQL {
  const ofConversation = and(eq(messages.workspaceId, workspaceOf(claim.agentId)), eq(messages.conversationId, conversationId));
  return and(ofConversation, exists(conversations, isAccessible(claim, conversationId)))!;
}

/** SQL condition: the conversation belongs to the token's visitor, or did before the visitor was merged into another one. */
function isAccessible({ agentId, visitorId }: VisitorClaim, conversationId: string): SQL {
  return and(isVisitorConversation(agentId, conversationId), isBy(visitorId))!;
}

function isBy(visitorId: string) {
  return or(eq(conversations.visitorId, visitorId), eq(conversations.begunBy, visitorId));
}

/** SQL condition: it is this conversation. The visitors' API does not have conversations of other channels. */
function isVisitorConversation(agentId: string, conversationId: string): SQL {
  const isOfAgent = and(isOwn(conversations, workspaceOf(agentId), conversationId), eq(conversations.agentId, agentId));
  return and(isOfAgent, inArray(conversations.channel, VISITOR_CHANNELS))!;
}

function workspaceOf(agentId: string): SQL {
  return sql`(SELECT workspace_id FROM ${agents} WHERE id = ${agentId})`;
}

/** Adds a system message to the visitor, under a condition. */
export function addNotice(
  db: Database,
  { workspaceId, conversationId }: ConversationKey,
  notice: { id: string; content: string; needsHuman: boolean; nowMs: number },
  where: SQL,
) {
  const row = {
    id: notice.id,
    workspaceId,
    conversationId,
    role: "system" as const,
    authorType: "system" as const,
    content: notice.content,
    needsHuman: notice.needsHuman,
    createdAt: messageTime({ conversationId }, notice.nowMs),
  };
  return insertWhere(db, messages, row, where);
}

/** Ends the snooze of a conversation, under a condition. */
export function endSnooze(db: Database, { workspaceId, conversationId }: ConversationKey, where: SQL) {
  return db
    .update(conversations)
    .set({ snoozedUntil: null })
    .where(and(isOwn(conversations, workspaceId, conversationId), isNotNull(conversations.snoozedUntil), where));
}

/** SQL condition: no human has the conversation or is asked to, and it has fewer messages than `maxMessages`. */
export function hasRoomForNotice({ workspaceId, conversationId }: ConversationKey, maxMessages: number): SQL {
  const isFree = and(notInArray(conversations.status, HUMAN_STATUSES), lt(conversations.messageCount, maxMessages));
  return exists(conversations, isOwn(conversations, workspaceId, conversationId), isFree);
}

/** Finds the person of the token, if they have left an email address or a lead. */
export function findContact(db: Database, { agentId, visitorId }: VisitorClaim) {
  const hasLead = exists(leads, eq(leads.workspaceId, workspaceOf(agentId)), eq(leads.visitorId, visitors.id));
  const isKnown = and(eq(visitors.id, ownerOf(visitorId)), or(isNotNull(visitors.email), hasLead));
  return db.select({ id: visitors.id }).from(visitors).where(isKnown);
}

/** SQL: the visitor's last message, as the summary and the trigger of a hand-off. */
export function lastQuestion({ workspaceId, conversationId }: ConversationKey): { summary: SQL; triggerMessageId: SQL } {
  const last = sql`FROM ${messages} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversationId} AND role = 'user'
    ORDER BY created_at DESC, id DESC LIMIT 1`;
  return { summary: sql`(SELECT substr(content, 1, ${HANDOFF_SUMMARY_LENGTH}) ${last})`, triggerMessageId: sql`(SELECT id ${last})` };
}
