import { and, eq, getTableColumns, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import type { Plan, RedactionSettings, StoredTool } from "../platform/db/columns.ts";
import { agents, emailDirectory, workspaces } from "../platform/db/schema.ts";
import { exists, findOwn, insertWhere, isOfAgent, isOwn, isWorkspace, workspaceExists } from "../platform/db/sql.ts";
import type { Limits } from "../workspaces/plans.ts";

type NewAgent = typeof agents.$inferInsert;

/** One page of a workspace's agents, oldest first. */
export const listAgents = compiled((db, workspaceId: string, { limit, offset }: { limit: number; offset: number }) =>
  db.select().from(agents).where(eq(agents.workspaceId, workspaceId)).orderBy(agents.id).limit(limit).offset(offset),
);

/** How many agents the workspace has; no row if there is no such workspace. */
export const findAgentsCount = compiled((db, workspaceId: string) =>
  db.select({ count: workspaces.agentsCount }).from(workspaces).where(isWorkspace(workspaceId)),
);

export const findAgent = compiled((db, workspaceId: string, agentId: string) => findOwn(db, agents, workspaceId, agentId));

/** The columns of an agent that most requests need. Reading all thirty columns costs as much as two more statements. */
export const findAgentBrief = compiled((db, workspaceId: string, agentId: string) =>
  db
    .select({ language: agents.language, answersCount: agents.answersCount })
    .from(agents)
    .where(isOwn(agents, workspaceId, agentId)),
);

/** An agent by its id only, with its workspace's plan and business hours, unless the workspace is deleted. */
export function findAgentWithPlan(db: Database, agentId: string) {
  return db
    .select({
      ...getTableColumns(agents),
      // Aliased, since D1 returns rows as objects: of two columns with the same name one would be lost.
      plan: sql<Plan>`${workspaces.plan}`.as("workspace_plan"),
      overrides: sql<Partial<Limits>>`${workspaces.limits}`.mapWith(workspaces.limits).as("workspace_limits"),
      businessHours: workspaces.businessHours,
      redaction: sql<Partial<RedactionSettings>>`${workspaces.redaction}`.mapWith(workspaces.redaction).as("workspace_redaction"),
    })
    .from(agents)
    .innerJoin(workspaces, eq(workspaces.id, agents.workspaceId))
    .where(and(eq(agents.id, agentId), isNull(workspaces.deletedAt)));
}

/** Adds an agent, unless the workspace is deleted, is at its limit or has an agent with this slug. An agent with the same id is left unchanged. */
export function createAgent(db: Database, agent: NewAgent, maxAgents: number) {
  const { workspaceId, slug } = agent;
  const hasRoom = workspaceExists(workspaceId, lt(workspaces.agentsCount, maxAgents));
  return insertWhere(db, agents, agent, sql`${hasRoom} AND NOT ${exists(agents, hasSlug(workspaceId, slug))}`).onConflictDoNothing();
}

export function findAgentBySlug(db: Database, workspaceId: string, slug: string) {
  return db.select({ id: agents.id }).from(agents).where(hasSlug(workspaceId, slug));
}

function hasSlug(workspaceId: string, slug: string) {
  return and(eq(agents.workspaceId, workspaceId), eq(agents.slug, slug));
}

/** Changes an agent, unless another agent of the workspace has the new slug. Returns the agent if it was changed. */
export function updateAgent(
  db: Database,
  workspaceId: string,
  agentId: string,
  changes: { [Name in keyof NewAgent]?: NewAgent[Name] | SQL },
) {
  return db
    .update(agents)
    .set(changes)
    .where(and(isOwn(agents, workspaceId, agentId), slugIsFree(workspaceId, agentId, changes.slug as string | undefined)))
    .returning();
}

/** SQL condition: no other agent of the workspace has a slug; undefined without a slug. */
export function slugIsFree(workspaceId: string, agentId: string, slug: string | undefined): SQL | undefined {
  if (slug === undefined) return undefined;
  return sql`NOT EXISTS (SELECT 1 FROM agents other WHERE other.workspace_id = ${workspaceId} AND other.slug = ${slug} AND other.id <> ${agentId})`;
}

/** Replaces an agent's tools, unless the agent was saved after `savedAtMs`, or another version than the published one is meant. */
export function replaceTools(
  db: Database,
  workspaceId: string,
  agentId: string,
  { tools, savedAtMs, version }: { tools: StoredTool[]; savedAtMs: number; version: number },
) {
  return db
    .update(agents)
    .set({ tools })
    .where(and(isOwn(agents, workspaceId, agentId), eq(agents.updatedAt, savedAtMs), eq(agents.version, version)));
}

/**
 * Replaces an agent's identity secret. The previous one stays valid until `previousUntilMs`; with null, it and the visitors' tokens
 * become invalid immediately.
 * @param once whether nothing is done if a request with the same times has already replaced it.
 */
export function replaceIdentitySecret(
  db: Database,
  workspaceId: string,
  agentId: string,
  {
    identitySecret,
    previousUntilMs,
    nowMs,
    once,
  }: { identitySecret: string; previousUntilMs: number | null; nowMs: number; once: boolean },
) {
  const isRevoked = previousUntilMs === null;
  const isFirst = isRevoked
    ? sql`${agents.tokensEndedAt} IS NOT ${nowMs}`
    : sql`${agents.previousIdentitySecretUntil} IS NOT ${previousUntilMs}`;
  return db
    .update(agents)
    .set({
      identitySecret,
      previousIdentitySecret: isRevoked ? null : sql`${agents.identitySecret}`,
      previousIdentitySecretUntil: sql`CASE WHEN ${agents.identitySecret} IS NOT NULL THEN ${previousUntilMs} END`,
      ...(isRevoked && { tokensEndedAt: nowMs }),
      updatedAt: nowMs,
    })
    .where(and(isOwn(agents, workspaceId, agentId), once ? isFirst : undefined));
}

/** Erases the row of an agent, not what belongs to it. */
export function eraseAgent(db: Database, workspaceId: string, agentId: string) {
  return db
    .delete(agents)
    .where(isOwn(agents, workspaceId, agentId))
    .returning({ id: agents.id });
}

/** SQL condition: the workspace has the agent, and the agent meets a further condition on its columns. */
export function agentExists(workspaceId: string, agentId: string, condition?: SQL): SQL {
  return exists(agents, isOwn(agents, workspaceId, agentId), condition);
}

// --- Mail addresses of agents, in the directory of shard 0 --------------------------------------------------------------

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
  const isAnother = sql`${emailDirectory.address} IS NOT ${kept}`;
  return directory.delete(emailDirectory).where(and(isOfAgent(emailDirectory, { workspaceId, agentId }), isAnother));
}
