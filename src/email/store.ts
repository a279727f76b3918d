import { and, eq, inArray, isNull, lt, lte, not, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import {
  agents,
  conversations,
  inboundEmails,
  emailDirectory,
  emailOutbox,
  emailThreads,
  messages,
  workspaces,
} from "../platform/db/schema.ts";
import { deleteSome, exists, importCompleted, insertWhere } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";

/** The mailboxes that have one of these addresses. */
export function listMailboxes(directory: Database, addresses: string[]) {
  return directory.select().from(emailDirectory).where(inArray(emailDirectory.address, addresses));
}

// --- Inbound ---------------------------------------------------------------------------------------------------------

/**
 * Records an inbound mail, unless its sender has sent `limit` mails since `sinceMs`. A mail that is delivered again keeps the time of its
 * first delivery.
 */
export function recordInboundEmail(
  db: Database,
  mail: typeof inboundEmails.$inferInsert,
  { limit, sinceMs }: { limit: number; sinceMs: number },
) {
  const { workspaceId, senderKey } = mail;
  const recent = sql`(SELECT count(*) FROM ${inboundEmails}
    WHERE workspace_id = ${workspaceId} AND sender_key = ${senderKey} AND created_at >= ${sinceMs})`;
  return insertWhere(db, inboundEmails, mail, sql`${recent} < ${limit}`).onConflictDoNothing();
}

export function findInboundEmail(db: Database, workspaceId: string, mailKey: string) {
  return db
    .select({ createdAt: inboundEmails.createdAt })
    .from(inboundEmails)
    .where(and(eq(inboundEmails.workspaceId, workspaceId), eq(inboundEmails.mailKey, mailKey)));
}

/** Deletes the record of a mail that was refused. */
export function deleteInboundEmail(db: Database, workspaceId: string, mailKey: string) {
  return db.delete(inboundEmails).where(and(eq(inboundEmails.workspaceId, workspaceId), eq(inboundEmails.mailKey, mailKey)));
}

/** Deletes the records of up to `limit` old mails. */
export function pruneInboundEmails(db: Database, beforeMs: number, limit: number) {
  return deleteSome(db, inboundEmails, lt(inboundEmails.createdAt, beforeMs), limit);
}

/** The conversations among these that are mail threads between the agent and this sender. */
export function listThreads(db: Database, agentId: string, address: string, conversationIds: string[]) {
  return db
    .select({ conversationId: emailThreads.conversationId })
    .from(emailThreads)
    .innerJoin(conversations, eq(conversations.id, emailThreads.conversationId))
    .where(
      and(
        inArray(emailThreads.conversationId, conversationIds),
        eq(emailThreads.address, address),
        eq(conversations.agentId, agentId),
        eq(conversations.channel, "email"),
      ),
    );
}

/** How many ids of earlier mails a thread keeps. Mail programs need only the latest. */
const MAX_EARLIER_IDS = 20;

/** Creates a thread, or records its latest mail. */
export function upsertThread(db: Database, thread: Omit<typeof emailThreads.$inferInsert, "earlierIds">) {
  const isAnother = sql`${emailThreads.lastMessageId} IS NOT NULL AND ${emailThreads.lastMessageId} IS NOT excluded.last_message_id`;
  const appended = sql`json_insert(${emailThreads.earlierIds}, '$[#]', ${emailThreads.lastMessageId})`;
  const latest = sql`CASE WHEN json_array_length(${appended}) > ${MAX_EARLIER_IDS} THEN json_remove(${appended}, '$[0]') ELSE ${appended} END`;
  return db
    .insert(emailThreads)
    .values({ ...thread, earlierIds: [] })
    .onConflictDoUpdate({
      target: emailThreads.conversationId,
      set: {
        earlierIds: sql`CASE WHEN ${isAnother} THEN ${latest} ELSE ${emailThreads.earlierIds} END`,
        lastMessageId: sql`excluded.last_message_id`,
      },
    });
}

/** Erases a thread whose first mail was refused, so that it has no conversation. */
export function eraseThread(db: Database, conversationId: string) {
  const hasConversation = exists(conversations, eq(conversations.id, conversationId));
  return db.delete(emailThreads).where(and(eq(emailThreads.conversationId, conversationId), not(hasConversation)));
}

// --- Outbound --------------------------------------------------------------------------------------------------------

/** SQL condition: the mail is not being sent. */
export function isUnleased(nowMs: number): SQL {
  return or(isNull(emailOutbox.leaseUntil), lte(emailOutbox.leaseUntil, nowMs))!;
}

/** Leases a mail that is due. Returns it, unless another run holds the lease or the mail is being imported. */
export function claimMail(db: Database, messageId: string, leaseUntilMs: number, nowMs: number) {
  const isFree = and(isUnleased(nowMs), importCompleted(emailOutbox.workspaceId));
  return db
    .update(emailOutbox)
    .set({ leaseUntil: leaseUntilMs, attemptCount: sql`${emailOutbox.attemptCount} + 1` })
    .where(
      and(eq(emailOutbox.messageId, messageId), eq(emailOutbox.status, "pending"), sql`${emailOutbox.nextAttemptAt} <= ${nowMs}`, isFree),
    )
    .returning();
}

export function findMail(db: Database, messageId: string) {
  return db
    .select({
      conversationId: messages.conversationId,
      role: messages.role,
      content: messages.content,
      citations: messages.citations,
      attachments: messages.attachments,
      agentName: sql<string>`${agents.name}`.as("agent_name"),
      mailbox: agents.emailAddress,
      address: emailThreads.address,
      subject: emailThreads.subject,
      lastMessageId: emailThreads.lastMessageId,
      earlierIds: emailThreads.earlierIds,
      /** Whether the visitor has written: a conversation that the team starts has nothing to reply to. */
      isReply: sql<number>`EXISTS (SELECT 1 FROM ${messages} m WHERE m.workspace_id = ${messages.workspaceId}
        AND m.conversation_id = ${messages.conversationId} AND m.role = 'user')`.as("is_reply"),
    })
    .from(messages)
    .innerJoin(emailThreads, eq(emailThreads.conversationId, messages.conversationId))
    .innerJoin(conversations, eq(conversations.id, messages.conversationId))
    .innerJoin(agents, eq(agents.id, conversations.agentId))
    .innerJoin(workspaces, eq(workspaces.id, messages.workspaceId))
    .where(and(eq(messages.id, messageId), sql`${workspaces.deletedAt} IS NULL`));
}

/** Records the result of sending a mail, unless another run has taken the lease. */
export function updateMail(db: Database, messageId: string, leaseUntilMs: number, changes: Partial<typeof emailOutbox.$inferInsert>) {
  return db
    .update(emailOutbox)
    .set({ leaseUntil: null, ...changes })
    .where(and(eq(emailOutbox.messageId, messageId), eq(emailOutbox.leaseUntil, leaseUntilMs)));
}

/** Due mails whose wake-up was lost or whose run was interrupted, with the workspaces in turn. */
export function listDueMails(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const where = and(lt(emailOutbox.nextAttemptAt, beforeMs), isUnleased(nowMs), importCompleted(emailOutbox.workspaceId));
  return db
    .select({ messageId: emailOutbox.messageId })
    .from(emailOutbox)
    .where(isNextInTurn(WAITING.mails, where, limit));
}
