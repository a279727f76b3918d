import { and, desc, eq, gt, isNull, lt, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { agents, apiKeys, usagePeriods, workspaces } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";

/** The questions counted in one period; no row if there were none. */
export const findUsage = compiled({ messages: usagePeriods.messages }, ["workspaceId", "period"], (db, fields, workspaceId, period) =>
  db
    .select(fields)
    .from(usagePeriods)
    .where(and(eq(usagePeriods.workspaceId, workspaceId), eq(usagePeriods.period, period))),
);

/** The workspace's counters. */
export const findCounts = compiled(
  { agents: workspaces.agentsCount, sources: workspaces.sourcesCount, pages: workspaces.pagesCount },
  ["workspaceId"],
  (db, fields, workspaceId) => db.select(fields).from(workspaces).where(eq(workspaces.id, workspaceId)),
);

/** The curated answers of all agents, and the text of the agent that has the most. */
export function findAgentSums(db: Database, workspaceId: string) {
  return db
    .select({
      answers: sql<number>`coalesce(sum(${agents.answersCount}), 0)`.as("answers"),
      mostTextBytes: sql<number>`coalesce(max(${agents.textBytes}), 0)`.as("most_text_bytes"),
    })
    .from(agents)
    .where(eq(agents.workspaceId, workspaceId));
}

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

/** The keys of a workspace that are not revoked. */
export function listActiveKeys(db: Database, workspaceId: string) {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), isNull(apiKeys.revokedAt)));
}

/** The latest revoked keys are told that they were revoked; older ones are unknown, so that they do not grow for ever. */
const MAX_REVOKED_KEYS = 100;

/** The latest revoked keys of a workspace. */
export function listRevokedKeys(db: Database, workspaceId: string) {
  return db.select().from(apiKeys).where(isRevoked(workspaceId)).orderBy(desc(apiKeys.revokedAt)).limit(MAX_REVOKED_KEYS);
}

/** Deletes the revoked keys of a workspace but for the latest. */
export function pruneRevokedKeys(db: Database, workspaceId: string) {
  const latest = db
    .select({ revokedAt: apiKeys.revokedAt })
    .from(apiKeys)
    .where(isRevoked(workspaceId))
    .orderBy(desc(apiKeys.revokedAt))
    .limit(1)
    .offset(MAX_REVOKED_KEYS - 1);
  return db.delete(apiKeys).where(and(isRevoked(workspaceId), lt(apiKeys.revokedAt, sql`(${latest})`)));
}

function isRevoked(workspaceId: string) {
  return and(eq(apiKeys.workspaceId, workspaceId), gt(apiKeys.revokedAt, 0));
}

/** Adds a key and returns it; nothing if its workspace does not exist, or has `maxKeys` that are not revoked. */
export function createKey(db: Database, key: typeof apiKeys.$inferInsert, maxKeys: number) {
  const exists = sql`EXISTS (SELECT 1 FROM ${workspaces} WHERE ${workspaces.id} = ${key.workspaceId} AND ${workspaces.deletedAt} IS NULL)`;
  const active = sql`(SELECT count(*) FROM ${apiKeys} WHERE workspace_id = ${key.workspaceId} AND revoked_at IS NULL)`;
  return insertWhere(db, apiKeys, key, sql`${exists} AND ${active} < ${maxKeys}`).returning();
}

/** How many keys of a workspace are not revoked. */
export function countActiveKeys(db: Database, workspaceId: string) {
  return db
    .select({ keys: sql<number>`count(*)`.as("keys") })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), isNull(apiKeys.revokedAt)));
}

/** Revokes a key and returns its id; a key that was revoked before keeps its `revokedAt`. */
export function revokeKey(db: Database, workspaceId: string, keyId: string, nowMs: number) {
  return db
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, ${nowMs})` })
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, keyId)))
    .returning({ id: apiKeys.id });
}

/** Records which secret signed a key, and when the key was last used while that secret was outdated. */
export function recordSecretUse(
  db: Database,
  workspaceId: string,
  keyId: string,
  use: Pick<typeof apiKeys.$inferSelect, "secretId" | "outdatedUseAt">,
) {
  return db
    .update(apiKeys)
    .set(use)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, keyId)));
}
