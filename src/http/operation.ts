import type { Handler, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppContext, AppEnv } from "./context.ts";

/** A handler of each route of the contract, which no other route has, and what the operation is called there. */
const operationIds = new WeakMap<Handler | MiddlewareHandler, string>();

/** Gives a route that has this handler, and is the only one to, its operation's id. */
export function nameOperation(handler: MiddlewareHandler<AppEnv>, operationId: string): void {
  operationIds.set(handler, operationId);
}

/** The operation of the contract that a request is for, let in or not; undefined where the path has none. */
export function operationOf(c: AppContext): string | undefined {
  for (const { handler } of matchedRoutes(c)) {
    const operationId = operationIds.get(handler);
    if (operationId !== undefined) return operationId;
  }
  return undefined;
}

/** The path as the router knows it, such as `/api/v1/agents/:agent_id`: a path as it came may hold anything. */
export function routeOf(c: AppContext): string | undefined {
  return matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path;
}
