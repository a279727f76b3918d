import { and, eq } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { usagePeriods, workspaces } from "../db/schema.ts";

/** The questions counted in one period; no row when there was none. */
export function findUsage(db: Database, workspaceId: string, period: string) {
  return db
    .select({ messages: usagePeriods.messages })
    .from(usagePeriods)
    .where(and(eq(usagePeriods.workspaceId, workspaceId), eq(usagePeriods.period, period)));
}

/** The workspace's kept counts. */
export function findCounts(db: Database, workspaceId: string) {
  return db
    .select({ agents: workspaces.agentsCount, sources: workspaces.sourcesCount, pages: workspaces.pagesCount })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
}
