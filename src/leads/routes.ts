import { createRoute } from "@hono/zod-openapi";
import type { Page } from "../platform/db/sql.ts";
import { csvResponse, orCsv, wantsCsv } from "../platform/http/csv.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { findLeads, type LeadRow, listLeadRows } from "./leads.ts";
import { leadColumns, leadPageSchema, leadQuery, toLead } from "./wire.ts";

export const leadRoutes = createRouter("Leads");

const listLeadsRoute = createRoute({
  operationId: "listLeads",
  method: "get",
  path: "/leads",
  summary: "List and search leads, newest first",
  description: "With `Accept: text/csv`, the matching leads as a CSV file, in parts.",
  ...needsScope("leads:read"),
  request: { query: leadQuery },
  responses: { 200: orCsv(jsonResponse(leadPageSchema, "A page of leads, newest first.")), ...errorResponses(403, 422) },
});

leadRoutes.openapi(listLeadsRoute, async (c) => {
  const { agent_id: agentId, q, created_since: sinceMs, visitor_id: visitorId, ...page } = c.req.valid("query");
  const op = operationOf(c);
  const positionOf = (row: LeadRow) => ({ atMs: row.createdAt, id: row.id });
  const filter = { agentId, q, sinceMs, visitorId };
  if (wantsCsv(c)) {
    const readRows = (asked: Page) => listLeadRows(op, { ...filter, ...asked });
    return csvResponse(c, { name: "leads", columns: leadColumns, cursor: page.cursor, readRows, positionOf, toItem: toLead });
  }
  const { rows, total } = await findLeads(op, { ...filter, ...page });
  return c.json(toCursorPage(rows, total, page, positionOf, toLead), 200);
});
