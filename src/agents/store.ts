import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertWhere } from "../db/insert-where.ts";
import { agents, workspaces } from "../db/schema.ts";

type NewAgent = typeof agents.$inferInsert;

/** One page of a workspace's agents, oldest first. */
export function listAgents(db: Database, workspaceId: string, page: { limit: number; offset: number }) {
  return db.select().from(agents).where(eq(agents.workspaceId, workspaceId)).orderBy(agents.id).limit(page.limit).offset(page.offset);
}

/** How many agents the workspace has; no row when there is no such workspace. */
export function findAgentsCount(db: Database, workspaceId: string) {
  return db
    .select({ count: workspaces.agentsCount })
    .from(workspaces)
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)));
}

/** The agent, if it is the workspace's. */
export function findAgent(db: Database, workspaceId: string, agentId: string) {
  return db.select().from(agents).where(isAgent(workspaceId, agentId));
}

/** Adds an agent, unless the workspace is gone, has as many as it may or has one of this slug; returns it if it was added. */
export function createAgent(db: Database, agent: NewAgent, maxAgents: number) {
  const { workspaceId, slug } = agent;
  const condition = sql`EXISTS (SELECT 1 FROM ${workspaces} WHERE ${workspaces.id} = ${workspaceId}
      AND ${workspaces.deletedAt} IS NULL AND ${workspaces.agentsCount} < ${maxAgents})
    AND NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.workspaceId} = ${workspaceId} AND ${agents.slug} = ${slug})`;
  return insertWhere(db, agents, agent, condition).returning();
}

/** Which agent of the workspace has this slug. */
export function findAgentBySlug(db: Database, workspaceId: string, slug: string) {
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.workspaceId, workspaceId), eq(agents.slug, slug)));
}

/** Changes an agent, unless another of the workspace has its new slug; returns it if it was changed. */
export function updateAgent(db: Database, workspaceId: string, agentId: string, changes: Partial<NewAgent>) {
  const slugIsFree: SQL | undefined =
    changes.slug === undefined
      ? undefined
      : sql`NOT EXISTS (SELECT 1 FROM agents other WHERE other.workspace_id = ${workspaceId} AND other.slug = ${changes.slug} AND other.id <> ${agentId})`;
  return db
    .update(agents)
    .set(changes)
    .where(and(isAgent(workspaceId, agentId), slugIsFree))
    .returning();
}

/** Removes the agent's row; its knowledge is erased apart. */
export function eraseAgent(db: Database, workspaceId: string, agentId: string) {
  return db.delete(agents).where(isAgent(workspaceId, agentId)).returning({ id: agents.id });
}

/** For the condition of another write: the agent is the workspace's. */
export function agentExists(workspaceId: string, agentId: string): SQL {
  return sql`EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.id} = ${agentId} AND ${agents.workspaceId} = ${workspaceId})`;
}

function isAgent(workspaceId: string, agentId: string) {
  return and(eq(agents.id, agentId), eq(agents.workspaceId, workspaceId));
}
