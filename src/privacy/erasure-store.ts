import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import {
  auditLog,
  conversations,
  deliveries,
  deliveryAttempts,
  emailOutbox,
  emailThreads,
  events,
  handoffs,
  idempotencyRecords,
  messages,
  privacyErasures,
} from "../platform/db/schema.ts";
import { importCompleted, jsonIds } from "../platform/db/sql.ts";

/** How many records of each kind an erasure removed. */
export type Deleted = Record<string, number>;

/** Begins an erasure: its audit record, which names nobody, and the work that is under way. */
export function beginErasure(db: Database, audit: typeof auditLog.$inferInsert, identifier: string) {
  const { id, workspaceId, createdAt } = audit;
  return [db.insert(auditLog).values(audit), db.insert(privacyErasures).values({ id, workspaceId, identifier, createdAt })] as const;
}

/** Erasures that began before `beforeMs` and have not ended. */
export function listUnfinishedErasures(db: Database, beforeMs: number, limit: number) {
  const isUnfinished = and(lt(privacyErasures.createdAt, beforeMs), importCompleted(privacyErasures.workspaceId));
  return db.select().from(privacyErasures).where(isUnfinished).orderBy(privacyErasures.createdAt).limit(limit);
}

/** What an erasure has removed so far. */
export function findAudit(db: Database, workspaceId: string, id: string) {
  return db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.id, id), eq(auditLog.workspaceId, workspaceId)));
}

/** Notes what has been removed so far. */
export function noteDeleted(db: Database, id: string, deleted: Deleted) {
  return db.update(auditLog).set({ detail: { deleted } }).where(eq(auditLog.id, id));
}

/** Ends an erasure: who it was about is forgotten. */
export function endErasure(db: Database, id: string) {
  return db.delete(privacyErasures).where(eq(privacyErasures.id, id));
}

/**
 * Removes up to `limit` rows of each kind that belong to these conversations, and a conversation itself when nothing of
 * it is left.
 * @param inactiveSinceMs leaves those alone that were active at that time or later.
 */
export function eraseConversationRows(
  db: Database,
  workspaceId: string,
  conversationIds: readonly string[],
  limit: number,
  inactiveSinceMs?: number,
) {
  const ids = inactiveSinceMs === undefined ? jsonIds(conversationIds) : inactiveIds(conversationIds, inactiveSinceMs);
  const theirs = sql`workspace_id = ${workspaceId} AND conversation_id IN ${ids}`;
  const ofEvents = sql`SELECT id FROM ${events} WHERE ${theirs}`;
  return {
    ...eraseEventRows(db, workspaceId, ofEvents, limit),
    messages: db
      .delete(messages)
      .where(some(messages, theirs, limit))
      .returning({ id: messages.id }),
    handoffs: db
      .delete(handoffs)
      .where(some(handoffs, theirs, limit))
      .returning({ id: handoffs.id }),
    email_outbox: db
      .delete(emailOutbox)
      .where(some(emailOutbox, theirs, limit))
      .returning({ id: emailOutbox.messageId }),
    email_threads: db
      .delete(emailThreads)
      .where(some(emailThreads, theirs, limit))
      .returning({ id: emailThreads.conversationId }),
    idempotency_records: db
      .delete(idempotencyRecords)
      .where(some(idempotencyRecords, theirs, limit))
      .returning({ id: idempotencyRecords.key }),
    conversations: db
      .delete(conversations)
      // The plus keeps the planner from reading the whole workspace: it cannot know that there are fewer identifiers.
      .where(sql`${conversations.id} IN ${ids} AND +${conversations.workspaceId} = ${workspaceId} AND ${isEmpty(workspaceId)}`)
      .returning({ id: conversations.id }),
  };
}

/** Removes the mail threads with an address, also of a first mail that was lost on its way to a conversation. */
export function eraseThreadsWith(db: Database, workspaceId: string, address: string) {
  const isTheirs = and(eq(emailThreads.workspaceId, workspaceId), eq(emailThreads.address, address));
  return db.delete(emailThreads).where(isTheirs).returning({ id: emailThreads.conversationId });
}

/** Removes the events of these leads, with their deliveries. */
export function eraseLeadEvents(db: Database, workspaceId: string, leadIds: readonly string[], limit: number) {
  const ofEvents = sql`SELECT id FROM ${events} WHERE workspace_id = ${workspaceId} AND lead_id IN ${jsonIds(leadIds)}`;
  return eraseEventRows(db, workspaceId, ofEvents, limit);
}

/** An event goes after its deliveries, and a delivery after its attempts: what is left is found by what still names it. */
function eraseEventRows(db: Database, workspaceId: string, ofEvents: SQL, limit: number) {
  const ofDeliveries = sql`SELECT id FROM ${deliveries} WHERE workspace_id = ${workspaceId} AND event_id IN (${ofEvents})`;
  const noAttempts = sql`NOT EXISTS (SELECT 1 FROM ${deliveryAttempts} WHERE delivery_id = ${deliveries}.id)`;
  const noDeliveries = sql`NOT EXISTS (SELECT 1 FROM ${deliveries} WHERE workspace_id = ${workspaceId} AND event_id = ${events}.id)`;
  return {
    delivery_attempts: db
      .delete(deliveryAttempts)
      .where(some(deliveryAttempts, sql`delivery_id IN (${ofDeliveries})`, limit))
      .returning({ id: deliveryAttempts.deliveryId }),
    deliveries: db
      .delete(deliveries)
      .where(some(deliveries, sql`id IN (${ofDeliveries}) AND ${noAttempts}`, limit))
      .returning({ id: deliveries.id }),
    events: db
      .delete(events)
      .where(some(events, sql`id IN (${ofEvents}) AND ${noDeliveries}`, limit))
      .returning({ id: events.id }),
  };
}

function isEmpty(workspaceId: string): SQL {
  const none = [messages, events, handoffs, emailOutbox, idempotencyRecords].map(
    (table) => sql`NOT EXISTS (SELECT 1 FROM ${table} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversations}.id)`,
  );
  return sql.join(none, sql` AND `);
}

function some(table: SQLiteTable, condition: SQL, limit: number): SQL {
  return sql`rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ${limit})`;
}

function inactiveIds(ids: readonly string[], sinceMs: number): SQL {
  return sql`(SELECT id FROM ${conversations} WHERE id IN ${jsonIds(ids)} AND updated_at < ${sinceMs})`;
}
