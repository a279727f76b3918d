import { and, desc, eq, inArray, isNull, lt, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { workspaceDirectory, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, isWorkspace, jsonIds } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";

type NewWorkspace = typeof workspaces.$inferInsert;

// --- The directory, in shard 0 ---------------------------------------------------------------------------------------

/** Claims a slug for a workspace. Returns no row if another workspace has it. */
export function claimSlug(directory: Database, entry: typeof workspaceDirectory.$inferInsert) {
  return directory
    .insert(workspaceDirectory)
    .values(entry)
    .onConflictDoNothing()
    .returning({ workspaceId: workspaceDirectory.workspaceId });
}

/** Finds the directory's entry of a slug. */
export function findSlug(directory: Database, slug: string) {
  return directory.select().from(workspaceDirectory).where(eq(workspaceDirectory.slug, slug));
}

export function releaseSlug(directory: Database, workspaceId: string) {
  return directory.delete(workspaceDirectory).where(eq(workspaceDirectory.workspaceId, workspaceId));
}

/** Lists a page of the directory's entries of all workspaces, newest first. */
export function listDirectory(directory: Database, { limit, offset }: { limit: number; offset: number }) {
  return directory.select().from(workspaceDirectory).orderBy(desc(workspaceDirectory.workspaceId)).limit(limit).offset(offset);
}

// --- Workspaces, in their shards -----------------------------------------------------------------------------------

/** Adds a workspace. Returns no row if it exists or is being imported. */
export function createWorkspace(db: Database, workspace: NewWorkspace) {
  return insertWhere(db, workspaces, workspace, importCompleted(sql`${workspace.id}`))
    .onConflictDoNothing()
    .returning();
}

/** Lists the workspaces with these identifiers that are not deleted. */
export function listWorkspaces(db: Database, workspaceIds: string[]) {
  return db
    .select()
    .from(workspaces)
    .where(and(inArray(workspaces.id, jsonIds(workspaceIds)), isNull(workspaces.deletedAt)));
}

/**
 * Changes a workspace. `limits` and `retention` are merged into the stored ones, and a null removes a value (JSON merge
 * patch, RFC 7396). After a change of `retention`, the next sweep prunes the workspace.
 */
export function updateWorkspace(
  db: Database,
  workspaceId: string,
  {
    limits,
    retention,
    ...changes
  }: Partial<Omit<NewWorkspace, "limits" | "retention">> & { limits?: object; retention?: object; updatedAt: number },
) {
  const patch = (column: SQLiteColumn, value: object) => sql`json_patch(${column}, ${JSON.stringify(value)})`;
  const merged = {
    ...(limits && { limits: patch(workspaces.limits, limits) }),
    ...(retention && {
      retention: patch(workspaces.retention, retention),
      pruneAt: sql`iif(${patch(workspaces.retention, retention)} = '{}', NULL, ${changes.updatedAt})`,
    }),
  };
  return db
    .update(workspaces)
    .set({ ...changes, ...merged })
    .where(isWorkspace(workspaceId))
    .returning();
}

/** Marks a workspace as deleted. Returns no row if there is none. */
export function markDeleted(db: Database, workspaceId: string, nowMs: number) {
  return db.update(workspaces).set({ deletedAt: nowMs }).where(isWorkspace(workspaceId)).returning({ id: workspaces.id });
}

/** Lists workspaces that were deleted before `beforeMs` and are not erased yet, in no particular order. */
export function listDeleted(db: Database, beforeMs: number, limit: number) {
  return db
    .select({ workspaceId: workspaces.id })
    .from(workspaces)
    .where(isNextInTurn(WAITING.workspaceErasures, lt(workspaces.deletedAt, beforeMs), limit));
}
