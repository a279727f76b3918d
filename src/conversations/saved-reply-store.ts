import { eq, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { savedReplies } from "../platform/db/schema.ts";
import { findOwn, insertWhere, isOwn, workspaceExists } from "../platform/db/sql.ts";

/** Lists all saved replies of a workspace, oldest first. */
export function listSavedReplies(db: Database, workspaceId: string) {
  return db.select().from(savedReplies).where(eq(savedReplies.workspaceId, workspaceId)).orderBy(savedReplies.id);
}

export function findSavedReply(db: Database, workspaceId: string, replyId: string) {
  return findOwn(db, savedReplies, workspaceId, replyId);
}

/** Adds a saved reply unless the workspace is deleted or has `maxReplies` already. A reply with the same id stays as it is. */
export function createSavedReply(db: Database, reply: typeof savedReplies.$inferInsert, maxReplies: number) {
  const { workspaceId } = reply;
  const hasRoom = sql`(SELECT count(*) FROM ${savedReplies} WHERE workspace_id = ${workspaceId}) < ${maxReplies}`;
  return insertWhere(db, savedReplies, reply, sql`${workspaceExists(workspaceId)} AND ${hasRoom}`).onConflictDoNothing();
}

/** Changes the given fields, and returns the reply if the workspace has it. */
export function updateSavedReply(
  db: Database,
  workspaceId: string,
  replyId: string,
  changes: { name?: string | undefined; content?: string | undefined },
  nowMs: number,
) {
  return db
    .update(savedReplies)
    .set({ ...changes, updatedAt: nowMs })
    .where(isOwn(savedReplies, workspaceId, replyId))
    .returning();
}

/** Deletes a saved reply, and returns it if it existed. */
export function eraseSavedReply(db: Database, workspaceId: string, replyId: string) {
  return db
    .delete(savedReplies)
    .where(isOwn(savedReplies, workspaceId, replyId))
    .returning({ id: savedReplies.id });
}
