import { createRoute, z } from "@hono/zod-openapi";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { bindToApiKey } from "../platform/http/idempotency.ts";
import { wholePage } from "../platform/http/page.ts";
import { requirePublicHost } from "../platform/http/public-host.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { requireReadable, requireWebhooksPlan, unreadableTypes } from "./checks.ts";
import { findEndpoint, listEndpoints } from "./endpoint-store.ts";
import { addEndpoint, changeEndpoint, MAX_ENDPOINTS, MAX_PREVIOUS_SECRETS, removeEndpoint, renewSecret } from "./endpoints.ts";
import { eventCatalogue } from "./event-catalogue.ts";
import {
  urlRefusal,
  toWebhook,
  webhookInSchema,
  webhookListSchema,
  webhookPatchSchema,
  webhookSchema,
  webhookWithSecretSchema,
} from "./wire.ts";

export const webhookRoutes = createRouter("Webhooks");

const params = z.object({ webhook_id: uuid() });

const URL_REFUSALS = { refused: urlRefusal, unchecked: () => "The url's host could not be looked up. Try again." };

const listWebhooks = createRoute({
  operationId: "listWebhooks",
  method: "get",
  path: "/webhooks",
  summary: "List webhook endpoints and the event catalogue",
  ...needsScope("webhooks:read"),
  responses: { 200: jsonResponse(webhookListSchema, "All endpoints, oldest first, and every type of event."), ...errorResponses(403) },
});

webhookRoutes.openapi(listWebhooks, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows] = await db.batch([listEndpoints(db, workspaceId)]);
  return c.json({ ...wholePage(rows.map(toWebhook)), event_types: eventCatalogue() }, 200);
});

const createWebhook = createRoute({
  operationId: "createWebhook",
  method: "post",
  path: "/webhooks",
  summary: "Register a webhook endpoint",
  description:
    "The signing secret is in this response and in no other. The key needs the scopes that read the events: conversations:read, leads:read or knowledge:read. Needs webhooks in the plan.",
  ...needsScope("webhooks:write", bindToApiKey),
  request: { body: jsonBody(webhookInSchema) },
  responses: { 201: jsonResponse(webhookWithSecretSchema, "The endpoint with its secret."), ...errorResponses(403, 409, 422) },
});

webhookRoutes.openapi(createWebhook, async (c) => {
  const { description = null, ...fields } = c.req.valid("json");
  requireReadable(c, fields.events);
  await requirePublicHost(c, fields.url, ["url"], URL_REFUSALS);
  await requireWebhooksPlan(c);
  const added = await addEndpoint(operationOf(c), { ...fields, description });
  if (!added) {
    throw new ApiError("conflict", `The workspace has ${MAX_ENDPOINTS} webhook endpoints, the maximum. Delete one first.`);
  }
  return c.json({ ...toWebhook(added.endpoint), secret: added.secret }, 201);
});

const getWebhook = createRoute({
  operationId: "getWebhook",
  method: "get",
  path: "/webhooks/{webhook_id}",
  summary: "Get a webhook endpoint",
  ...needsScope("webhooks:read"),
  request: { params },
  responses: { 200: jsonResponse(webhookSchema, "The endpoint."), ...errorResponses(403, 404, 422) },
});

webhookRoutes.openapi(getWebhook, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[endpoint]] = await db.batch([findEndpoint(db, workspaceId, c.req.valid("param").webhook_id)]);
  if (!endpoint) throw notFound("webhook endpoint");
  return c.json(toWebhook(endpoint), 200);
});

const updateWebhook = createRoute({
  operationId: "updateWebhook",
  method: "patch",
  path: "/webhooks/{webhook_id}",
  summary: "Change a webhook endpoint",
  description:
    "Unless it only disables the endpoint or describes it, the key needs the scopes that read the events which the endpoint receives, before and after the change. Needs webhooks in the plan.",
  ...needsScope("webhooks:write"),
  request: { params, body: jsonBody(webhookPatchSchema) },
  responses: { 200: jsonResponse(webhookSchema, "The updated endpoint."), ...errorResponses(403, 404, 422) },
});

webhookRoutes.openapi(updateWebhook, async (c) => {
  const { webhook_id: webhookId } = c.req.valid("param");
  const { url, events, description, enabled } = c.req.valid("json");
  if (events) requireReadable(c, events);
  if (url) await requirePublicHost(c, url, ["url"], URL_REFUSALS);
  await requireWebhooksPlan(c, webhookId);
  const changes = { url: url ?? undefined, events: events ?? undefined, description, enabled: enabled ?? undefined };
  const decidesWhatIsSent = Boolean(url ?? events ?? enabled);
  const { endpoint, refusedTypes } = await changeEndpoint(operationOf(c), webhookId, changes, decidesWhatIsSent ? unreadableTypes(c) : []);
  if (!endpoint) throw notFound("webhook endpoint");
  requireReadable(c, refusedTypes);
  return c.json(toWebhook(endpoint), 200);
});

const deleteWebhook = createRoute({
  operationId: "deleteWebhook",
  method: "delete",
  path: "/webhooks/{webhook_id}",
  summary: "Delete a webhook endpoint and its delivery log",
  description: "Nothing is sent to it afterwards.",
  ...needsScope("webhooks:write"),
  request: { params },
  responses: { 204: emptyResponse("It is deleted."), ...errorResponses(403, 404, 422) },
});

webhookRoutes.openapi(deleteWebhook, async (c) => {
  if (!(await removeEndpoint(operationOf(c), c.req.valid("param").webhook_id))) throw notFound("webhook endpoint");
  return c.body(null, 204);
});

const rotateWebhookSecret = createRoute({
  operationId: "rotateWebhookSecret",
  method: "post",
  path: "/webhooks/{webhook_id}/rotate-secret",
  summary: "Rotate a webhook endpoint's secret",
  description: `For 24 hours both secrets sign each request, so that receivers can switch one by one. The same holds for each further rotation, but at most ${MAX_PREVIOUS_SECRETS} previous secrets sign at a time.`,
  ...needsScope("webhooks:write", bindToApiKey),
  request: { params },
  responses: {
    200: jsonResponse(webhookWithSecretSchema, "The endpoint with its new secret, which is shown only here."),
    ...errorResponses(403, 404, 409, 422),
  },
});

webhookRoutes.openapi(rotateWebhookSecret, async (c) => {
  const renewed = await renewSecret(operationOf(c), c.req.valid("param").webhook_id);
  if (!renewed) throw notFound("webhook endpoint");
  const { endpoint, secret } = renewed;
  if (secret === undefined) {
    const message = `${MAX_PREVIOUS_SECRETS} previous secrets still sign, the maximum. Each one signs for 24 hours after its rotation. Rotate again when the first one ends.`;
    throw new ApiError("conflict", message);
  }
  return c.json({ ...toWebhook(endpoint), secret }, 200);
});
