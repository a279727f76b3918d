import type { Handler } from "hono";
import { matchedRoutes } from "hono/route";
import { newId } from "../db/ids.ts";
import { logProblem } from "../telemetry/log.ts";
import { Meter } from "../telemetry/meter.ts";
import { report } from "../telemetry/report.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { isForwarded } from "./region.ts";

/** The surfaces by the first segment of their paths. */
const SURFACES = new Set(["api", "operator", "widget", "mcp", "chat", "console", "docs", "healthz"]);

/** Gives a request its id and its meter. */
export function beginRequest(c: AppContext): void {
  const nowMs = Date.now();
  c.set("startedAtMs", nowMs);
  c.set("meter", new Meter());
  c.set("newIdIn", (shard) => newId(shard, Date.now()));
  c.set("requestId", newId(0, nowMs));
  c.header("X-Request-Id", c.get("requestId"));
  if (isForwarded(c)) c.get("meter").countObjectHop();
}

/** Reports a request that has its response. The raw path and query are left out: they may hold personal data. */
export function endRequest(c: AppContext): void {
  // The Worker in the region has reported it.
  if (c.get("forwarding") === "done") return;
  const { workspaceId = null, keyId = null } = c.get("logFields") ?? {};
  const [, first = ""] = c.req.path.split("/", 2);
  report(c.env, {
    event: "request",
    operation: operationIdOf(c),
    surface: SURFACES.has(first) ? first : null,
    workspaceId,
    keyId,
    status: c.res.status,
    errorCode: c.get("errorCode") ?? null,
    durationMs: Date.now() - c.get("startedAtMs"),
    cost: c.get("meter").cost,
    fields: { request_id: c.get("requestId"), method: c.req.method, route: routeOf(c) ?? null },
  });
}

/** Logs an unexpected error of a request. */
export function logFailure(c: AppContext, error: unknown): void {
  logProblem("failure", { request_id: c.get("requestId"), operation: operationIdOf(c) }, error);
}

/** The ids of operations by the handlers of their routes. */
const operationIds = new WeakMap<object, string>();

/** Sets the operation id of a route by its handler. No two routes may share a handler. */
export function nameOperation(handler: Handler<AppEnv>, operationId: string): void {
  operationIds.set(handler, operationId);
}

/** The id of the operation that a request is for, even if it was refused; null if the path has none. */
function operationIdOf(c: AppContext): string | null {
  const named = matchedRoutes(c).find(({ handler }) => operationIds.has(handler));
  return c.get("answeredBy") ?? (named && operationIds.get(named.handler)) ?? null;
}

/** The path's pattern, such as `/api/v1/agents/:agent_id`. */
function routeOf(c: AppContext): string | undefined {
  return matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path;
}
