import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { emailDirectory, workspaceDirectory, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, jsonIds } from "../platform/db/sql.ts";

interface Patches {
  limits?: object;
  retention?: object;
}

type NewWorkspace = typeof workspaces.$inferInsert;

// --- The directory, in shard 0 ---------------------------------------------------------------------------------------

/** Claims a slug for a workspace; returns nothing when another workspace has it. */
export function claimSlug(directory: Database, entry: typeof workspaceDirectory.$inferInsert) {
  return directory
    .insert(workspaceDirectory)
    .values(entry)
    .onConflictDoNothing()
    .returning({ workspaceId: workspaceDirectory.workspaceId });
}

/** Who holds a slug. */
export function findSlug(directory: Database, slug: string) {
  return directory.select().from(workspaceDirectory).where(eq(workspaceDirectory.slug, slug));
}

/** Gives a workspace's slug back. */
export function releaseSlug(directory: Database, workspaceId: string) {
  return directory.delete(workspaceDirectory).where(eq(workspaceDirectory.workspaceId, workspaceId));
}

/** One page of all workspaces, newest first. */
export function listDirectory(directory: Database, page: { limit: number; offset: number }) {
  const { limit, offset } = page;
  return directory.select().from(workspaceDirectory).orderBy(desc(workspaceDirectory.workspaceId)).limit(limit).offset(offset);
}

/** Claims a mail address for an agent; an address that the agent already has is kept. */
export function claimAddress(directory: Database, entry: typeof emailDirectory.$inferInsert) {
  return directory.insert(emailDirectory).values(entry).onConflictDoNothing();
}

/** Who holds a mail address. */
export function findAddress(directory: Database, address: string) {
  return directory.select().from(emailDirectory).where(eq(emailDirectory.address, address));
}

/** Gives back every mail address of an agent but the one that it keeps. */
export function releaseAddresses(directory: Database, workspaceId: string, agentId: string, kept: string | null) {
  const isAgents = and(eq(emailDirectory.workspaceId, workspaceId), eq(emailDirectory.agentId, agentId));
  return directory.delete(emailDirectory).where(and(isAgents, sql`${emailDirectory.address} IS NOT ${kept}`));
}

// --- Workspaces, each in its shard -----------------------------------------------------------------------------------

/** Adds a workspace; one that is there, or is being imported, stays as it is. */
export function createWorkspace(db: Database, workspace: NewWorkspace) {
  return insertWhere(db, workspaces, workspace, importCompleted(sql`${workspace.id}`))
    .onConflictDoNothing()
    .returning();
}

/** The workspaces with these identifiers that are not deleted. */
export function listWorkspaces(db: Database, workspaceIds: string[]) {
  const wanted = sql`${workspaces.id} IN ${jsonIds(workspaceIds)}`;
  return db
    .select()
    .from(workspaces)
    .where(and(wanted, isNull(workspaces.deletedAt)));
}

/**
 * Changes a workspace. `limits` and `retention` are laid over what is stored; a null takes a value away (JSON merge patch,
 * RFC 7396). With `retention`, the next sweep looks for what is kept no longer.
 */
export function updateWorkspace(
  db: Database,
  workspaceId: string,
  { limits, retention, ...changes }: Partial<Omit<NewWorkspace, "limits" | "retention">> & Patches & { updatedAt: number },
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
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)))
    .returning();
}

/** Marks a workspace as deleted; returns nothing when there is none to delete. */
export function markDeleted(db: Database, workspaceId: string, nowMs: number) {
  return db
    .update(workspaces)
    .set({ deletedAt: nowMs })
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)))
    .returning({ id: workspaces.id });
}

/** Workspaces that were deleted before `beforeMs` and still have rows. */
export function listDeleted(db: Database, beforeMs: number, limit: number) {
  return db.select({ workspaceId: workspaces.id }).from(workspaces).where(lt(workspaces.deletedAt, beforeMs)).limit(limit);
}
