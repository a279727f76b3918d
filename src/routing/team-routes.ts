import { createRoute, z } from "@hono/zod-openapi";
import type { Operation } from "../platform/db/client.ts";
import { transact } from "../platform/db/sql.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { changedFields, recordAudit } from "../workspaces/audit-store.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { assignWaiting, findQueue } from "./assignment.ts";
import {
  createTeam,
  eraseTeam,
  findTeam,
  listPresent,
  listTeams,
  releaseConversations,
  releaseSavedReplies,
  type TeamRow,
  updateTeam,
} from "./team-store.ts";
import { teamInSchema, teamListSchema, teamSchema, teamUpdateSchema, toTeam } from "./team-wire.ts";

export const teamRoutes = createRouter("Routing");

/** Bounds the list, which has no pages, and the teams that an assignment reads. */
const MAX_TEAMS = 50;

const params = z.object({ team_id: uuid() });

const listRoute = createRoute({
  operationId: "listTeams",
  method: "get",
  path: "/teams",
  summary: "List teams",
  ...needsScope("conversations:read"),
  responses: { 200: jsonResponse(teamListSchema, "All teams, oldest first."), ...errorResponses(403) },
});

teamRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows] = await db.batch([listTeams(db, workspaceId)]);
  return c.json(wholePage(rows.map(toTeam)), 200);
});

const createTeamRoute = createRoute({
  operationId: "createTeam",
  method: "post",
  path: "/teams",
  summary: "Create a team",
  description: `A workspace has at most ${MAX_TEAMS} teams.`,
  ...needsScope("conversations:write"),
  request: { body: jsonBody(teamInSchema) },
  responses: { 201: jsonResponse(teamSchema, "The team."), ...errorResponses(403, 409, 422) },
});

teamRoutes.openapi(createTeamRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId, nowMs } = op;
  const { member_ids: memberIds, conversations_per_member, unassign_after_minutes, name } = c.req.valid("json");
  const limits = { conversationsPerMember: conversations_per_member, unassignAfterMinutes: unassign_after_minutes };
  const row = { id: op.newId(), workspaceId, name, memberIds, ...limits, createdAt: nowMs, updatedAt: nowMs };
  const [, , [team]] = await db.batch([
    createTeam(db, row, MAX_TEAMS),
    recordAudit(db, op, "team.created", { targetId: row.id }),
    findTeam(db, workspaceId, row.id),
  ]);
  if (team) return c.json(toTeam(team), 201);
  await requirePresent(op, memberIds);
  throw new ApiError("conflict", `The workspace has ${MAX_TEAMS} teams, the maximum. Delete one first.`);
});

const getRoute = createRoute({
  operationId: "getTeam",
  method: "get",
  path: "/teams/{team_id}",
  summary: "Get a team",
  ...needsScope("conversations:read"),
  request: { params },
  responses: { 200: jsonResponse(teamSchema, "The team."), ...errorResponses(403, 404, 422) },
});

teamRoutes.openapi(getRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[team]] = await db.batch([findTeam(db, workspaceId, c.req.valid("param").team_id)]);
  if (!team) throw notFound("team");
  return c.json(toTeam(team), 200);
});

const updateRoute = createRoute({
  operationId: "updateTeam",
  method: "patch",
  path: "/teams/{team_id}",
  summary: "Change a team",
  description: "Fields that are left out stay unchanged. Conversations that wait are given to members who can now take them.",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(teamUpdateSchema) },
  responses: { 200: jsonResponse(teamSchema, "The changed team."), ...errorResponses(403, 404, 409, 422) },
});

teamRoutes.openapi(updateRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId, nowMs } = op;
  const teamId = c.req.valid("param").team_id;
  const body = c.req.valid("json");
  const { name, member_ids: memberIds, conversations_per_member, unassign_after_minutes } = body;
  const given = { name, memberIds, conversationsPerMember: conversations_per_member, unassignAfterMinutes: unassign_after_minutes };
  const changes: Partial<TeamRow> = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const { written, after } = await transact(db, {
    writes: [
      updateTeam(db, workspaceId, teamId, changes, nowMs),
      recordAudit(db, op, "team.updated", { targetId: teamId, detail: { fields: changedFields(body) } }),
    ],
    after: [findTeam(db, workspaceId, teamId), findQueue(db, workspaceId)],
  });
  const [[found], [queue]] = after;
  if (!found) throw notFound("team");
  const [team] = written[0] as TeamRow[];
  if (!team) {
    await requirePresent(op, memberIds ?? []);
    throw new ApiError("conflict", "A member was removed at the same time. Try again.");
  }
  await assignWaiting(op, queue);
  return c.json(toTeam(team), 200);
});

const deleteRoute = createRoute({
  operationId: "deleteTeam",
  method: "delete",
  path: "/teams/{team_id}",
  summary: "Delete a team",
  description:
    "Its unresolved conversations keep their assignees, and no longer have a team; its saved replies are everybody's. Rules that name the team ignore it.",
  ...needsScope("conversations:write"),
  request: { params },
  responses: { 204: emptyResponse("It is deleted."), ...errorResponses(403, 404, 422) },
});

teamRoutes.openapi(deleteRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId } = op;
  const teamId = c.req.valid("param").team_id;
  const [[erased]] = await db.batch([
    eraseTeam(db, workspaceId, teamId),
    recordAudit(db, op, "team.deleted", { targetId: teamId }),
    releaseConversations(db, workspaceId, teamId),
    releaseSavedReplies(db, workspaceId, teamId),
  ]);
  if (!erased) throw notFound("team");
  return c.body(null, 204);
});

/** @throws ApiError validation_error, if one of these is no member of the workspace. */
async function requirePresent({ db, workspaceId }: Operation, memberIds: readonly string[]): Promise<void> {
  const [rows] = await db.batch([listPresent(db, workspaceId, memberIds)]);
  const present = new Set(rows.map(({ id }) => id));
  const problem = valueError("no member of the workspace has this id");
  const unknown = memberIds.flatMap((id, at) => (present.has(id) ? [] : [{ loc: ["body", "member_ids", at], ...problem }]));
  if (unknown.length > 0) throw invalid(unknown);
}
