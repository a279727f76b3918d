import { createRoute } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import { notFound } from "../platform/http/errors.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { callerDb, needsScope } from "../workspaces/middleware.ts";
import { lastDurableDay, rangesOf } from "./definitions.ts";
import { ALL_AGENTS, listDays, listUnansweredQuestions, sumDays, sumStatuses } from "./store.ts";
import { overviewQuery, overviewSchema, toOverview } from "./wire.ts";

export const analyticsRoutes = createRouter("Analytics");

const getOverview = createRoute({
  operationId: "getAnalyticsOverview",
  method: "get",
  path: "/analytics/overview",
  summary: "Activity of the last days, and how well questions were answered",
  description: "Of the whole workspace or of one agent. Rates of conversations cover those that started in the range.",
  ...needsScope("analytics:read"),
  request: { query: overviewQuery },
  responses: { 200: jsonResponse(overviewSchema, "The overview."), ...errorResponses(403, 404, 422) },
});

analyticsRoutes.openapi(getOverview, async (c) => {
  const { id } = c.get("caller").workspace;
  const { days, agent_id: agentId = null } = c.req.valid("query");
  const nowMs = Date.now();
  const { current, previous } = rangesOf(days, nowMs);
  const durableDay = lastDurableDay(nowMs);
  const db = callerDb(c);
  const rollupId = agentId ?? ALL_AGENTS;
  const [[agent], rows, [sums], [before], [statuses], questions] = await db.batch([
    findAgent(db, id, rollupId),
    listDays(db, id, rollupId, current),
    sumDays(db, id, rollupId, current, { durableDay, withTimes: true }),
    sumDays(db, id, rollupId, previous, { durableDay, withTimes: false }),
    sumStatuses(db, id, rollupId),
    listUnansweredQuestions(db, id, rollupId, current),
  ]);
  if (agentId !== null && !agent) throw notFound("agent");
  return c.json(toOverview({ agentId, range: current, days: rows, sums: sums!, previous: before!, statuses: statuses!, questions }), 200);
});
