import { and, eq, getTableColumns, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Plan } from "../platform/db/columns.ts";
import type { VisitorClaim } from "../chat/visitor-token.ts";
import type { ConversationKey } from "../conversations/moves-store.ts";
import { HANDOFF_SUMMARY_LENGTH } from "../conversations/status.ts";
import { IF_CHANGED } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { agents, conversations, messages, visitors, workspaces } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import type { Limits } from "../workspaces/plans.ts";

/** The channels of this surface: a conversation of another one does not exist here. */
export const VISITOR_CHANNELS = ["widget", "hosted"] as const;

/** How many messages a poll brings; the next one, after the last of them, brings more. */
const POLL_LIMIT = 200;
/** A turn takes its answer's identifier when it begins: an answer may come so long after messages that sort behind it. */
const LONGEST_TURN_MS = 10 * 60 * 1000;

/** An agent by its id alone, with its workspace's plan; none where the workspace is deleted. */
export function findOpenAgent(db: Database, agentId: string) {
  return db
    .select({
      ...getTableColumns(agents),
      // Under names of their own: a batch returns objects, in which columns of one name fall together.
      plan: sql<Plan>`${workspaces.plan}`.as("workspace_plan"),
      overrides: sql<Partial<Limits>>`${workspaces.limits}`.mapWith(workspaces.limits).as("workspace_limits"),
    })
    .from(agents)
    .innerJoin(workspaces, eq(workspaces.id, agents.workspaceId))
    .where(and(eq(agents.id, agentId), isNull(workspaces.deletedAt)));
}

/** Which origins a preflight's agent lets in; it is named by a path alone, its own or a conversation's. */
export function findAllowedOrigins(db: Database, named: { agentId: string } | { conversationId: string }) {
  const agentId =
    "agentId" in named ? sql`${named.agentId}` : sql`(SELECT agent_id FROM ${conversations} WHERE id = ${named.conversationId})`;
  return db
    .select({ allowedOrigins: agents.allowedOrigins })
    .from(agents)
    .where(sql`${agents.id} = ${agentId}`);
}

/** The visitor that a token names. */
export function findTokenVisitor(db: Database, { agentId, visitorId }: VisitorClaim) {
  return db
    .select()
    .from(visitors)
    .where(and(eq(visitors.id, visitorId), eq(visitors.workspaceId, workspaceOf(agentId))));
}

/** A conversation of this surface with the agent, and whose it is. */
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
    .where(isHere(agentId, conversationId));
}

/** A conversation that a token opens. */
export function findOwnConversation(db: Database, claim: VisitorClaim, conversationId: string) {
  return db.select().from(conversations).where(isOwn(claim, conversationId));
}

/**
 * The messages that came after one, in the order in which they came, of a conversation that a token opens.
 * @param after the message that was seen last; without it all are new.
 */
export function listNewMessages(db: Database, claim: VisitorClaim, conversationId: string, after: string | undefined) {
  const mayRead = sql`EXISTS (SELECT 1 FROM ${conversations} WHERE ${isOwn(claim, conversationId)})`;
  const workspace = eq(messages.workspaceId, workspaceOf(claim.agentId));
  return db
    .select()
    .from(messages)
    .where(and(workspace, eq(messages.conversationId, conversationId), mayRead, after === undefined ? undefined : isAfter(after)))
    .orderBy(messages.createdAt, messages.id)
    .limit(POLL_LIMIT);
}

/** An agent's answer in a conversation that is found to be the visitor's in the same batch. */
export function findVisitorAnswer(db: Database, { agentId }: VisitorClaim, key: { conversation_id: string; message_id: string }) {
  const workspace = eq(messages.workspaceId, workspaceOf(agentId));
  const isAnswer = and(eq(messages.id, key.message_id), eq(messages.conversationId, key.conversation_id), eq(messages.role, "assistant"));
  return db.select().from(messages).where(and(workspace, isAnswer));
}

/** By time first, since identifiers are given before answers are; the identifiers bound what is read. */
function isAfter(messageId: string): SQL {
  const takenAtMs = Number.parseInt(messageId.replace("-", "").slice(0, 12), 16);
  const floor = Math.max(0, takenAtMs - LONGEST_TURN_MS)
    .toString(16)
    .padStart(12, "0");
  const seenAt = sql`coalesce((SELECT seen.created_at FROM ${messages} seen WHERE seen.id = ${messageId}), ${takenAtMs})`;
  return sql`${messages.id} > ${`${floor.slice(0, 8)}-${floor.slice(8)}`}
    AND (${messages.createdAt}, ${messages.id}) > (${seenAt}, ${messageId})`;
}

/** Notes how content the visitor was; a later score replaces it. */
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
    .where(isOwn(claim, conversationId));
}

/** A visitor's own conversation: begun by the one that the token names, whoever that one turned out to be. */
function isOwn({ agentId, visitorId }: VisitorClaim, conversationId: string): SQL {
  return and(isHere(agentId, conversationId), or(eq(conversations.visitorId, visitorId), eq(conversations.begunBy, visitorId)))!;
}

function isHere(agentId: string, conversationId: string): SQL {
  return and(
    eq(conversations.id, conversationId),
    eq(conversations.agentId, agentId),
    eq(conversations.workspaceId, workspaceOf(agentId)),
    inArray(conversations.channel, VISITOR_CHANNELS),
  )!;
}

/** The agent's id alone names no workspace. */
function workspaceOf(agentId: string): SQL {
  return sql`(SELECT workspace_id FROM ${agents} WHERE id = ${agentId})`;
}

/** Tells the visitor in the transcript, if the statement before handed the conversation over. Nobody's words, so nobody's reply. */
export function addNotice(
  db: Database,
  { workspaceId, conversationId }: ConversationKey,
  notice: { id: string; content: string; nowMs: number },
) {
  const row = {
    id: notice.id,
    workspaceId,
    conversationId,
    role: "system" as const,
    authorType: "system" as const,
    content: notice.content,
    needsHuman: true,
    createdAt: notice.nowMs,
  };
  return insertWhere(db, messages, row, IF_CHANGED);
}

/** What the visitor last wrote, and which message it is: the cause of a hand-off that they ask for. */
export function lastQuestion({ workspaceId, conversationId }: ConversationKey): { summary: SQL; triggerMessageId: SQL } {
  const last = sql`FROM ${messages} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversationId} AND role = 'user'
    ORDER BY id DESC LIMIT 1`;
  return { summary: sql`(SELECT substr(content, 1, ${HANDOFF_SUMMARY_LENGTH}) ${last})`, triggerMessageId: sql`(SELECT id ${last})` };
}
