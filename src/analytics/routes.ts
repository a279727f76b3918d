import { createRoute, z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import { notFound } from "../platform/http/errors.ts";
import { agentRef } from "../platform/http/fields.ts";
import { csvRecords, wantsCsv, withCsv } from "../platform/http/csv.ts";
import { toPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { logRarely } from "../platform/telemetry/log.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { lastDurableDay, rangesOf, spannedDays } from "./definitions.ts";
import { listCuratedQuestions, listGapQuestions, listRatedDown } from "./gap-store.ts";
import { groupGaps } from "./gaps.ts";
import {
  ALL_AGENTS,
  createMissingSpans,
  listDays,
  listSpans,
  listUnansweredQuestions,
  listUnspannedDays,
  sumDays,
  sumStatuses,
} from "./store.ts";
import { countVersionRows, listVersionCounts } from "./version-store.ts";
import {
  gapPageSchema,
  gapQuery,
  overviewQuery,
  overviewSchema,
  toGap,
  toOverview,
  toVersionAnalytics,
  versionAnalyticsPageSchema,
  versionAnalyticsQuery,
} from "./wire.ts";

export const analyticsRoutes = createRouter("Analytics");

const getOverview = createRoute({
  operationId: "getAnalyticsOverview",
  method: "get",
  path: "/analytics/overview",
  summary: "Get the activity of the last days, and how well questions were answered",
  description:
    "The figures of the whole workspace or of one agent. Rates of conversations cover those that started in the range. Conversations in the playground do not count. With `Accept: text/csv`, the figures of each day as a CSV file.",
  ...needsScope("analytics:read"),
  request: { query: overviewQuery },
  responses: {
    200: withCsv(jsonResponse(overviewSchema, "The overview."), "The figures of each day, oldest first."),
    ...errorResponses(403, 404, 422),
  },
});

analyticsRoutes.openapi(getOverview, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const { days, agent_id: agentId = null } = c.req.valid("query");
  const { current, previous } = rangesOf(days, nowMs);
  const spanned = spannedDays(current);
  const durableDay = lastDurableDay(nowMs);
  const rollupId = agentId ?? ALL_AGENTS;
  const [spans, unspanned, [agent], rows, [sums], [before], [statuses], questions] = await db.batch([
    listSpans(db, workspaceId, rollupId, spanned),
    listUnspannedDays(db, workspaceId, rollupId, current, spanned),
    findAgentBrief(db, workspaceId, rollupId),
    listDays(db, workspaceId, rollupId, current),
    sumDays(db, workspaceId, rollupId, current, durableDay),
    sumDays(db, workspaceId, rollupId, previous, durableDay),
    sumStatuses(db, workspaceId, rollupId),
    listUnansweredQuestions(db, workspaceId, rollupId, current),
  ]);
  if (agentId !== null && !agent) throw notFound("agent");
  if (unspanned.some(({ day }) => day >= spanned.fromDay && day <= spanned.toDay)) {
    // The spans only make the next overview cheaper, so a failure is logged, and the next request tries again.
    const created = db.batch([createMissingSpans(db, workspaceId, rollupId, spanned)]);
    await created.catch((error: unknown) => logRarely("analytics_spans_not_created", {}, error));
  }
  const counters = [...spans, ...unspanned];
  const counted = { days: rows, sums: sums!, counters, previous: before!, statuses: statuses!, questions };
  const overview = toOverview({ agentId, range: current, ...counted });
  return wantsCsv(c) ? csvRecords(c, "analytics", overview.daily) : c.json(overview, 200);
});

const listVersionAnalytics = createRoute({
  operationId: "listVersionAnalytics",
  method: "get",
  path: "/analytics/versions",
  summary: "Compare the versions of an agent",
  description:
    "The figures of each version that has answered, since it was published or rolled out. A conversation counts for the version with which it started, an answer for the version that wrote it. Conversations in the playground do not count, and neither does the draft.",
  ...needsScope("analytics:read"),
  request: { query: versionAnalyticsQuery },
  responses: { 200: jsonResponse(versionAnalyticsPageSchema, "A page of versions, newest first."), ...errorResponses(403, 404, 422) },
});

analyticsRoutes.openapi(listVersionAnalytics, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId, ...page } = c.req.valid("query");
  const key = { workspaceId, agentId };
  const [[agent], rows, [counted]] = await db.batch([
    findAgentBrief(db, workspaceId, agentId),
    listVersionCounts(db, key, page),
    countVersionRows(db, key),
  ]);
  if (!agent) throw notFound("agent");
  return c.json(toPage(rows.map(toVersionAnalytics), counted?.count ?? 0, page), 200);
});

const listGaps = createRoute({
  operationId: "listGaps",
  method: "get",
  path: "/agents/{agent_id}/gaps",
  summary: "List the questions that visitors asked without a good answer",
  description:
    "Questions without an answer, and questions whose answer was rated down. Questions with the same meaning are one gap. A gap closes when a curated answer to it is added, and opens again when the question is asked again without a good answer. The list covers the 100 most frequent and the 100 latest questions without an answer, and the 200 latest answers that were rated down.",
  ...needsScope("analytics:read"),
  request: { params: z.object({ agent_id: agentRef() }), query: gapQuery },
  responses: { 200: jsonResponse(gapPageSchema, "A page of gaps, most frequent first."), ...errorResponses(403, 404, 422) },
});

analyticsRoutes.openapi(listGaps, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const { days, limit, offset } = c.req.valid("query");
  const { current } = rangesOf(days, nowMs);
  const [[agent], questions, ratedDown, curated] = await db.batch([
    findAgentBrief(db, workspaceId, agentId),
    listGapQuestions(db, workspaceId, agentId, current),
    listRatedDown(db, workspaceId, agentId, current),
    listCuratedQuestions(db, workspaceId, agentId),
  ]);
  if (!agent) throw notFound("agent");
  const gaps = groupGaps({ questions, ratedDown, curated }, agent.language);
  return c.json(toPage(gaps.slice(offset, offset + limit).map(toGap), gaps.length, { limit, offset }), 200);
});
