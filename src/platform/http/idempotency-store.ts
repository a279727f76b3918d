import { and, eq, lt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { conversations, idempotencyRecords } from "../db/schema.ts";

type Key = Pick<typeof idempotencyRecords.$inferInsert, "workspaceId" | "key">;

/** How long a key answers with the response that was kept. */
export const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Takes a key for a request, unless it is taken; a record from before `expiredMs` is forgotten first. */
export function reserveKey(db: Database, record: typeof idempotencyRecords.$inferInsert, expiredMs: number) {
  return [
    db.delete(idempotencyRecords).where(and(isKey(record), lt(idempotencyRecords.createdAt, expiredMs))),
    db.insert(idempotencyRecords).values(record).onConflictDoNothing().returning({ key: idempotencyRecords.key }),
    db.select().from(idempotencyRecords).where(isKey(record)),
  ] as const;
}

/** Takes over a request whose lease ran out; returns nothing when another one was quicker. */
export function takeOver(db: Database, key: Key, leaseUntil: number, nowMs: number) {
  return db
    .update(idempotencyRecords)
    .set({ leaseUntil })
    .where(and(isKey(key), lt(idempotencyRecords.leaseUntil, nowMs), sql`${idempotencyRecords.responseStatus} IS NULL`))
    .returning({ key: idempotencyRecords.key });
}

/**
 * Keeps the response; the same request is answered with it from now on. Of a conversation that was erased while it was
 * answered nothing is kept.
 */
export function storeResponse(db: Database, key: Key, response: { status: number; body: string; conversationId: string | null }) {
  const { status, body, conversationId } = response;
  return db
    .update(idempotencyRecords)
    .set({ responseStatus: status, responseBody: body, conversationId })
    .where(and(isKey(key), conversationId === null ? undefined : isThere(key, conversationId)));
}

/** Notes whose conversation a streamed response tells of: the response itself is not kept, since the conversation holds it. */
export function linkConversation(db: Database, key: Key, conversationId: string) {
  return db
    .update(idempotencyRecords)
    .set({ conversationId })
    .where(and(isKey(key), isThere(key, conversationId)));
}

/** Lets go of a request that failed on our side: it may be sent again at once. */
export function releaseKey(db: Database, key: Key) {
  return db.update(idempotencyRecords).set({ leaseUntil: 0 }).where(isKey(key));
}

/** Forgets records from before `expiredMs`, some at a time. */
export function pruneKeys(db: Database, expiredMs: number, limit: number) {
  const expired = sql`(SELECT rowid FROM ${idempotencyRecords} WHERE created_at < ${expiredMs} LIMIT ${limit})`;
  return db.delete(idempotencyRecords).where(sql`rowid IN ${expired}`);
}

function isThere({ workspaceId }: Key, conversationId: string) {
  return sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
}

function isKey({ workspaceId, key }: Key) {
  return and(eq(idempotencyRecords.workspaceId, workspaceId), eq(idempotencyRecords.key, key));
}
