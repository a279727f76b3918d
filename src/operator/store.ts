import { and, desc, eq, inArray, isNull, lt, ne, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { agents, apiKeys, members, usagePeriods, visitorCounts, workspaceDirectory, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, isWorkspace, jsonIds } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";
import { COUNTED_PER_DAY } from "../workspaces/usage-limits.ts";
import { redactionsSum } from "../workspaces/store.ts";

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

/** Reads the usage of workspaces: the questions of a period, the sums over their agents and keys, and the counts of the day. */
export function listUsage(db: Database, workspaceIds: string[], period: string, day: { sender: string; startMs: number }) {
  const ids = jsonIds(workspaceIds);
  const { flow, sender, startsAt, count } = visitorCounts;
  return [
    db
      .select({ workspaceId: usagePeriods.workspaceId, messages: usagePeriods.messages, redactions: redactionsSum.as("redactions") })
      .from(usagePeriods)
      .where(and(sql`${usagePeriods.workspaceId} IN ${ids}`, eq(usagePeriods.period, period))),
    db
      .select({
        workspaceId: agents.workspaceId,
        answers: sql<number>`sum(${agents.answersCount})`.as("answers"),
        mostTextBytes: sql<number>`max(${agents.textBytes})`.as("most_text_bytes"),
      })
      .from(agents)
      .where(sql`${agents.workspaceId} IN ${ids}`)
      .groupBy(agents.workspaceId),
    db
      .select({ workspaceId: apiKeys.workspaceId, keys: sql<number>`count(*)`.as("keys") })
      .from(apiKeys)
      .where(and(sql`${apiKeys.workspaceId} IN ${ids}`, isNull(apiKeys.revokedAt)))
      .groupBy(apiKeys.workspaceId),
    db
      .select({ workspaceId: visitorCounts.workspaceId, flow, count })
      .from(visitorCounts)
      .where(
        and(sql`${visitorCounts.workspaceId} IN ${ids}`, inArray(flow, COUNTED_PER_DAY), eq(startsAt, day.startMs), eq(sender, day.sender)),
      ),
    db
      .select({ workspaceId: members.workspaceId, members: sql<number>`count(*)`.as("members") })
      .from(members)
      .where(and(sql`${members.workspaceId} IN ${ids}`, ne(members.status, "removed")))
      .groupBy(members.workspaceId),
  ] as const;
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
