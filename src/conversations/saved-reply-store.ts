import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { savedReplies, teams } from "../platform/db/schema.ts";
import { exists, findOwn, insertWhere, isOwn, workspaceExists } from "../platform/db/sql.ts";

/** Lists all saved replies of a workspace, oldest first. */
export function listSavedReplies(db: Database, workspaceId: string) {
  return db.select().from(savedReplies).where(eq(savedReplies.workspaceId, workspaceId)).orderBy(savedReplies.id);
}

export function findSavedReply(db: Database, workspaceId: string, replyId: string) {
  return findOwn(db, savedReplies, workspaceId, replyId);
}

/** SQL condition: the workspace has the team, or none is given. */
function teamExists(workspaceId: string, teamId: string | null | undefined): SQL | undefined {
  return teamId ? exists(teams, isOwn(teams, workspaceId, teamId)) : undefined;
}

/**
 * Adds a saved reply unless the workspace is deleted, has `maxReplies` already or lacks the reply's team. A reply with the same id stays
 * as it is.
 */
export function createSavedReply(db: Database, reply: typeof savedReplies.$inferInsert, maxReplies: number) {
  const { workspaceId, teamId } = reply;
  const hasRoom = sql`(SELECT count(*) FROM ${savedReplies} WHERE workspace_id = ${workspaceId}) < ${maxReplies}`;
  const condition = and(workspaceExists(workspaceId), hasRoom, teamExists(workspaceId, teamId))!;
  return insertWhere(db, savedReplies, reply, condition).onConflictDoNothing();
}

/** Changes the given fields, and returns the reply if the workspace has it and its team. */
export function updateSavedReply(
  db: Database,
  workspaceId: string,
  replyId: string,
  changes: { name?: string | undefined; content?: string | undefined; teamId?: string | null | undefined },
  nowMs: number,
) {
  return db
    .update(savedReplies)
    .set({ ...changes, updatedAt: nowMs })
    .where(and(isOwn(savedReplies, workspaceId, replyId), teamExists(workspaceId, changes.teamId)))
    .returning();
}

/** Deletes a saved reply, and returns it if it existed. */
export function eraseSavedReply(db: Database, workspaceId: string, replyId: string) {
  return db
    .delete(savedReplies)
    .where(isOwn(savedReplies, workspaceId, replyId))
    .returning({ id: savedReplies.id });
}
