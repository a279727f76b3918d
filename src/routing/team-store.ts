import { and, eq, getTableColumns, ne, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { conversations, members, savedReplies, teams } from "../platform/db/schema.ts";
import { findOwn, insertWhere, isOwn, jsonIds, workspaceExists } from "../platform/db/sql.ts";

export type TeamRow = typeof teams.$inferSelect;

/** Lists all teams of a workspace, oldest first. */
export function listTeams(db: Database, workspaceId: string) {
  return db.select().from(teams).where(eq(teams.workspaceId, workspaceId)).orderBy(teams.id);
}

export function findTeam(db: Database, workspaceId: string, teamId: string) {
  return findOwn(db, teams, workspaceId, teamId);
}

/** The columns of a member, with the ids of the member's teams. */
export const memberWithTeams = {
  ...getTableColumns(members),
  teamIds: sql<string[]>`(SELECT json_group_array(t.id) FROM ${teams} t, json_each(t.member_ids) j
    WHERE t.workspace_id = "members"."workspace_id" AND j.value = "members"."id")`
    .mapWith((json: string) => JSON.parse(json) as string[])
    .as("team_ids"),
};

/** Lists the members with these ids who have not been removed. */
export function listPresent(db: Database, workspaceId: string, memberIds: readonly string[]) {
  return db
    .select({ id: members.id })
    .from(members)
    .where(and(eq(members.workspaceId, workspaceId), ne(members.status, "removed"), sql`${members.id} IN ${jsonIds(memberIds)}`));
}

/** SQL condition: nobody in the list was removed, or is of another workspace. */
function arePresent(workspaceId: string, memberIds: readonly string[]): SQL {
  const present = sql`SELECT id FROM ${members} WHERE workspace_id = ${workspaceId} AND status <> 'removed'`;
  return sql`NOT EXISTS (SELECT 1 FROM ${jsonIds(memberIds)} WHERE value NOT IN (${present}))`;
}

/** Adds a team, unless the workspace has `maxTeams` already or somebody in it is no member. A team with the same id stays as it is. */
export function createTeam(db: Database, team: typeof teams.$inferInsert & { memberIds: string[] }, maxTeams: number) {
  const { workspaceId, memberIds } = team;
  const hasRoom = sql`(SELECT count(*) FROM ${teams} WHERE workspace_id = ${workspaceId}) < ${maxTeams}`;
  const condition = sql`${workspaceExists(workspaceId)} AND ${hasRoom} AND ${arePresent(workspaceId, memberIds)}`;
  return insertWhere(db, teams, team, condition).onConflictDoNothing();
}

/** Changes the given fields, and returns the team if the workspace has it and everybody in it is a member. */
export function updateTeam(db: Database, workspaceId: string, teamId: string, changes: Partial<TeamRow>, nowMs: number) {
  return db
    .update(teams)
    .set({ ...changes, updatedAt: nowMs })
    .where(and(isOwn(teams, workspaceId, teamId), changes.memberIds && arePresent(workspaceId, changes.memberIds)))
    .returning();
}

/** Deletes a team, and returns it if it existed. */
export function eraseTeam(db: Database, workspaceId: string, teamId: string) {
  return db
    .delete(teams)
    .where(isOwn(teams, workspaceId, teamId))
    .returning({ id: teams.id });
}

/** Takes the unresolved conversations out of a team that is deleted. They keep their assignees. */
export function releaseConversations(db: Database, workspaceId: string, teamId: string) {
  return db
    .update(conversations)
    .set({ teamId: null, queuedAt: null })
    .where(and(eq(conversations.workspaceId, workspaceId), eq(conversations.teamId, teamId), ne(conversations.status, "resolved")));
}

/** Gives the saved replies of a team that is deleted to everybody. */
export function releaseSavedReplies(db: Database, workspaceId: string, teamId: string) {
  return db
    .update(savedReplies)
    .set({ teamId: null })
    .where(and(eq(savedReplies.workspaceId, workspaceId), eq(savedReplies.teamId, teamId)));
}
