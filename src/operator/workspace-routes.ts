import { createRoute, z } from "@hono/zod-openapi";
import { addKey, removeKey } from "../administration/keys.ts";
import { requireAdded } from "../administration/refusals.ts";
import { keyCreateSchema, keyPageSchema, newKeySchema, toKey } from "../administration/wire.ts";
import { recordOperation } from "../administration/operator-audit-store.ts";
import { jsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, invalid, notFound, unavailable } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage, wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { regionOf } from "../platform/objects.ts";
import { reloadGate } from "../workspaces/gate.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { listKeys } from "../workspaces/store.ts";
import { auditorOf, noWorkspace, openWorkspace } from "./auth.ts";
import { updateWorkspace } from "./store.ts";
import {
  toWorkspace,
  workspaceCreateSchema,
  workspacePageSchema,
  workspaceSchema,
  type WorkspaceRow,
  workspaceUpdateSchema,
} from "./wire.ts";
import { addWorkspace, deleteWorkspace, pageWorkspaces } from "./workspaces.ts";

export const workspaceRoutes = createStrictRouter("Workspaces");

/** A retry can succeed once the operator has bound another database. */
const NO_ROOM_RETRY_SECONDS = 60;

const params = z.object({ workspace_id: uuid() });

/** Returns the error for a region that has no database. */
function noRegion(region: string | undefined): ApiError<"validation_error"> {
  const error = "there is no database in this region: name another region, or leave it out for the default region";
  return invalid([{ loc: ["body", "region"], ...valueError(error), input: region }]);
}

function wireRecord(c: AppContext, row: WorkspaceRow) {
  return toWorkspace(row, regionOf(c.env, row.id));
}

const create = createRoute({
  operationId: "createWorkspace",
  method: "post",
  path: "/workspaces",
  summary: "Add a workspace",
  request: { body: jsonBody(workspaceCreateSchema) },
  responses: { 201: jsonResponse(workspaceSchema, "The new workspace."), ...errorResponses(409, 422) },
});

workspaceRoutes.openapi(create, async (c) => {
  const added = await addWorkspace(c.env, c.get("meter"), auditorOf(c, create), c.req.valid("json"));
  if (added.outcome === "slug_taken") throw new ApiError("conflict", "Another workspace has this slug. Choose another one.");
  if (added.outcome === "no_region") throw noRegion(c.req.valid("json").region);
  if (added.outcome === "no_room")
    throw unavailable("Every database is full or closed. Bind another one: see Databases.", NO_ROOM_RETRY_SECONDS);
  return c.json(wireRecord(c, added.workspace), 201);
});

const list = createRoute({
  operationId: "listWorkspaces",
  method: "get",
  path: "/workspaces",
  summary: "List all workspaces",
  request: { query: pageQuery },
  responses: { 200: jsonResponse(workspacePageSchema, "A page of workspaces, newest first."), ...errorResponses(422) },
});

workspaceRoutes.openapi(list, async (c) => {
  const page = c.req.valid("query");
  const { rows, total } = await pageWorkspaces(c.env, c.get("meter"), page);
  return c.json(
    toPage(
      rows.map((row) => wireRecord(c, row)),
      total,
      page,
    ),
    200,
  );
});

const get = createRoute({
  operationId: "getWorkspace",
  method: "get",
  path: "/workspaces/{workspace_id}",
  summary: "Get a workspace",
  request: { params },
  responses: { 200: jsonResponse(workspaceSchema, "The workspace."), ...errorResponses(404, 422) },
});

workspaceRoutes.openapi(get, async (c) => {
  const { workspace } = await openWorkspace(c, get, c.req.valid("param").workspace_id);
  return c.json(wireRecord(c, workspace), 200);
});

const update = createRoute({
  operationId: "updateWorkspace",
  method: "patch",
  path: "/workspaces/{workspace_id}",
  summary: "Change a workspace's name, plan, limits or retention",
  request: { params, body: jsonBody(workspaceUpdateSchema) },
  responses: { 200: jsonResponse(workspaceSchema, "The changed workspace."), ...errorResponses(404, 422) },
});

workspaceRoutes.openapi(update, async (c) => {
  const { workspace_id: id } = c.req.valid("param");
  const body = c.req.valid("json");
  const { name, plan, limits, retention } = body;
  const patches = { ...(limits && { limits }), ...(retention && { retention }) };
  const { op } = await openWorkspace(c, update, id);
  const { db, nowMs } = op;
  const changes = { updatedAt: nowMs, ...(name !== undefined && { name }), ...(plan && { plan }), ...patches };
  const [[workspace]] = await db.batch([updateWorkspace(db, id, changes), recordOperation(db, op, { fields: Object.keys(body) })]);
  if (!workspace) throw noWorkspace();
  await reloadGate(op);
  return c.json(wireRecord(c, workspace), 200);
});

const remove = createRoute({
  operationId: "deleteWorkspace",
  method: "delete",
  path: "/workspaces/{workspace_id}",
  summary: "Delete a workspace with all its data",
  request: { params },
  responses: { 204: emptyResponse("Deleted; its records are erased in the background."), ...errorResponses(404, 422) },
});

workspaceRoutes.openapi(remove, async (c) => {
  const { op } = await openWorkspace(c, remove, c.req.valid("param").workspace_id);
  if (!(await deleteWorkspace(op))) throw noWorkspace();
  return c.body(null, 204);
});

export const operatorKeyRoutes = createStrictRouter("Keys");

const createKeyRoute = createRoute({
  operationId: "createKey",
  method: "post",
  path: "/workspaces/{workspace_id}/keys",
  summary: "Add an API key to a workspace",
  request: { params, body: jsonBody(keyCreateSchema) },
  responses: { 201: jsonResponse(newKeySchema, "The new key; it is shown only here."), ...errorResponses(403, 404, 422) },
});

operatorKeyRoutes.openapi(createKeyRoute, async (c) => {
  const { workspace, op } = await openWorkspace(c, createKeyRoute, c.req.valid("param").workspace_id);
  const given = c.req.valid("json");
  const added = await addKey(op, limitsOf(workspace.plan, workspace.limits), given);
  // An operator may grant every scope, so only a workspace that was deleted meanwhile has this outcome.
  if (added.outcome === "not_granted") throw noWorkspace();
  const { row, key } = requireAdded(added);
  return c.json({ ...toKey(row), key }, 201);
});

const listKeysRoute = createRoute({
  operationId: "listKeys",
  method: "get",
  path: "/workspaces/{workspace_id}/keys",
  summary: "List a workspace's API keys",
  request: { params: params },
  responses: { 200: jsonResponse(keyPageSchema, "All keys, oldest first."), ...errorResponses(404, 422) },
});

operatorKeyRoutes.openapi(listKeysRoute, async (c) => {
  const { workspace_id: workspaceId } = c.req.valid("param");
  const { op } = await openWorkspace(c, listKeysRoute, workspaceId);
  const [keys] = await op.db.batch([listKeys(op.db, workspaceId)]);
  return c.json(wholePage(keys.map(toKey)), 200);
});

const revoke = createRoute({
  operationId: "revokeKey",
  method: "delete",
  path: "/workspaces/{workspace_id}/keys/{key_id}",
  summary: "Revoke a workspace's API key",
  request: { params: params.extend({ key_id: uuid() }) },
  responses: { 204: emptyResponse("Revoked. The next request with the key is refused."), ...errorResponses(404, 422) },
});

operatorKeyRoutes.openapi(revoke, async (c) => {
  const { workspace_id: workspaceId, key_id: keyId } = c.req.valid("param");
  const { op } = await openWorkspace(c, revoke, workspaceId);
  if ((await removeKey(op, keyId, false)) === "not_found") throw notFound("key");
  return c.body(null, 204);
});
