import { and, eq, isNull, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { apiKeys, workspaces } from "../db/schema.ts";

/** The workspace, unless it is deleted. */
export function findWorkspace(db: Database, workspaceId: string) {
  return db
    .select()
    .from(workspaces)
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)));
}

/** All keys of a workspace, revoked ones included, oldest first. */
export function listKeys(db: Database, workspaceId: string) {
  return db.select().from(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).orderBy(apiKeys.id);
}

/** Adds a key, if its workspace is there; returns it then. */
export function createKey(db: Database, key: typeof apiKeys.$inferInsert) {
  const exists = sql`EXISTS (SELECT 1 FROM ${workspaces} WHERE ${workspaces.id} = ${key.workspaceId} AND ${workspaces.deletedAt} IS NULL)`;
  return insertWhere(db, apiKeys, key, exists).returning();
}

/** Revokes a key; a key that was revoked keeps its time. Returns its row, or none when there is no such key. */
export function revokeKey(db: Database, workspaceId: string, keyId: string, nowMs: number) {
  return db
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, ${nowMs})` })
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, keyId)))
    .returning({ id: apiKeys.id });
}

/** Notes which secret made a key, and when it was last used under one that is outdated. */
export function noteSecret(
  db: Database,
  workspaceId: string,
  keyId: string,
  noted: Pick<typeof apiKeys.$inferSelect, "secretId" | "outdatedUseAt">,
) {
  return db
    .update(apiKeys)
    .set(noted)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, keyId)));
}
