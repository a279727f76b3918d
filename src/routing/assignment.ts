import { and, eq, sql, type SQL } from "drizzle-orm";
import { announce } from "../events/live-channel.ts";
import type { Database, Operation } from "../platform/db/client.ts";
import { type BusinessHours, MAX_TAGS, PRIORITIES } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { conversations, handoffs, IS_WITH_TEAM, members, routingRules, teams, workspaces } from "../platform/db/schema.ts";
import { increasedTo, isOwn, isWorkspace } from "../platform/db/sql.ts";
import { phraseWords } from "../text/phrases.ts";
import { businessHoursOf, openingAt } from "../workspaces/business-hours.ts";

/*
 * Which member of the team gets a conversation. A hand-off is routed by the first rule whose conditions hold, in the batch that
 * creates it. If the rule says so, the conversation then waits in its team (`queued_at`) for a member with room, and `assignNext`
 * gives the next one that waits to the member whose last assignment is longest ago. It is one statement, so that two hand-offs at once
 * never give a member more than the team's limit. It runs within business hours: after a hand-off, whenever a member may have become
 * free, and every minute.
 */

/** What a visitor wrote before a hand-off. */
export interface RoutingText {
  /** The visitor's last messages. */
  texts: readonly string[];
  /** The code of the visitor's language. */
  language: string;
}

/** Returns a text as rules look for words in it. */
export function toSearchable(text: string): string {
  return ` ${phraseWords(text).join(" ")} `;
}

type ConversationKey = { workspaceId: string; conversationId: string };

/** Returns the statements that route a new hand-off, if it was created in the same batch. @param isOpen whether the team is there. */
export function routeHandoff(
  db: Database,
  { workspaceId, conversationId }: ConversationKey,
  { id, isOpen, nowMs }: { id: string; isOpen: boolean; nowMs: number },
  { texts, language }: RoutingText,
) {
  const searched = { text: texts.map(toSearchable).join("|"), language };
  return [
    applyRule(db, { workspaceId, conversationId }, id, searched, nowMs),
    ...(isOpen ? [assignNext(db, workspaceId, nowMs)] : []),
  ] as const;
}

/**
 * Applies the first rule whose conditions hold. A conversation keeps its team and its assignee if somebody is assigned who is not a
 * member, or is one who is there. Teams and members that do not exist any more are left out.
 */
const applyRule = compiled((db, key: ConversationKey, handoffId: string, searched: { text: string; language: string }, nowMs: number) => {
  const { workspaceId, conversationId } = key;
  const condition = (name: string) => sql`(r.conditions ->> ${sql.raw(`'$.${name}'`)})`;
  const action = (name: string) => sql`(r.actions ->> ${sql.raw(`'$.${name}'`)})`;
  const matches = and(
    sql`coalesce(${condition("channel")}, c.channel) = c.channel`,
    sql`coalesce(${condition("agent_id")}, c.agent_id) = c.agent_id`,
    sql`coalesce(${condition("language")}, ${searched.language}) = ${searched.language}`,
    sql`(${condition("tag")} IS NULL OR EXISTS (SELECT 1 FROM json_each(c.tags) WHERE value = ${condition("tag")}))`,
    sql`(${condition("phrases")} IS NULL OR EXISTS (SELECT 1 FROM json_each(r.conditions, '$.phrases') WHERE instr(${searched.text}, value) > 0))`,
  );
  const isThere = sql`c.assignee_id IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM ${members} m WHERE m.id = c.assignee_id AND (m.status <> 'active' OR m.availability = 'away'))`;
  const isHandedOff = sql`EXISTS (SELECT 1 FROM ${handoffs} WHERE id = ${handoffId})`;
  const rule = sql`(
      SELECT ${isThere} AS keeps, ${action("tag")} AS tag, ${action("priority")} AS priority, ${action("assign")} AS assign, t.id AS team, m.id AS member, m.name AS member_name
      FROM ${routingRules} r CROSS JOIN ${conversations} c ON c.id = ${conversationId}
        LEFT JOIN ${teams} t ON t.id = ${action("team_id")} AND t.workspace_id = r.workspace_id
        LEFT JOIN ${members} m ON m.id = ${action("assignee_id")} AND m.workspace_id = r.workspace_id AND m.status <> 'removed'
      WHERE r.workspace_id = ${workspaceId} AND ${isHandedOff} AND ${matches} ORDER BY r.position, r.id LIMIT 1) AS rule`;
  const { assigneeId, assigneeName, priority, tags, teamId } = conversations;
  const isTagged = sql`(rule.tag IS NULL OR json_array_length(${tags}) >= ${sql.raw(String(MAX_TAGS))} OR rule.tag IN (SELECT value FROM json_each(${tags})))`;
  const isQueued = sql`(rule.team IS NOT NULL AND rule.assign IS NOT NULL)`;
  const assigned = (to: SQL, column: typeof assigneeId | typeof assigneeName) =>
    sql`CASE WHEN rule.keeps THEN ${column} WHEN rule.member IS NOT NULL THEN ${to} WHEN NOT ${isQueued} THEN ${column} END`;
  return db
    .update(conversations)
    .set({
      tags: sql`CASE WHEN ${isTagged} THEN ${tags} ELSE json_insert(${tags}, '$[#]', rule.tag) END`,
      priority: sql`coalesce(rule.priority, ${priority})`,
      teamId: sql`CASE WHEN rule.keeps OR rule.team IS NULL THEN ${teamId} ELSE rule.team END`,
      assigneeId: assigned(sql`rule.member`, assigneeId),
      assigneeName: assigned(sql`rule.member_name`, assigneeName),
      queuedAt: sql`CASE WHEN NOT rule.keeps AND rule.member IS NULL AND ${isQueued} THEN ${nowMs} END`,
    })
    .from(rule)
    .where(isOwn(conversations, workspaceId, conversationId));
});

/** SQL: the members of a workspace's teams who take another conversation, by team. */
function freeMembers(workspaceId: string): SQL {
  const open = sql`(SELECT count(*) FROM ${conversations} o INDEXED BY conversations_assigned
    WHERE o.workspace_id = m.workspace_id AND o.assignee_id IS NOT NULL AND o.assignee_id = m.id AND o.${IS_WITH_TEAM})`;
  return sql`SELECT t.id AS team_id, m.id, m.name, m.last_assigned_at FROM ${teams} t CROSS JOIN json_each(t.member_ids) j CROSS JOIN ${members} m ON m.id = j.value
    WHERE t.workspace_id = ${workspaceId} AND m.workspace_id = t.workspace_id AND m.status = 'active' AND m.availability = 'available'
      AND ${open} < t.conversations_per_member`;
}

/** SQL: the conversations of a workspace that wait for a member. */
function queueOf(workspaceId: string): SQL {
  return sql`${conversations} q INDEXED BY conversations_queued WHERE q.workspace_id = ${workspaceId} AND q.queued_at IS NOT NULL AND q.${IS_WITH_TEAM}`;
}

const RANK = sql.raw(`CASE q.priority ${PRIORITIES.map((name, at) => `WHEN '${name}' THEN ${-at}`).join(" ")} END`);

/**
 * Gives one waiting conversation to a free member of its team: the most urgent, and of these the one that has waited longest, to the
 * member whose last assignment is longest ago. Somebody from whom the conversation was taken gets it back only if nobody else is free.
 * @returns the id of the conversation, if there are both.
 */
export const assignNext = compiled((db, workspaceId: string, nowMs: number) => {
  const free = sql`${freeMembers(workspaceId)} AND EXISTS (SELECT 1 FROM ${queueOf(workspaceId)})`;
  const next = sql`(WITH free AS MATERIALIZED (${free})
    SELECT q.id, free.id AS member, free.name AS member_name FROM free JOIN (
      SELECT q.id, q.team_id, q.queued_at, q.passed_over_id, ${RANK} AS rank FROM ${queueOf(workspaceId)}) q ON q.team_id = free.team_id
    ORDER BY q.rank, q.queued_at, q.id, free.id IS q.passed_over_id, coalesce(free.last_assigned_at, 0), free.id LIMIT 1) AS next`;
  return db
    .update(conversations)
    .set({
      assigneeId: sql`next.member`,
      assigneeName: sql`next.member_name`,
      updatedAt: increasedTo(conversations.updatedAt, nowMs),
    })
    .from(next)
    .where(eq(conversations.id, sql`next.id`))
    .returning({ assignedId: sql<string>`${conversations.id}`.as("assigned_id") });
});

/** How many conversations wait in a workspace, up to a limit, and the business hours of the workspace. */
interface Queue {
  length: number;
  hours: Partial<BusinessHours>;
}

/** How many conversations one request assigns. The sweep assigns the others. */
const MAX_ASSIGNED = 20;

/** Finds the queue of a workspace; no row if nothing waits. */
export const findQueue = compiled((db, workspaceId: string) => {
  const length = sql<number>`(SELECT count(*) FROM (SELECT 1 FROM ${queueOf(workspaceId)} LIMIT ${sql.raw(String(MAX_ASSIGNED))}))`;
  return db
    .select({ length: length.as("length"), hours: workspaces.businessHours })
    .from(workspaces)
    .where(and(isWorkspace(workspaceId), sql`${length} > 0`));
});

/**
 * Assigns conversations that wait, because members may have become free.
 * @param queue the queue as it was read with the change; undefined if nothing waits.
 */
export async function assignWaiting({ env, db, workspaceId, nowMs }: Operation, queue: Queue | undefined): Promise<void> {
  if (!queue || !openingAt(businessHoursOf(queue.hours), nowMs).isOpen) return;
  const [first, ...rest] = Array.from({ length: queue.length }, () => assignNext(db, workspaceId, nowMs));
  const assigned = await db.batch([first!, ...rest]);
  announceAssigned(env, workspaceId, assigned.flat());
}

/** Notifies open pages of conversations that were assigned. */
export function announceAssigned(env: Env, workspaceId: string, assigned: readonly { assignedId: string }[]): void {
  announce(env, workspaceId, ...assigned.map(({ assignedId: id }) => ({ kind: "conversation" as const, id })));
}
