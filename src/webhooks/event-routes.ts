import { createRoute } from "@hono/zod-openapi";
import { RECORDED_DAYS } from "../events/outbox.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { findLatestEvent, noteEventsRead, pageEvents } from "./event-store.ts";
import { mayRead, requireReadable, requireWebhooksPlan } from "./checks.ts";
import { eventPageSchema, eventQuery, LATEST, toEventPage } from "./wire.ts";

export const eventRoutes = createRouter("Webhooks");

const listEvents = createRoute({
  operationId: "listEvents",
  method: "get",
  path: "/events",
  summary: "List the events of the workspace, in the order in which they were recorded",
  description:
    `Returns the bodies that webhook endpoints receive. Events are recorded while an endpoint is subscribed to their type, and for
${RECORDED_DAYS} days after each call of this operation, so the first call starts the recording. Call it again with next_cursor to get later
events. An event may be returned twice: ignore ids that you have handled. A key gets the events of conversations, leads and sources if
it has the scopes conversations:read, leads:read and knowledge:read. Needs webhooks in the plan.`.replaceAll("\n", " "),
  ...needsScope("webhooks:read"),
  request: { query: eventQuery },
  responses: { 200: jsonResponse(eventPageSchema, "A page of events, oldest first."), ...errorResponses(403, 422) },
});

eventRoutes.openapi(listEvents, async (c) => {
  await requireWebhooksPlan(c);
  const { db, workspaceId, nowMs } = operationOf(c);
  const query = c.req.valid("query");
  if (query.types) requireReadable(c, query.types);
  const noted = noteEventsRead(db, workspaceId, nowMs);
  if (query.cursor === LATEST) {
    const [, [latest]] = await db.batch([noted, findLatestEvent(db, workspaceId)]);
    return c.json(
      toEventPage([], { ...query, cursor: latest?.id }, () => true),
      200,
    );
  }
  const [, rows] = await db.batch([noted, pageEvents(db, workspaceId, query)]);
  return c.json(
    toEventPage(rows, query, (type) => mayRead(c, type)),
    200,
  );
});
