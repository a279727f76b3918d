import { createRoute } from "@hono/zod-openapi";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { healthSchema, toHealth } from "./health-wire.ts";
import { readHealth } from "./health.ts";

export const healthRoutes = createStrictRouter("Health");

const get = createRoute({
  operationId: "getHealth",
  method: "get",
  path: "/health",
  summary: "Get the health of databases, queues, background work, mail and models",
  description: "Also accepts a value of the deployment's secret `HEALTH_TOKEN`, which opens no other operation.",
  responses: {
    ...errorResponses(),
    200: jsonResponse(healthSchema, "All databases respond."),
    503: jsonResponse(healthSchema, "A database could not be reached; the others are reported."),
  },
});

healthRoutes.openapi(get, async (c) => {
  const nowMs = Date.now();
  const health = await readHealth(c.env, c.get("meter"), nowMs);
  return c.json(toHealth(health, nowMs), health.isReachable ? 200 : 503);
});
