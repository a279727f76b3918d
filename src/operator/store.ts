import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { emailDirectory, workspaceDirectory, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, jsonIds } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";

interface Patches {
  limits?: object;
  retention?: object;
}

type NewWorkspace = typeof workspaces.$inferInsert;

// --- The directory, in shard 0 ---------------------------------------------------------------------------------------

/** Claims a slug for a workspace; returns nothing if another workspace has it. */
export function claimSlug(directory: Database, entry: typeof workspaceDirectory.$inferInsert) {
  return directory
    .insert(workspaceDirectory)
    .values(entry)
    .onConflictDoNothing()
    .returning({ workspaceId: workspaceDirectory.workspaceId });
}

/** The workspace with a slug. */
export function findSlug(directory: Database, slug: string) {
  return directory.select().from(workspaceDirectory).where(eq(workspaceDirectory.slug, slug));
}

export function releaseSlug(directory: Database, workspaceId: string) {
  return directory.delete(workspaceDirectory).where(eq(workspaceDirectory.workspaceId, workspaceId));
}

/** One page of all workspaces, newest first. */
export function listDirectory(directory: Database, page: { limit: number; offset: number }) {
  const { limit, offset } = page;
  return directory.select().from(workspaceDirectory).orderBy(desc(workspaceDirectory.workspaceId)).limit(limit).offset(offset);
}

/** Claims a mail address for an agent; does nothing if the address is claimed already. */
export function claimAddress(directory: Database, entry: typeof emailDirectory.$inferInsert) {
  return directory.insert(emailDirectory).values(entry).onConflictDoNothing();
}

/** The agent with a mail address. */
export function findAddress(directory: Database, address: string) {
  return directory.select().from(emailDirectory).where(eq(emailDirectory.address, address));
}

/** Releases every mail address of an agent except `kept`. */
export function releaseAddresses(directory: Database, workspaceId: string, agentId: string, kept: string | null) {
  const isOfAgent = and(eq(emailDirectory.workspaceId, workspaceId), eq(emailDirectory.agentId, agentId));
  return directory.delete(emailDirectory).where(and(isOfAgent, sql`${emailDirectory.address} IS NOT ${kept}`));
}

// --- Workspaces, in their shards -----------------------------------------------------------------------------------

/** Adds a workspace; returns nothing if it exists or is being imported. */
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
 * Changes a workspace. `limits` and `retention` are merged into the stored ones, and a null removes a value (JSON merge
 * patch, RFC 7396). After a change of `retention`, the next sweep prunes the workspace.
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

/** Marks a workspace as deleted; returns nothing if there is none. */
export function markDeleted(db: Database, workspaceId: string, nowMs: number) {
  return db
    .update(workspaces)
    .set({ deletedAt: nowMs })
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)))
    .returning({ id: workspaces.id });
}

/** Workspaces that were deleted before `beforeMs` and are not erased yet, in no order. */
export function listDeleted(db: Database, beforeMs: number, limit: number) {
  return db
    .select({ workspaceId: workspaces.id })
    .from(workspaces)
    .where(isNextInTurn(WAITING.workspaceErasures, lt(workspaces.deletedAt, beforeMs), limit));
}
