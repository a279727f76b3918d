import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import { detachFiles } from "../attachments/store.ts";
import type { Database } from "../platform/db/client.ts";
import {
  answerDrafts,
  approvals,
  attachments,
  auditLog,
  conversations,
  deliveries,
  deliveryAttempts,
  emailOutbox,
  emailThreads,
  events,
  handoffs,
  idempotencyRecords,
  messageFeedback,
  messages,
  notes,
  privacyErasures,
} from "../platform/db/schema.ts";
import { deleteSome, findOwn, IF_CHANGED, importCompleted, insertWhere, isAmong, jsonIds, type TableOf } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";

/** What belongs to a conversation besides its messages and files, which are erased after these. */
const OTHER_RECORDS = [notes, messageFeedback, answerDrafts, approvals, events, handoffs, emailOutbox, idempotencyRecords];

/** A negative limit is none in SQLite. */
const NO_LIMIT = -1;

/** How many records of each kind an erasure deleted. */
export type DeletedCounts = Record<string, number>;

/**
 * Creates an erasure if each window has room: its audit record, which holds no personal data, and the work in progress with the
 * encrypted identifier. Returns the id of the record if it was created.
 */
export function createErasure(db: Database, audit: typeof auditLog.$inferInsert, identifier: string, windows: readonly LimitWindow[]) {
  const { id, workspaceId, createdAt } = audit;
  return [
    insertWhere(db, auditLog, audit, windowsHaveRoom(workspaceId, windows)).returning({ id: auditLog.id }),
    ...countInWindows(db, workspaceId, windows, IF_CHANGED),
    insertWhere(db, privacyErasures, { id, workspaceId, identifier, createdAt }, IF_CHANGED),
  ] as const;
}

/** Lists unfinished erasures that started before `beforeMs`. The workspaces take turns. */
export function listUnfinishedErasures(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const { id, workspaceId, createdAt } = privacyErasures;
  const where = and(lt(createdAt, beforeMs), importCompleted(workspaceId), isNotPutOff("erasures", id, nowMs));
  return db
    .select()
    .from(privacyErasures)
    .where(isNextInTurn(WAITING.personErasures, where, limit));
}

/** Finds the audit record of an erasure. */
export function findAudit(db: Database, workspaceId: string, id: string) {
  return findOwn(db, auditLog, workspaceId, id);
}

/** Records what has been deleted so far. */
export function updateDeleted(db: Database, id: string, deleted: DeletedCounts) {
  const detail = sql`json_set(coalesce(${auditLog.detail}, '{}'), '$.deleted', json(${JSON.stringify(deleted)}))`;
  return db.update(auditLog).set({ detail }).where(eq(auditLog.id, id));
}

/**
 * Finishes an erasure by deleting the person's identifier.
 * @param expiresAt when its audit record is deleted, in Unix milliseconds; null if the record is kept.
 */
export function finishErasure(db: Database, id: string, expiresAt: number | null) {
  return [
    db.update(auditLog).set({ expiresAt }).where(eq(auditLog.id, id)),
    db.delete(privacyErasures).where(eq(privacyErasures.id, id)),
  ] as const;
}

/**
 * Deletes up to `limit` rows of each kind that belong to these conversations, and each conversation that has no rows left. The files are
 * only detached. Files and messages follow when a conversation has nothing else left, so that one that is kept after all has its whole
 * transcript.
 * @param inactiveSinceMs skips conversations with activity at or after this time. Then neither messages nor files are limited.
 */
export function eraseConversationRows(
  db: Database,
  workspaceId: string,
  conversationIds: readonly string[],
  limit: number,
  inactiveSinceMs?: number,
) {
  const ids = erasableIds(conversationIds, inactiveSinceMs);
  const isOfConversation = sql`workspace_id = ${workspaceId} AND conversation_id IN ${ids}`;
  const eventIds = sql`SELECT id FROM ${events} WHERE ${isOfConversation}`;
  const withNone = (tables: readonly TableOf[]) =>
    sql`(SELECT id FROM ${conversations} WHERE ${isAmong(conversations, workspaceId, ids)} AND ${hasNone(workspaceId, tables)})`;
  const isOfEmptied = sql`workspace_id = ${workspaceId} AND conversation_id IN ${withNone([attachments, ...OTHER_RECORDS])}`;
  const contentLimit = inactiveSinceMs === undefined ? limit : NO_LIMIT;
  return {
    ...eraseEventRows(db, workspaceId, eventIds, limit),
    notes: eraseFirst(db, notes, isOfConversation, limit),
    handoffs: eraseFirst(db, handoffs, isOfConversation, limit),
    message_feedback: eraseFirst(db, messageFeedback, isOfConversation, limit),
    answer_drafts: eraseFirst(db, answerDrafts, isOfConversation, limit),
    approvals: eraseFirst(db, approvals, isOfConversation, limit),
    email_outbox: eraseFirst(db, emailOutbox, isOfConversation, limit),
    email_threads: eraseFirst(db, emailThreads, isOfConversation, limit),
    idempotency_records: eraseFirst(db, idempotencyRecords, isOfConversation, limit),
    attachments: detachFiles(db, workspaceId, withNone(OTHER_RECORDS), contentLimit),
    messages: eraseFirst(db, messages, isOfEmptied, contentLimit),
    conversations: db
      .delete(conversations)
      .where(isAmong(conversations, workspaceId, withNone([messages, attachments, ...OTHER_RECORDS])))
      .returning({ id: conversations.id }),
  };
}

/** Deletes the email threads with an address, including one whose first email never became a conversation. */
export function eraseThreadsWith(db: Database, workspaceId: string, address: string) {
  const isWithAddress = and(eq(emailThreads.workspaceId, workspaceId), eq(emailThreads.address, address));
  return db.delete(emailThreads).where(isWithAddress).returning({ id: emailThreads.conversationId });
}

/** Deletes the events of these leads, with their deliveries. */
export function eraseLeadEvents(db: Database, workspaceId: string, leadIds: readonly string[], limit: number) {
  const eventIds = sql`SELECT id FROM ${events} WHERE workspace_id = ${workspaceId} AND lead_id IN ${jsonIds(leadIds)}`;
  return eraseEventRows(db, workspaceId, eventIds, limit);
}

/** Deletes attempts before their delivery, and deliveries before their event, so that the rows that are left can still be found. */
function eraseEventRows(db: Database, workspaceId: string, eventIds: SQL, limit: number) {
  const deliveryIds = sql`SELECT id FROM ${deliveries} WHERE workspace_id = ${workspaceId} AND event_id IN (${eventIds})`;
  const noAttempts = sql`NOT EXISTS (SELECT 1 FROM ${deliveryAttempts} WHERE delivery_id = ${deliveries}.id)`;
  const noDeliveries = sql`NOT EXISTS (SELECT 1 FROM ${deliveries} WHERE workspace_id = ${workspaceId} AND event_id = ${events}.id)`;
  return {
    delivery_attempts: eraseFirst(db, deliveryAttempts, sql`delivery_id IN (${deliveryIds})`, limit),
    deliveries: eraseFirst(db, deliveries, sql`id IN (${deliveryIds}) AND ${noAttempts}`, limit),
    events: eraseFirst(db, events, sql`id IN (${eventIds}) AND ${noDeliveries}`, limit),
  };
}

/** SQL condition on `conversations`: none of the tables has a row of the conversation. */
function hasNone(workspaceId: string, tables: readonly TableOf[]): SQL {
  const none = tables.map(
    (table) => sql`NOT EXISTS (SELECT 1 FROM ${table} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversations}.id)`,
  );
  return sql.join(none, sql` AND `);
}

/** Deletes up to `limit` rows. Returns a row for each. */
function eraseFirst(db: Database, table: TableOf, condition: SQL, limit: number) {
  return deleteSome(db, table, condition, limit).returning({ workspaceId: table.workspaceId });
}

/** SQL: the ids of those of the conversations that have no activity at or after a time, or of all if it is undefined. */
export function erasableIds(ids: readonly string[], inactiveSinceMs: number | undefined): SQL {
  if (inactiveSinceMs === undefined) return jsonIds(ids);
  return sql`(SELECT id FROM ${conversations} WHERE id IN ${jsonIds(ids)} AND updated_at < ${inactiveSinceMs})`;
}
