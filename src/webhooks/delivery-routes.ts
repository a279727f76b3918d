import { createRoute, z } from "@hono/zod-openapi";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { limitReached, needsScope, operationOf } from "../workspaces/checks.ts";
import { requestHeaders } from "./attempt.ts";
import { findDeliveredEvent, findDelivery, pageDeliveries } from "./delivery-log-store.ts";
import { findEndpoint } from "./endpoint-store.ts";
import { redeliver, type Redelivery } from "./redeliver.ts";
import { sendTest } from "./test-delivery.ts";
import { mayRead, notReadable, planRequired, requireReadable, requireWebhooksPlan, unreadableTypes } from "./checks.ts";
import {
  deliveryPageSchema,
  deliveryQuery,
  deliveryRequestSchema,
  type DeliveryRow,
  deliverySchema,
  toDelivery,
  deliveryCount,
} from "./wire.ts";

export const deliveryRoutes = createRouter("Webhooks");

const params = z.object({ webhook_id: uuid() });
const deliveryParams = z.object({ delivery_id: uuid() });

const testWebhook = createRoute({
  operationId: "testWebhook",
  method: "post",
  path: "/webhooks/{webhook_id}/test",
  summary: "Send a test event now",
  description:
    "Sends a signed test event once and waits for the result, which the response describes. A disabled endpoint can be tested too. Needs webhooks in the plan.",
  ...needsScope("webhooks:write"),
  request: { params },
  responses: { 200: jsonResponse(deliverySchema, "The delivery with its attempt."), ...errorResponses(403, 404, 422) },
});

deliveryRoutes.openapi(testWebhook, async (c) => {
  const { webhook_id: webhookId } = c.req.valid("param");
  await requireWebhooksPlan(c, webhookId);
  const op = operationOf(c);
  const sent = await sendTest(op, webhookId, c.get("caller").workspace.limits.deliveries_per_day);
  if (!sent) throw notFound("webhook endpoint");
  if ("full" in sent) throw limitReached(sent.full, op.nowMs);
  return c.json(toDelivery(sent.delivery, sent.attempts), 200);
});

const listDeliveries = createRoute({
  operationId: "listDeliveries",
  method: "get",
  path: "/webhooks/{webhook_id}/deliveries",
  summary: "List the deliveries of a webhook endpoint, newest first",
  ...needsScope("webhooks:read"),
  request: { params, query: deliveryQuery },
  responses: { 200: jsonResponse(deliveryPageSchema, "A page of deliveries with their attempts."), ...errorResponses(403, 404, 422) },
});

deliveryRoutes.openapi(listDeliveries, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { webhook_id: webhookId } = c.req.valid("param");
  const { status, ...page } = c.req.valid("query");
  const [[endpoint], rows, attempts] = await db.batch([
    findEndpoint(db, workspaceId, webhookId),
    ...pageDeliveries(db, workspaceId, webhookId, status, page),
  ]);
  if (!endpoint) throw notFound("webhook endpoint");
  const byDelivery = Map.groupBy(attempts, ({ deliveryId }) => deliveryId);
  const positionOf = (row: DeliveryRow) => ({ atMs: row.createdAt, id: row.id });
  const toItem = (row: DeliveryRow) => {
    const made = byDelivery.get(row.id) ?? [];
    // A response may repeat the event that it answers.
    return toDelivery(row, mayRead(c, row.eventType) ? made : made.map((attempt) => ({ ...attempt, responseBody: null })));
  };
  return c.json(toCursorPage(rows, deliveryCount(endpoint, status), page, positionOf, toItem), 200);
});

const getDeliveryRequest = createRoute({
  operationId: "getDeliveryRequest",
  method: "get",
  path: "/webhooks/deliveries/{delivery_id}/request",
  summary: "Get the request of a delivery",
  description: "What the service sends to the endpoint in each attempt. The key needs the scope that reads the event.",
  ...needsScope("webhooks:read"),
  request: { params: deliveryParams },
  responses: { 200: jsonResponse(deliveryRequestSchema, "The request."), ...errorResponses(403, 404, 422) },
});

deliveryRoutes.openapi(getDeliveryRequest, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { delivery_id: deliveryId } = c.req.valid("param");
  const [[event]] = await db.batch([findDeliveredEvent(db, workspaceId, deliveryId)]);
  if (!event) throw notFound("delivery");
  requireReadable(c, [event.eventType]);
  return c.json({ headers: requestHeaders(deliveryId, event.eventId), body: event.payload }, 200);
});

const redeliverEvent = createRoute({
  operationId: "redeliverEvent",
  method: "post",
  path: "/webhooks/deliveries/{delivery_id}/redeliver",
  summary: "Redeliver an event",
  description:
    "Sends the event again to the same endpoint, with the same event id, as a new delivery with the whole retry schedule. The key needs the scope that reads the event. Needs webhooks in the plan.",
  ...needsScope("webhooks:write"),
  request: { params: deliveryParams },
  responses: { 202: jsonResponse(deliverySchema, "The new delivery, pending."), ...errorResponses(403, 404, 409, 422) },
});

const REFUSALS: Record<Exclude<Redelivery["outcome"], "queued" | "unreadable" | "rate_limited">, () => ApiError> = {
  not_found: () => notFound("delivery"),
  endpoint_disabled: () => new ApiError("endpoint_disabled", "The endpoint is disabled. Enable it with PATCH, then redeliver."),
  pending: () => new ApiError("conflict", "This delivery is still pending: it is retried until it succeeds or fails. Redeliver it then."),
  test: () => new ApiError("conflict", "A test event is sent once and not redelivered. Send a new test."),
  payload_gone: () => new ApiError("conflict", "The event is too old: its payload is no longer kept. Read the record over the API."),
};

deliveryRoutes.openapi(redeliverEvent, async (c) => {
  const op = operationOf(c);
  const { delivery_id: deliveryId } = c.req.valid("param");
  const { webhooks, deliveries_per_day: perDay } = c.get("caller").workspace.limits;
  if (!webhooks) {
    const [[delivery]] = await op.db.batch([findDelivery(op.db, op.workspaceId, deliveryId)]);
    throw delivery ? planRequired() : notFound("delivery");
  }
  const redelivery = await redeliver(op, deliveryId, { unreadable: unreadableTypes(c), perDay });
  if (redelivery.outcome === "rate_limited") throw limitReached(redelivery.full, op.nowMs);
  if (redelivery.outcome === "unreadable") throw notReadable(c, [redelivery.eventType]);
  if (redelivery.outcome !== "queued") throw REFUSALS[redelivery.outcome]();
  return c.json(toDelivery(redelivery.delivery, []), 202);
});
