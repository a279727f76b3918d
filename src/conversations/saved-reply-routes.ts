import { createRoute, z } from "@hono/zod-openapi";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { findTeam } from "../routing/team-store.ts";
import { unknownTeam } from "../routing/team-wire.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { createSavedReply, eraseSavedReply, findSavedReply, listSavedReplies, updateSavedReply } from "./saved-reply-store.ts";
import { savedReplyInSchema, savedReplyListSchema, savedReplySchema, savedReplyUpdateSchema, toSavedReply } from "./saved-reply-wire.ts";

/** The operations on the team's texts for frequent replies. */
export const savedReplyRoutes = createRouter("Conversations");

/** Bounds the list, which has no pages, so that a composer has all replies at once. */
const MAX_SAVED_REPLIES = 200;

const params = z.object({ saved_reply_id: uuid() });

const listRoute = createRoute({
  operationId: "listSavedReplies",
  method: "get",
  path: "/saved-replies",
  summary: "List saved replies",
  ...needsScope("conversations:read"),
  responses: { 200: jsonResponse(savedReplyListSchema, "All saved replies, oldest first."), ...errorResponses(403) },
});

savedReplyRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows] = await db.batch([listSavedReplies(db, workspaceId)]);
  return c.json(wholePage(rows.map(toSavedReply)), 200);
});

const createReplyRoute = createRoute({
  operationId: "createSavedReply",
  method: "post",
  path: "/saved-replies",
  summary: "Save a reply",
  description: `The team inserts it in the console. A workspace has at most ${MAX_SAVED_REPLIES}.`,
  ...needsScope("conversations:write"),
  request: { body: jsonBody(savedReplyInSchema) },
  responses: { 201: jsonResponse(savedReplySchema, "The saved reply."), ...errorResponses(403, 409, 422) },
});

savedReplyRoutes.openapi(createReplyRoute, async (c) => {
  const { db, workspaceId, nowMs, newId } = operationOf(c);
  const { team_id: teamId = null, ...text } = c.req.valid("json");
  const row = { id: newId(), workspaceId, ...text, teamId, createdAt: nowMs, updatedAt: nowMs };
  const [, [saved], [team]] = await db.batch([
    createSavedReply(db, row, MAX_SAVED_REPLIES),
    findSavedReply(db, workspaceId, row.id),
    findTeam(db, workspaceId, teamId ?? ""),
  ]);
  if (!saved && teamId !== null && !team) throw unknownTeam();
  if (!saved) throw new ApiError("conflict", `The workspace has ${MAX_SAVED_REPLIES} saved replies, the maximum. Delete one first.`);
  return c.json(toSavedReply(saved), 201);
});

const getRoute = createRoute({
  operationId: "getSavedReply",
  method: "get",
  path: "/saved-replies/{saved_reply_id}",
  summary: "Get a saved reply",
  ...needsScope("conversations:read"),
  request: { params },
  responses: { 200: jsonResponse(savedReplySchema, "The saved reply."), ...errorResponses(403, 404, 422) },
});

savedReplyRoutes.openapi(getRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[saved]] = await db.batch([findSavedReply(db, workspaceId, c.req.valid("param").saved_reply_id)]);
  if (!saved) throw notFound("saved reply");
  return c.json(toSavedReply(saved), 200);
});

const updateRoute = createRoute({
  operationId: "updateSavedReply",
  method: "patch",
  path: "/saved-replies/{saved_reply_id}",
  summary: "Change a saved reply",
  description: "Fields that are left out stay unchanged.",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(savedReplyUpdateSchema) },
  responses: { 200: jsonResponse(savedReplySchema, "The changed reply."), ...errorResponses(403, 404, 422) },
});

savedReplyRoutes.openapi(updateRoute, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const id = c.req.valid("param").saved_reply_id;
  const { name, content, team_id: teamId } = c.req.valid("json");
  const changes = { name: name ?? undefined, content: content ?? undefined, teamId };
  const [[saved], [found]] = await db.batch([updateSavedReply(db, workspaceId, id, changes, nowMs), findSavedReply(db, workspaceId, id)]);
  if (!saved && found) throw unknownTeam();
  if (!saved) throw notFound("saved reply");
  return c.json(toSavedReply(saved), 200);
});

const deleteRoute = createRoute({
  operationId: "deleteSavedReply",
  method: "delete",
  path: "/saved-replies/{saved_reply_id}",
  summary: "Delete a saved reply",
  ...needsScope("conversations:write"),
  request: { params },
  responses: { 204: emptyResponse("It is deleted."), ...errorResponses(403, 404, 422) },
});

savedReplyRoutes.openapi(deleteRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[erased]] = await db.batch([eraseSavedReply(db, workspaceId, c.req.valid("param").saved_reply_id)]);
  if (!erased) throw notFound("saved reply");
  return c.body(null, 204);
});
