import { createRoute, z } from "@hono/zod-openapi";
import { groupByDatabase } from "../platform/db/client.ts";
import { uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { monthOf } from "../platform/time.ts";
import { listUsage } from "../workspaces/store.ts";
import { usageOf } from "../workspaces/wire.ts";
import { openWorkspace } from "./auth.ts";
import { periodQuery, toWorkspaceUsage, type WorkspaceRow, workspaceUsagePageSchema, workspaceUsageSchema } from "./wire.ts";
import { pageWorkspaces } from "./workspaces.ts";

export const usageRoutes = createStrictRouter("Usage");

const get = createRoute({
  operationId: "getWorkspaceUsage",
  method: "get",
  path: "/workspaces/{workspace_id}/usage",
  summary: "Get the usage of a workspace in a month",
  request: { params: z.object({ workspace_id: uuid() }), query: periodQuery },
  responses: { 200: jsonResponse(workspaceUsageSchema, "The usage."), ...errorResponses(404, 422) },
});

usageRoutes.openapi(get, async (c) => {
  const nowMs = Date.now();
  const { period = monthOf(nowMs) } = c.req.valid("query");
  const { workspace } = await openWorkspace(c, get, c.req.valid("param").workspace_id);
  const [used] = await readUsage(c.env, c.get("meter"), [workspace], period, nowMs);
  return c.json(toWorkspaceUsage(used!, period), 200);
});

const list = createRoute({
  operationId: "listUsage",
  method: "get",
  path: "/usage",
  summary: "List the usage of all workspaces in a month, for billing",
  request: { query: pageQuery.extend(periodQuery.shape) },
  responses: { 200: jsonResponse(workspaceUsagePageSchema, "A page of usages, newest workspace first."), ...errorResponses(422) },
});

usageRoutes.openapi(list, async (c) => {
  const nowMs = Date.now();
  const { period = monthOf(nowMs), ...page } = c.req.valid("query");
  const { rows, total } = await pageWorkspaces(c.env, c.get("meter"), page);
  const used = await readUsage(c.env, c.get("meter"), rows, period, nowMs);
  return c.json(
    toPage(
      used.map((one) => toWorkspaceUsage(one, period)),
      total,
      page,
    ),
    200,
  );
});

/** Reads the usage of workspaces in one trip to each database: the questions of a billing period, and everything else as it is now. */
async function readUsage(env: Env, meter: Meter, rows: WorkspaceRow[], period: string, nowMs: number) {
  const groups = groupByDatabase(env, rows, ({ id }) => id, meter).map(async ({ db, rows: group }) => {
    const found = await db.batch(
      listUsage(
        db,
        group.map(({ id }) => id),
        period,
        nowMs,
      ),
    );
    return group.map((workspace) => [workspace.id, usageOf(workspace, found)] as const);
  });
  const usages = new Map((await Promise.all(groups)).flat());
  return rows.map((workspace) => ({ workspace, usage: usages.get(workspace.id)! }));
}
