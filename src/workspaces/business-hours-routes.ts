import { createRoute } from "@hono/zod-openapi";
import type { BusinessHours } from "../platform/db/columns.ts";
import { jsonBody } from "../platform/http/body.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { businessHoursOf } from "./business-hours.ts";
import { findBusinessHours, updateBusinessHours } from "./business-hours-store.ts";
import { businessHoursSchema, businessHoursUpdateSchema, toOpening } from "./business-hours-wire.ts";
import { needsScope, operationOf } from "./checks.ts";

export const businessHoursRoutes = createRouter("Conversations");

function toBusinessHours(stored: Partial<BusinessHours>, nowMs: number) {
  const hours = businessHoursOf(stored);
  return { ...hours, ...toOpening(hours, nowMs) };
}

const getBusinessHours = createRoute({
  operationId: "getBusinessHours",
  method: "get",
  path: "/business-hours",
  summary: "Get the hours of your team",
  ...needsScope("conversations:read"),
  responses: { 200: jsonResponse(businessHoursSchema, "The hours, and whether the team is there now."), ...errorResponses(403) },
});

businessHoursRoutes.openapi(getBusinessHours, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const [[found]] = await db.batch([findBusinessHours(db, workspaceId)]);
  return c.json(toBusinessHours(found?.stored ?? {}, nowMs), 200);
});

const updateRoute = createRoute({
  operationId: "updateBusinessHours",
  method: "patch",
  path: "/business-hours",
  summary: "Change the hours of your team",
  description:
    "Outside the hours, a hand-off tells the visitor when the team opens next. Agents answer at all hours. The change takes effect on the next request.",
  ...needsScope("conversations:write"),
  request: { body: jsonBody(businessHoursUpdateSchema) },
  responses: { 200: jsonResponse(businessHoursSchema, "The changed hours."), ...errorResponses(403, 422) },
});

businessHoursRoutes.openapi(updateRoute, async (c) => {
  const changes = c.req.valid("json") as Partial<BusinessHours>;
  const { db, workspaceId, nowMs } = operationOf(c);
  const [[changed]] = await db.batch([updateBusinessHours(db, workspaceId, changes)]);
  return c.json(toBusinessHours(changed?.stored ?? {}, nowMs), 200);
});
