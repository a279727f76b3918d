import { createRoute, z } from "@hono/zod-openapi";
import { isBoundShard } from "../platform/db/bindings.ts";
import { integerQuery, timeQuery, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery, toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { pageAudit } from "./audit.ts";
import { noWorkspace } from "./auth.ts";
import { auditEntrySchema, toAuditEntry } from "./wire.ts";

/** Each database reads the entries before a page; the cursor goes further. */
const MAX_OFFSET = 1_000;

const auditQuery = cursorQuery.extend({
  offset: integerQuery({ min: 0, max: MAX_OFFSET, default: 0, instead: "cursor" }),
  workspace_id: uuid().optional(),
  operation: z.string().max(100).optional().meta({ description: "Only entries of this operation, which is an operationId." }),
  actor: z.string().max(100).optional().meta({ description: "Only entries of this actor." }),
  since: timeQuery().optional().meta({ description: "Only entries at or after this time." }),
});

export const auditRoutes = createStrictRouter("Audit");

const list = createRoute({
  operationId: "listAudit",
  method: "get",
  path: "/audit",
  summary: "List what operators did",
  request: { query: auditQuery },
  responses: {
    200: jsonResponse(cursorPageOf(auditEntrySchema, "AuditPage"), "A page of what operators did, newest first."),
    ...errorResponses(404, 422),
  },
});

auditRoutes.openapi(list, async (c) => {
  const { workspace_id: workspaceId, operation, actor, since: sinceMs, ...page } = c.req.valid("query");
  if (workspaceId !== undefined && !isBoundShard(c.env, workspaceId)) throw noWorkspace();
  const { rows, total } = await pageAudit(c.env, c.get("meter"), { workspaceId, operation, actor, sinceMs }, page);
  const positionOf = ({ createdAt, id }: (typeof rows)[number]) => ({ atMs: createdAt, id });
  return c.json(toCursorPage(rows, total, page, positionOf, toAuditEntry), 200);
});
