import { and, count, desc, eq, getTableColumns } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { agentVersionCounts, agentVersions } from "../platform/db/schema.ts";
import { type AgentKey, isOfAgent } from "../platform/db/sql.ts";

/** Lists a page of the counts of an agent's versions, newest first. A version that has not answered yet has none. */
export function listVersionCounts(db: Database, key: AgentKey, { limit, offset }: { limit: number; offset: number }) {
  const { workspaceId, agentId, version } = agentVersionCounts;
  const isVersion = and(eq(agentVersions.workspaceId, workspaceId), eq(agentVersions.agentId, agentId), eq(agentVersions.number, version));
  return db
    .select({ ...getTableColumns(agentVersionCounts), note: agentVersions.note, createdAt: agentVersions.createdAt })
    .from(agentVersionCounts)
    .innerJoin(agentVersions, isVersion)
    .where(isOfAgent(agentVersionCounts, key))
    .orderBy(desc(version))
    .limit(limit)
    .offset(offset);
}

export type VersionCounts = Awaited<ReturnType<typeof listVersionCounts>>[number];

/** Counts the rows of `listVersionCounts`, which is the number of versions that have answered. */
export function countVersionRows(db: Database, key: AgentKey) {
  return db.select({ count: count() }).from(agentVersionCounts).where(isOfAgent(agentVersionCounts, key));
}
