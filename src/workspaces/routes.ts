import { createRoute } from "@hono/zod-openapi";
import { notFound } from "../platform/http/errors.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { monthOf } from "../platform/time.ts";
import { needsScope, operationOf } from "./checks.ts";
import { findWorkspace, listUsage } from "./store.ts";
import { meSchema, toUsage, usageOf, usageSchema } from "./wire.ts";

export const accountRoutes = createRouter("Account");

const getMe = createRoute({
  operationId: "getMe",
  method: "get",
  path: "/me",
  summary: "Who the key belongs to, and what it may do",
  description: "Any valid key may call it.",
  responses: { 200: jsonResponse(meSchema, "The key, its workspace and its rate limit."), ...errorResponses() },
});

accountRoutes.openapi(getMe, (c) => {
  const { workspace, key } = c.get("caller");
  const { member = null, isOwner: _, ...apiKey } = key;
  const { id, name, slug, plan, limits } = workspace;
  const rateLimit = { requests_per_minute: limits.requests_per_minute };
  return c.json({ workspace: { id, name, slug }, plan, api_key: apiKey, member, rate_limit: rateLimit }, 200);
});

const getUsage = createRoute({
  operationId: "getUsage",
  method: "get",
  path: "/usage",
  summary: "Plan, limits and usage of this billing period",
  ...needsScope("analytics:read"),
  responses: { 200: jsonResponse(usageSchema, "The current period."), ...errorResponses(403) },
});

accountRoutes.openapi(getUsage, async (c) => {
  const { workspace } = c.get("caller");
  const { db, workspaceId, nowMs } = operationOf(c);
  const [[row], ...found] = await db.batch([findWorkspace(db, workspaceId), ...listUsage(db, [workspaceId], monthOf(nowMs), nowMs)]);
  if (!row) throw notFound("workspace");
  return c.json(toUsage(workspace.plan, workspace.limits, usageOf(row, found), nowMs), 200);
});
