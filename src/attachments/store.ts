import { and, asc, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { attachments, messages, workspaces } from "../platform/db/schema.ts";
import { exists, findOwn, importCompleted, insertWhere, isAmong, isOwn, isWorkspace, jsonIds, jsonParam } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import { MEGABYTE } from "../workspaces/plans.ts";

/** The owner of a file that was uploaded over the integrators' API: every message that is sent over that API may take it. */
export const API_OWNER = "api";

/** The owner of a file that a visitor with a token uploaded. */
export function visitorOwner(visitorId: string): string {
  return `visitor:${visitorId}`;
}

/**
 * The owner of a file that a visitor without a token uploaded, before the first message. Only that visitor knows the id of the file,
 * which nobody can guess.
 */
export function agentOwner(agentId: string): string {
  return `agent:${agentId}`;
}

/** The files that a new message takes, and the owners of which they may be. */
export interface TakenFiles {
  ids: string[];
  owners: string[];
}

/** A new message that takes files. */
export interface Taking extends TakenFiles {
  workspaceId: string;
  messageId: string;
  nowMs: number;
}

/** What every file takes in addition to its bytes; the trigger `attachments_counted` adds it. */
const ROW_BYTES = 512;

/** Adds an uploaded file if each window and the workspace have room for it. */
export function createAttachment(
  db: Database,
  file: typeof attachments.$inferInsert,
  { windows, maxMegabytes }: { windows: readonly LimitWindow[]; maxMegabytes: number },
) {
  const { workspaceId, size } = file;
  const hasSpace = sql`${workspaces.attachmentBytes} + ${size + ROW_BYTES} <= ${Math.floor(maxMegabytes * MEGABYTE)}`;
  const isAdmitted = and(exists(workspaces, isWorkspace(workspaceId), hasSpace), windowsHaveRoom(workspaceId, windows))!;
  return insertWhere(db, attachments, file, isAdmitted).onConflictDoNothing();
}

/** Finds an attachment of a workspace. */
export function findAttachment(db: Database, workspaceId: string, attachmentId: string) {
  return findOwn(db, attachments, workspaceId, attachmentId);
}

/** Finds an attachment, if its workspace is not deleted. */
export function findFile(db: Database, attachmentId: string) {
  return db
    .select()
    .from(attachments)
    .where(and(eq(attachments.id, attachmentId), exists(workspaces, isWorkspace(attachments.workspaceId))));
}

/** SQL condition on `attachments`: the message may take the file, or has taken it. */
function isTakable({ workspaceId, messageId, ids, owners, nowMs }: Taking): SQL {
  const isFree = sql`message_id IS NULL AND owner IN ${jsonIds(owners)} AND expires_at > ${nowMs}`;
  return sql`${isAmong(attachments, workspaceId, ids)} AND (message_id = ${messageId} OR (${isFree}))`;
}

/** SQL condition: the message may take all of its files, or has taken them. */
export function areTakable(taking: Taking): SQL {
  return sql`(SELECT count(*) FROM ${attachments} WHERE ${isTakable(taking)}) = (SELECT count(*) FROM ${jsonIds(taking.ids)})`;
}

/** Lists which of its files the message may take, or has taken. */
export function listTakable(db: Database, taking: Taking) {
  return db.select({ id: attachments.id }).from(attachments).where(isTakable(taking));
}

/** Returns the positions of the files that a message cannot take. */
export function missingFiles(files: TakenFiles | undefined, takable: readonly { id: string }[] = []): number[] {
  return (files?.ids ?? []).flatMap((id, at) => (takable.some((one) => one.id === id) ? [] : [at]));
}

/** SQL: the column `attachments` of a new message: those of its files that it may take, in their order. */
export function takenFiles(taking: Taking): SQL {
  const { id, name, type, size } = attachments;
  const order = sql`(SELECT key FROM json_each(${jsonParam(taking.ids)}) WHERE value = ${id})`;
  const taken = sql`SELECT json_object('id', ${id}, 'name', ${name}, 'type', ${type}, 'size', ${size}) AS file FROM ${attachments}
    WHERE ${isTakable(taking)} ORDER BY ${order}`;
  return sql`(SELECT json_group_array(json(file)) FROM (${taken}))`;
}

/** Gives the files to their message, if it is stored. It must follow the message in the batch. */
export function takeFiles(db: Database, taking: Taking & { conversationId: string }) {
  const { messageId, conversationId, workspaceId } = taking;
  return db
    .update(attachments)
    .set({ conversationId, messageId, expiresAt: null })
    .where(and(isTakable(taking), exists(messages, isOwn(messages, workspaceId, messageId))));
}

/** Detaches up to `limit` attachments from these conversations. The sweep deletes them, if the caller does not. Returns their ids. */
export function detachFiles(db: Database, workspaceId: string, conversationIds: SQL, limit: number) {
  const some = sql`(SELECT id FROM ${attachments} WHERE workspace_id = ${workspaceId} AND conversation_id IS NOT NULL
    AND conversation_id IN ${conversationIds} LIMIT ${limit})`;
  return db
    .update(attachments)
    .set({ conversationId: null, messageId: null, expiresAt: 0 })
    .where(isAmong(attachments, workspaceId, some))
    .returning({ id: attachments.id });
}

/** Deletes these attachments. Returns a row for each. */
export function eraseAttachments(db: Database, workspaceId: string, ids: readonly string[]) {
  return db
    .delete(attachments)
    .where(isAmong(attachments, workspaceId, ids))
    .returning({ id: attachments.id });
}

/** A file that has expired is not deleted before this time has passed, so that a message that takes it meanwhile has it. */
const GRACE_MS = 60_000;

/** Returns files that no message has taken in time, and keeps messages from taking them. The workspaces take turns. */
export function claimUnusedFiles(db: Database, nowMs: number, limit: number) {
  const { id, workspaceId, expiresAt } = attachments;
  const where = and(lt(expiresAt, nowMs - GRACE_MS), importCompleted(workspaceId), isNotPutOff("attachments", workspaceId, nowMs));
  return db
    .update(attachments)
    .set({ expiresAt: 0 })
    .where(isNextInTurn(WAITING.attachments, where, limit))
    .returning({ id, workspaceId });
}

/** Finds the first attachment of a workspace after an id, or with `including` the one with this id. */
export function findAttachmentAfter(db: Database, workspaceId: string, attachmentId: string, including: boolean) {
  const { id, size } = attachments;
  return db
    .select({ id, size })
    .from(attachments)
    .where(and(eq(attachments.workspaceId, workspaceId), including ? eq(id, attachmentId) : gt(id, attachmentId)))
    .orderBy(asc(id))
    .limit(1);
}

/** Lists those of these attachments that belong to the workspace. */
export function listOwnAttachments(db: Database, workspaceId: string, ids: readonly string[]) {
  return db
    .select({ id: attachments.id, size: attachments.size })
    .from(attachments)
    .where(isAmong(attachments, workspaceId, ids));
}
