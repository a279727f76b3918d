import type { Hono } from "hono";
import { isProduction } from "../platform/config.ts";
import { type Check, runChecks } from "../platform/http/checks.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { nameOperation } from "../platform/http/request-log.ts";
import { createRouter } from "../platform/http/router.ts";
import { requireConfig, requireKey } from "../workspaces/checks.ts";

/** The names of this machine, where a service that is developed on it is reached by a browser. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Refuses what a page of another site sends. A page may have its own name point to this machine (DNS rebinding), and then has
 * the origin of the request: on a laptop, where no proxy checks the name, only the names of this machine are taken.
 */
const checkOrigin: Check = (c) => {
  const origin = c.req.header("Origin");
  const own = new URL(c.req.url);
  const isOwn = origin === own.origin && (isProduction(c.env) || LOOPBACK.has(own.hostname));
  if (origin !== undefined && !isOwn)
    throw new ApiError("origin_not_allowed", "Connect from a server or an app: pages of other sites may not.");
};

/**
 * The Model Context Protocol at `/mcp`.
 * @param loadRouters loads the routers of the integrators' API, which the tools call.
 */
export function mcpRoutes(loadRouters: () => Promise<Hono<AppEnv>[]>): Hono<AppEnv> {
  const router = createRouter();
  let answer: ((c: AppContext) => Promise<Response>) | undefined;
  const handle = async (c: AppContext) => {
    const response = await runChecks(c, [checkOrigin, requireConfig, requireKey]);
    if (response) return response;
    // Loaded behind the checks: the isolate that forwards requests to a workspace's region does without it.
    answer ??= (await import("./server.ts")).createAnswerer(await loadRouters());
    return answer(c);
  };
  nameOperation(handle, "mcp");
  router.post("/", handle);
  return router;
}
