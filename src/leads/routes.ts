import { createRoute } from "@hono/zod-openapi";
import { csvResponse, orCsv, wantsCsv } from "../platform/http/csv.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { findLeads, type LeadRow } from "./leads.ts";
import { leadColumns, leadPageSchema, leadQuery, toLead } from "./wire.ts";

export const leadRoutes = createRouter("Leads");

const listLeadsRoute = createRoute({
  operationId: "listLeads",
  method: "get",
  path: "/leads",
  summary: "List and search leads, newest first",
  description: "With `Accept: text/csv`, all matching leads as a CSV file.",
  ...needsScope("leads:read"),
  request: { query: leadQuery },
  responses: { 200: orCsv(jsonResponse(leadPageSchema, "A page of leads, newest first.")), ...errorResponses(403, 422) },
});

leadRoutes.openapi(listLeadsRoute, async (c) => {
  const { agent_id: agentId, q, created_since: sinceMs, ...page } = c.req.valid("query");
  const op = operationOf(c);
  const positionOf = (row: LeadRow) => ({ atMs: row.createdAt, id: row.id });
  const readPage = async (asked: typeof page) => {
    const { rows, total } = await findLeads(op, { agentId, q, sinceMs, ...asked });
    return toCursorPage(rows, total, asked, positionOf, toLead);
  };
  return wantsCsv(c) ? csvResponse(c, "leads", leadColumns, readPage) : c.json(await readPage(page), 200);
});
