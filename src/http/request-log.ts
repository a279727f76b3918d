import { logProblem } from "../telemetry/log.ts";
import { report } from "../telemetry/report.ts";
import type { AppContext } from "./context.ts";
import { operationOf, routeOf } from "./operation.ts";

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
