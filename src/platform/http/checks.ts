import type { MiddlewareHandler } from "hono";
import type { AppContext, AppEnv } from "./context.ts";
import { ApiError } from "./errors.ts";

/**
 * A step before an operation: it lets the request pass, or answers it.
 * @throws ApiError if it refuses the request.
 */
export type Check = (c: AppContext) => Response | undefined | Promise<Response | undefined> | void | Promise<void>;

/** Runs checks in order, up to the one that answers the request. */
export async function runChecks(c: AppContext, checks: readonly Check[]): Promise<Response | undefined> {
  for (const check of checks) {
    const response = await check(c);
    if (response) return response;
  }
  return undefined;
}

/** Combines checks into one middleware, so that the framework runs one layer for all of them. */
export function checking(...checks: Check[]): MiddlewareHandler<AppEnv> {
  return async (c, next) => (await runChecks(c, checks)) ?? next();
}

/** Returns whether a request asks for a WebSocket. */
export function isUpgrade(c: AppContext): boolean {
  return c.req.header("Upgrade")?.toLowerCase() === "websocket";
}

/** Requires that a request asks for a WebSocket. @throws ApiError not_found. */
export function requireUpgrade(c: AppContext): void {
  if (!isUpgrade(c)) throw new ApiError("not_found", "Connect with a WebSocket.");
}
