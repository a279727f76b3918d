import { and, eq, isNull, lt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { conversations, idempotencyRecords, workspaces } from "../db/schema.ts";
import { deleteSome, exists, insertWhere, isOwn } from "../db/sql.ts";
import { DAY_MS } from "../time.ts";

type Key = Pick<typeof idempotencyRecords.$inferInsert, "workspaceId" | "key">;

/** How long a key replays its stored response. */
export const KEY_LIFETIME_MS = DAY_MS;
/** The largest size of the responses that are kept for one workspace, so that no workspace fills a database that others use. */
const MAX_WORKSPACE_BYTES = 64 * 1024 * 1024;
/**
 * The size of responses and records beyond which a workspace reserves no further key. The triggers count 512 bytes for each record, so
 * that a workspace whose responses are no longer kept may still use 130,000 keys.
 */
const MAX_RESERVED_BYTES = 2 * MAX_WORKSPACE_BYTES;
/** A request deletes more expired records than it adds, so that their number does not grow between two runs of the sweep. */
const PRUNED_PER_KEY = 2;

/**
 * Reserves a key for a request, after deleting a record from before `expiredMs`, and reads the key's record. Finds none if the workspace
 * has no room for another one.
 */
export function reserveKey(db: Database, record: typeof idempotencyRecords.$inferInsert, expiredMs: number) {
  return [
    pruneKeys(db, expiredMs, PRUNED_PER_KEY),
    db.delete(idempotencyRecords).where(and(isKey(record), lt(idempotencyRecords.createdAt, expiredMs))),
    insertWhere(db, idempotencyRecords, record, sql`${keptBytes(record)} < ${MAX_RESERVED_BYTES}`)
      .onConflictDoNothing()
      .returning({ key: idempotencyRecords.key }),
    db.select().from(idempotencyRecords).where(isKey(record)),
  ] as const;
}

/** Takes over a request whose lease has expired; returns nothing if another request was faster. */
export function takeOver(db: Database, key: Key, leaseUntil: number, nowMs: number) {
  return db
    .update(idempotencyRecords)
    .set({ leaseUntil })
    .where(and(isKey(key), lt(idempotencyRecords.leaseUntil, nowMs), isNull(idempotencyRecords.responseStatus)))
    .returning({ key: idempotencyRecords.key });
}

/** Stores the response for replays, unless its conversation was erased meanwhile or the workspace has no room for it. */
export function storeResponse(db: Database, key: Key, response: { status: number; body: string; conversationId: string | null }) {
  const { status, body, conversationId } = response;
  return db
    .update(idempotencyRecords)
    .set({ responseStatus: status, responseBody: body, conversationId })
    .where(and(isKey(key), hasRoom(key, body.length), conversationId === null ? undefined : conversationExists(key, conversationId)));
}

/** Records the conversation of a streamed response, whose body is not stored here, since the conversation holds it. */
export function linkConversation(db: Database, key: Key, conversationId: string) {
  return db
    .update(idempotencyRecords)
    .set({ conversationId })
    .where(and(isKey(key), conversationExists(key, conversationId)));
}

/** Ends the lease of a request whose response is not stored, so that it may be repeated immediately. */
export function releaseKey(db: Database, key: Key) {
  return db
    .update(idempotencyRecords)
    .set({ leaseUntil: 0 })
    .where(and(isKey(key), isNull(idempotencyRecords.responseStatus)));
}

/** Deletes up to `limit` records from before `expiredMs`. */
export function pruneKeys(db: Database, expiredMs: number, limit: number) {
  return deleteSome(db, idempotencyRecords, lt(idempotencyRecords.createdAt, expiredMs), limit);
}

function hasRoom(key: Key, bytes: number) {
  return sql`${keptBytes(key)} <= ${MAX_WORKSPACE_BYTES - bytes}`;
}

function keptBytes({ workspaceId }: Key) {
  return sql`coalesce((SELECT ${workspaces.keptResponseBytes} FROM ${workspaces} WHERE ${workspaces.id} = ${workspaceId}), 0)`;
}

function conversationExists({ workspaceId }: Key, conversationId: string) {
  return exists(conversations, isOwn(conversations, workspaceId, conversationId));
}

function isKey({ workspaceId, key }: Key) {
  return and(eq(idempotencyRecords.workspaceId, workspaceId), eq(idempotencyRecords.key, key));
}
