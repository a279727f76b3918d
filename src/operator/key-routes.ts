import { createRoute, z } from "@hono/zod-openapi";
import { mintKey } from "../admission/api-key.ts";
import { createKey, listKeys, revokeKey } from "../admission/store.ts";
import { rotating } from "../config.ts";
import { newId, shardOf } from "../db/ids.ts";
import { notFound } from "../http/errors.ts";
import { uuid } from "../http/fields.ts";
import { jsonBody } from "../http/json-body.ts";
import { wholePage } from "../http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { noWorkspace, openWorkspace } from "./auth.ts";
import { keyCreateSchema, keyPageSchema, newKeySchema, toKey } from "./wire.ts";
import { reloadGate } from "./workspaces.ts";

export const keyRoutes = createRouter();

const params = z.object({ workspace_id: uuid() });

const create = createRoute({
  operationId: "createKey",
  method: "post",
  path: "/workspaces/{workspace_id}/keys",
  request: { params, body: jsonBody(keyCreateSchema) },
  responses: { 201: jsonResponse(newKeySchema, "The new key; it is shown only here."), ...errorResponses(404, 422) },
});

keyRoutes.openapi(create, async (c) => {
  const { workspace_id: workspaceId } = c.req.valid("param");
  const { name, scopes } = c.req.valid("json");
  const { db } = await openWorkspace(c, workspaceId);
  const { key, ...made } = await mintKey(workspaceId, rotating(c.env.KEY_SECRET)[0]);
  const nowMs = Date.now();
  const row = { id: newId(shardOf(workspaceId), nowMs), workspaceId, name, ...made, scopes, createdAt: nowMs };
  const [[created]] = await db.batch([createKey(db, row)]);
  if (!created) throw noWorkspace();
  await reloadGate(c.env, c.get("meter"), workspaceId);
  return c.json({ ...toKey(created), key }, 201);
});

const list = createRoute({
  operationId: "listKeys",
  method: "get",
  path: "/workspaces/{workspace_id}/keys",
  request: { params },
  responses: { 200: jsonResponse(keyPageSchema, "All keys, oldest first."), ...errorResponses(404, 422) },
});

keyRoutes.openapi(list, async (c) => {
  const { workspace_id: workspaceId } = c.req.valid("param");
  const { db } = await openWorkspace(c, workspaceId);
  const [keys] = await db.batch([listKeys(db, workspaceId)]);
  return c.json(wholePage(keys.map(toKey)), 200);
});

const revoke = createRoute({
  operationId: "revokeKey",
  method: "delete",
  path: "/workspaces/{workspace_id}/keys/{key_id}",
  request: { params: params.extend({ key_id: uuid() }) },
  responses: { 204: emptyResponse("Revoked, from the next request on."), ...errorResponses(404, 422) },
});

keyRoutes.openapi(revoke, async (c) => {
  const { workspace_id: workspaceId, key_id: keyId } = c.req.valid("param");
  const { db } = await openWorkspace(c, workspaceId);
  const [[revoked]] = await db.batch([revokeKey(db, workspaceId, keyId, Date.now())]);
  if (!revoked) throw notFound("key");
  await reloadGate(c.env, c.get("meter"), workspaceId);
  return c.body(null, 204);
});
