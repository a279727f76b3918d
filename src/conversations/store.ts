import { and, desc, eq, getTableColumns, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { HandoffReason } from "../platform/db/columns.ts";
import { appendEvent } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { conversations, handoffs, messages, visitors } from "../platform/db/schema.ts";
import { importCompleted, insertWhere } from "../platform/db/sql.ts";
import { conversationExists, type ConversationKey, isConversation } from "./moves-store.ts";
import { handoffRecord } from "./payloads.ts";

/** One conversation of one workspace. */
type Key = { workspaceId: string; conversationId: string };

/** The conversation, if it is the workspace's. */
export function findConversation(db: Database, workspaceId: string, conversationId: string) {
  return oneConversation(db, { workspaceId, conversationId });
}

const conversationColumns = getTableColumns(conversations);
const oneConversation = compiled<typeof conversationColumns, Key>(conversationColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(conversations)
    .where(and(eq(conversations.id, param("conversationId")), eq(conversations.workspaceId, param("workspaceId")))),
);

/** The visitor whose conversation it is. */
export function findConversationVisitor(db: Database, workspaceId: string, conversationId: string) {
  return visitorOf(db, { workspaceId, conversationId });
}

const visitorColumns = getTableColumns(visitors);
const visitorOf = compiled<typeof visitorColumns, Key>(visitorColumns, (db, fields, param) => {
  const theirs = sql`SELECT visitor_id FROM ${conversations} WHERE id = ${param("conversationId")} AND workspace_id = ${param("workspaceId")}`;
  return db
    .select(fields)
    .from(visitors)
    .where(and(eq(visitors.id, sql`(${theirs})`), eq(visitors.workspaceId, param("workspaceId"))));
});

/** The conversation's latest hand-off. */
export function findLatestHandoff(db: Database, workspaceId: string, conversationId: string) {
  return latestHandoff(db, { workspaceId, conversationId });
}

const handoffColumns = getTableColumns(handoffs);
const latestHandoff = compiled<typeof handoffColumns, Key>(handoffColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(handoffs)
    .where(and(eq(handoffs.workspaceId, param("workspaceId")), eq(handoffs.conversationId, param("conversationId"))))
    .orderBy(desc(handoffs.id))
    .limit(1),
);

/** The whole transcript, oldest first. */
export function listMessages(db: Database, workspaceId: string, conversationId: string) {
  return transcript(db, { workspaceId, conversationId });
}

const messageColumns = getTableColumns(messages);
const transcript = compiled<typeof messageColumns, Key>(messageColumns, (db, fields, param) =>
  db
    .select(fields)
    .from(messages)
    .where(and(eq(messages.workspaceId, param("workspaceId")), eq(messages.conversationId, param("conversationId"))))
    // By time first: an identifier may be older than the turn or the answer that bears it.
    .orderBy(messages.createdAt, messages.id),
);

/** One message. */
export function findMessage(db: Database, workspaceId: string, messageId: string) {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.workspaceId, workspaceId), eq(messages.id, messageId)));
}

/** Replaces the tags. */
export function setTags(db: Database, key: ConversationKey, tags: string[], nowMs: number) {
  return db.update(conversations).set({ tags, updatedAt: nowMs }).where(isConversation(key));
}

/** Adds a human's message, if the conversation is there. */
export function addReply(
  db: Database,
  { workspaceId, conversationId }: ConversationKey,
  reply: { id: string; content: string; nowMs: number },
) {
  const row = {
    id: reply.id,
    workspaceId,
    conversationId,
    role: "human" as const,
    authorType: "member" as const,
    content: reply.content,
    createdAt: reply.nowMs,
  };
  return insertWhere(db, messages, row, conversationExists({ workspaceId, conversationId })).onConflictDoNothing();
}

/** Notes when a human first replied. */
export function noteHumanReply(db: Database, key: ConversationKey, nowMs: number) {
  return db
    .update(conversations)
    .set({ firstHumanReplyAt: nowMs })
    .where(and(isConversation(key), isNull(conversations.firstHumanReplyAt)));
}

/** That nobody has written for as long as the agent waits. */
export function isIdle(nowMs: number): SQL {
  return lte(conversations.idleAt, nowMs);
}

/** Conversations whose agent has answered last and whose visitor has been silent long enough, longest first. */
export function listIdle(db: Database, nowMs: number, limit: number) {
  return (
    db
      .select({ workspaceId: conversations.workspaceId, conversationId: conversations.id })
      .from(conversations)
      // Written out, since a bound value cannot match the condition of the partial index.
      .where(and(sql`${conversations.status} = 'ai_handled'`, isIdle(nowMs), importCompleted(conversations.workspaceId)))
      .orderBy(conversations.idleAt)
      .limit(limit)
  );
}

interface Requested extends ConversationKey {
  agentId: string;
  nowMs: number;
}

interface Cause {
  reason: HandoffReason;
  summary: string | SQL | null;
  triggerMessageId: string | SQL | null;
  /** What knowledge was missing for, as analytics groups it. */
  questionKey: string | null;
}

/** A hand-off and its event, unless the conversation has one already or a human took it over meanwhile. */
export function addHandoff(db: Database, { workspaceId, conversationId, agentId, nowMs }: Requested, cause: Cause) {
  const id = newId(shardOf(workspaceId), nowMs);
  const row = { id, workspaceId, agentId, conversationId, ...cause, status: "pending" as const, requestedAt: nowMs };
  const isWaiting = sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId} AND status = 'needs_human')`;
  const event = { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
  return [
    insertWhere(db, handoffs, row, isWaiting).onConflictDoNothing(),
    ...appendEvent(db, event, "handoff.created", handoffRecord(id)),
  ] as const;
}
