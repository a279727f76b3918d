import { eq, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import type { RuleConditions } from "../platform/db/columns.ts";
import { agents, members, routingRules, teams } from "../platform/db/schema.ts";
import { findOwn, insertWhere, isOwn, workspaceExists } from "../platform/db/sql.ts";
import { toSearchable } from "./assignment.ts";

export type RuleRow = typeof routingRules.$inferSelect;

/** Lists all rules of a workspace in their order. */
export function listRules(db: Database, workspaceId: string) {
  return db.select().from(routingRules).where(eq(routingRules.workspaceId, workspaceId)).orderBy(routingRules.position, routingRules.id);
}

export function findRule(db: Database, workspaceId: string, ruleId: string) {
  return findOwn(db, routingRules, workspaceId, ruleId);
}

/** Adds a rule at the end, unless the workspace has `maxRules` already. A rule with the same id stays as it is. */
export function createRule(db: Database, rule: Omit<typeof routingRules.$inferInsert, "position">, maxRules: number) {
  const { workspaceId } = rule;
  const ofWorkspace = sql`FROM ${routingRules} WHERE workspace_id = ${workspaceId}`;
  const position = sql`(SELECT coalesce(max(position), 0) + 1 ${ofWorkspace})`;
  const condition = sql`${workspaceExists(workspaceId)} AND (SELECT count(*) ${ofWorkspace}) < ${maxRules}`;
  return insertWhere(db, routingRules, { ...rule, position }, condition).onConflictDoNothing();
}

/** Changes the given fields. */
export function updateRule(db: Database, workspaceId: string, ruleId: string, changes: Partial<RuleRow>, nowMs: number) {
  return db
    .update(routingRules)
    .set({ ...changes, updatedAt: nowMs })
    .where(isOwn(routingRules, workspaceId, ruleId));
}

/** Numbers these rules in their order, from 1. */
export function orderRules(db: Database, workspaceId: string, ruleIds: readonly string[]) {
  const place = sql`(SELECT key + 1 FROM json_each(${JSON.stringify(ruleIds)}) WHERE value = ${routingRules.id})`;
  return db
    .update(routingRules)
    .set({ position: sql`coalesce(${place}, ${routingRules.position})` })
    .where(eq(routingRules.workspaceId, workspaceId));
}

/** Deletes a rule, and returns it if it existed. */
export function eraseRule(db: Database, workspaceId: string, ruleId: string) {
  return db
    .delete(routingRules)
    .where(isOwn(routingRules, workspaceId, ruleId))
    .returning({ id: routingRules.id });
}

/** Finds which of the records that a rule names exist. */
export function findNamed(
  db: Database,
  workspaceId: string,
  { agentId, teamId, assigneeId }: { agentId: string; teamId: string; assigneeId: string },
) {
  const has = (table: typeof agents | typeof teams | typeof members, id: string) =>
    sql<number>`EXISTS (SELECT 1 FROM ${table} t WHERE t.id = ${id} AND t.workspace_id = ${workspaceId}`;
  return db
    .select({
      hasAgent: sql<number>`${has(agents, agentId)})`.as("has_agent"),
      hasTeam: sql<number>`${has(teams, teamId)})`.as("has_team"),
      hasAssignee: sql<number>`${has(members, assigneeId)} AND t.status <> 'removed')`.as("has_assignee"),
    })
    .from(sql`(SELECT 1)`);
}

/** Returns conditions as they are stored: with the words in the form in which they are looked for. */
export function toStored(conditions: RuleConditions): RuleConditions & { phrases?: string[] } {
  return { ...conditions, ...(conditions.contains && { phrases: conditions.contains.map(toSearchable) }) };
}
