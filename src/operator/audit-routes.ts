import { createRoute, z } from "@hono/zod-openapi";
import { type OperatorAuditFilter, listAudit } from "../administration/operator-audit-store.ts";
import { boundDatabases, hasDatabase } from "../platform/db/bindings.ts";
import { dbFor, wholeDatabase } from "../platform/db/client.ts";
import { integerQuery, timeQuery, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery, toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { noWorkspace } from "./auth.ts";
import { auditEntrySchema, toAuditEntry } from "./wire.ts";

/** With an offset, each database reads all entries before the page, so the offset is limited. A cursor has no such limit. */
const MAX_OFFSET = 1_000;

const auditQuery = cursorQuery.extend({
  offset: integerQuery({ min: 0, max: MAX_OFFSET, default: 0, instead: "cursor" }),
  workspace_id: uuid().optional(),
  operation: z.string().max(100).optional().meta({ description: "Only entries of the operation with this operationId." }),
  actor: z.string().max(100).optional().meta({ description: "Only entries of this actor." }),
  since: timeQuery().optional().meta({ description: "Only entries at or after this time." }),
});

export const operatorAuditRoutes = createStrictRouter("Audit");

const list = createRoute({
  operationId: "listAudit",
  method: "get",
  path: "/audit",
  summary: "List what operators did",
  request: { query: auditQuery },
  responses: {
    200: jsonResponse(cursorPageOf(auditEntrySchema, "AuditPage"), "A page of the audit log, newest first."),
    ...errorResponses(404, 422),
  },
});

operatorAuditRoutes.openapi(list, async (c) => {
  const { workspace_id: workspaceId, operation, actor, since: sinceMs, ...page } = c.req.valid("query");
  if (workspaceId !== undefined && !hasDatabase(c.env, workspaceId)) throw noWorkspace();
  const { rows, total } = await pageAudit(c.env, c.get("meter"), { workspaceId, operation, actor, sinceMs }, page);
  const positionOf = ({ createdAt, id }: (typeof rows)[number]) => ({ atMs: createdAt, id });
  return c.json(toCursorPage(rows, total, page, positionOf, toAuditEntry), 200);
});

/**
 * Reads a page of the audit log of all workspaces, newest first, plus one entry if there is another page, and the total. An entry is
 * stored in the database of its workspace, in the transaction of the change.
 */
async function pageAudit(
  env: Env,
  meter: Meter,
  filter: OperatorAuditFilter,
  { limit, offset, cursor }: { limit: number; offset: number; cursor?: { id: string } | undefined },
) {
  const databases =
    filter.workspaceId === undefined
      ? boundDatabases(env).map((database) => wholeDatabase(env, database, meter))
      : [dbFor(env, filter.workspaceId, meter)];
  const first = { limit: offset + limit + 1, beforeId: cursor?.id };
  const pages = await Promise.all(databases.map((db) => db.batch(listAudit(db, filter, first))));
  const newest = pages.flatMap(([rows]) => rows).toSorted((a, b) => (a.id > b.id ? -1 : 1));
  const total = pages.reduce((sum, [, [counted]]) => sum + (counted?.total ?? 0), 0);
  return { rows: newest.slice(offset, offset + limit + 1), total };
}
