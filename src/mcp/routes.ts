import type { Hono } from "hono";
import { acceptSlugs } from "../agents/checks.ts";
import { challengeOf, LOOPBACK } from "../applications/metadata.ts";
import { isProduction } from "../platform/config.ts";
import { type Check, runChecks } from "../platform/http/checks.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { nameOperation } from "../platform/http/request-log.ts";
import { createRouter } from "../platform/http/router.ts";
import { requireAnyToken, requireConfig } from "../workspaces/checks.ts";

/**
 * Refuses requests from pages of other sites. A page can let its own host name point to this machine (DNS rebinding), so that its
 * origin equals that of the request. In development, where no proxy checks the host name, only loopback names are accepted.
 */
const checkOrigin: Check = (c) => {
  const origin = c.req.header("Origin");
  const own = new URL(c.req.url);
  const isOwn = origin === own.origin && (isProduction(c.env) || LOOPBACK.has(own.hostname));
  if (origin !== undefined && !isOwn)
    throw new ApiError("origin_not_allowed", "Connect from a server or an app. Pages of other sites are not allowed.");
};

/** Authenticates an API key or the token of an application. A refusal says where an application gets a token. */
const requireTokenOrChallenge: Check = async (c) => {
  try {
    return await requireAnyToken(c);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401)
      error.headers["WWW-Authenticate"] = challengeOf(c.req.url, error.code !== "missing_api_key");
    throw error;
  }
};

/**
 * The Model Context Protocol at `/mcp`.
 * @param loadRouters imports the routers of the integrators' API, which the tools call.
 */
export function mcpRoutes(loadRouters: () => Promise<Hono<AppEnv>[]>): Hono<AppEnv> {
  const router = createRouter();
  let answer: ((c: AppContext) => Promise<Response>) | undefined;
  const handle = async (c: AppContext) => {
    const response = await runChecks(c, [checkOrigin, requireConfig, requireTokenOrChallenge, acceptSlugs]);
    if (response) return response;
    // Imported after the checks, since an isolate that forwards requests to another region does not need it.
    answer ??= (await import("./server.ts")).createAnswerer(await loadRouters());
    return answer(c);
  };
  nameOperation(handle, "mcp");
  router.post("/", handle);
  return router;
}
