import { createRoute, z } from "@hono/zod-openapi";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { bindToApiKey } from "../platform/http/idempotency.ts";
import { wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf, requireGrantable } from "../workspaces/checks.ts";
import { listKeys } from "../workspaces/store.ts";
import { addKey, removeKey } from "./keys.ts";
import { requireAdded } from "./refusals.ts";
import { keyCreateSchema, keyPageSchema, newKeySchema, toKey } from "./wire.ts";

export const keyRoutes = createRouter("Keys");

const listKeysRoute = createRoute({
  operationId: "listKeys",
  method: "get",
  path: "/keys",
  summary: "List the workspace's API keys",
  description: "Includes revoked keys, of which the latest 100 are kept.",
  ...needsScope("keys:write"),
  responses: { 200: jsonResponse(keyPageSchema, "All keys, oldest first, without the keys themselves."), ...errorResponses(403) },
});

keyRoutes.openapi(listKeysRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [keys] = await db.batch([listKeys(db, workspaceId)]);
  return c.json(wholePage(keys.map(toKey)), 200);
});

const createKeyRoute = createRoute({
  operationId: "createKey",
  method: "post",
  path: "/keys",
  summary: "Add an API key",
  description: "The new key is valid from the next request on. A key can only grant scopes that it has.",
  ...needsScope("keys:write", bindToApiKey),
  request: { body: jsonBody(keyCreateSchema) },
  responses: { 201: jsonResponse(newKeySchema, "The new key; it is shown only here."), ...errorResponses(403, 422) },
});

keyRoutes.openapi(createKeyRoute, async (c) => {
  const { workspace, key: granter } = c.get("caller");
  const given = c.req.valid("json");
  requireGrantable(c, given.scopes);
  const added = await addKey(operationOf(c), workspace.limits, given, granter.member ? undefined : granter.id);
  const { row, key } = requireAdded(added);
  return c.json({ ...toKey(row), key }, 201);
});

const revokeKeyRoute = createRoute({
  operationId: "revokeKey",
  method: "delete",
  path: "/keys/{key_id}",
  summary: "Revoke an API key",
  description: "The key is refused from the next request on. The last key with `keys:write` cannot be revoked.",
  ...needsScope("keys:write"),
  request: { params: z.object({ key_id: uuid() }) },
  responses: { 204: emptyResponse("Revoked."), ...errorResponses(403, 404, 409, 422) },
});

keyRoutes.openapi(revokeKeyRoute, async (c) => {
  const removed = await removeKey(operationOf(c), c.req.valid("param").key_id, true);
  if (removed === "not_found") throw notFound("key");
  if (removed === "is_last") {
    throw new ApiError("conflict", "This is the last key with keys:write, and without one nobody could add keys. Add another one first.");
  }
  return c.body(null, 204);
});
