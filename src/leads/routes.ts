import { createRoute } from "@hono/zod-openapi";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope } from "../workspaces/middleware.ts";
import { findLeads, type LeadRow } from "./leads.ts";
import { leadPageSchema, leadQuery, toLead } from "./wire.ts";

export const leadRoutes = createRouter("Leads");

const listLeadsRoute = createRoute({
  operationId: "listLeads",
  method: "get",
  path: "/leads",
  summary: "List and search leads, newest first",
  ...needsScope("leads:read"),
  request: { query: leadQuery },
  responses: { 200: jsonResponse(leadPageSchema, "A page of leads, newest first."), ...errorResponses(403, 422) },
});

leadRoutes.openapi(listLeadsRoute, async (c) => {
  const { agent_id: agentId, q, created_since: sinceMs, ...page } = c.req.valid("query");
  const op = { env: c.env, meter: c.get("meter"), workspaceId: c.get("caller").workspace.id, nowMs: Date.now() };
  const { rows, total } = await findLeads(op, { agentId, q, sinceMs, ...page });
  const positionOf = (row: LeadRow) => ({ atMs: row.createdAt, id: row.id });
  return c.json(toCursorPage(rows, total, page, positionOf, toLead), 200);
});
