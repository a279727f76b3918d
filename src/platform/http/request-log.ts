import type { Handler, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { logProblem } from "../telemetry/log.ts";
import { report } from "../telemetry/report.ts";
import type { AppContext, AppEnv } from "./context.ts";

/** The surfaces by the first segment of their paths. */
const SURFACES = ["api", "operator", "widget", "docs", "healthz"];

/** Reports a request: what was asked, how it ended and what it cost. Neither the path as it came nor its query is in it. */
export function logRequest(c: AppContext): void {
  const { workspaceId = null, keyId = null } = c.get("logFields") ?? {};
  report(c.env, {
    event: "request",
    operation: operationNameOf(c),
    surface: SURFACES.find((name) => name === c.req.path.split("/", 2)[1]) ?? null,
    workspaceId,
    keyId,
    status: c.res.status,
    errorCode: c.get("errorCode") ?? null,
    durationMs: Date.now() - c.get("startedAtMs"),
    cost: c.get("meter").cost,
    fields: { request_id: c.get("requestId"), method: c.req.method, route: routeOf(c) ?? null },
  });
}

/** A failure of ours, for the log alone. */
export function logFailure(c: AppContext, error: unknown): void {
  logProblem("failure", { request_id: c.get("requestId"), operation: operationNameOf(c) }, error);
}

function operationNameOf(c: AppContext): string | null {
  return c.get("answeredBy") ?? operationOf(c) ?? null;
}

/** A handler of each route of the contract, which no other route has, and what the operation is called there. */
const operationIds = new WeakMap<Handler | MiddlewareHandler, string>();

/** Gives a route that has this handler, and is the only one to, its operation's id. */
export function nameOperation(handler: MiddlewareHandler<AppEnv>, operationId: string): void {
  operationIds.set(handler, operationId);
}

/** The operation of the contract that a request is for, let in or not; undefined where the path has none. */
function operationOf(c: AppContext): string | undefined {
  for (const { handler } of matchedRoutes(c)) {
    const operationId = operationIds.get(handler);
    if (operationId !== undefined) return operationId;
  }
  return undefined;
}

/** The path as the router knows it, such as `/api/v1/agents/:agent_id`: a path as it came may hold anything. */
function routeOf(c: AppContext): string | undefined {
  return matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path;
}
