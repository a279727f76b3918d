import { createRoute } from "@hono/zod-openapi";
import { errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { readHealth } from "./health.ts";
import { healthSchema, toHealth } from "./health-wire.ts";

export const healthRoutes = createRouter();

const get = createRoute({
  operationId: "getHealth",
  method: "get",
  path: "/health",
  responses: {
    ...errorResponses(),
    200: jsonResponse(healthSchema, "All databases answer."),
    503: jsonResponse(healthSchema, "A database could not be reached; what the others hold is told all the same."),
  },
});

healthRoutes.openapi(get, async (c) => {
  const nowMs = Date.now();
  const health = await readHealth(c.env, c.get("meter"), nowMs);
  return c.json(toHealth(health, nowMs), health.isReachable ? 200 : 503);
});
