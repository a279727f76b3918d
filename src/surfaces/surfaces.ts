import type { Hono } from "hono";
import { getPath } from "hono/utils/url";
import { useSession } from "../console/session.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { loadApi, loadRouters, placeOf } from "./api.ts";
import { createApiSurface, createSurface } from "./surface.ts";

/**
 * The surfaces by the first segment of their paths. Each is loaded with the first request for it. Of the integrators' API, a request
 * loads only the features at the place of its path. The empty segment stands for the home page, the health check, and every unknown path.
 */
export const SURFACES: Readonly<Record<string, (place: string) => Promise<Hono<AppEnv>>>> = {
  "": async () => createSurface("/", (await import("../docs/home.ts")).homeRoutes),
  api: loadApi,
  widget: async () => createApiSurface("/widget/v1", [(await import("../widget/routes.ts")).widgetRoutes]),
  operator: async () => {
    const [{ operatorRoutes }, { backupRoutes }, { shardMoveRoutes }] = await Promise.all([
      import("../operator/routes.ts"),
      import("../backup/routes.ts"),
      import("../shard-moves/routes.ts"),
    ]);
    return createApiSurface("/operator/v1", [operatorRoutes, backupRoutes, shardMoveRoutes], [requireConfig, useSession]);
  },
  mcp: async () => createSurface("/mcp", (await import("../mcp/routes.ts")).mcpRoutes(loadRouters)),
  oauth: async () => createSurface("/oauth", (await import("../applications/oauth-routes.ts")).oauthRoutes),
  ".well-known": async () => createSurface("/.well-known", (await import("../applications/oauth-routes.ts")).wellKnownRoutes),
  console: async () => createSurface("/console", (await import("../console/routes.ts")).consoleRoutes),
  chat: async () => createSurface("/chat", (await import("../widget/hosted-page.ts")).hostedPageRoutes),
  docs: async () => createSurface("/docs", (await import("../docs/routes.ts")).docsRoutes),
};

/** The loaded surfaces by name and place. Their promises are not kept: each belongs to the request that waits for it. */
const loaded = new Map<string, Hono<AppEnv>>();

/** The surface that answers a request. */
export async function surfaceAt(request: Request): Promise<Hono<AppEnv>> {
  const path = getPath(request);
  const [, first = ""] = path.split("/", 2);
  const name = Object.hasOwn(SURFACES, first) ? first : "";
  const place = name === "api" ? placeOf(path) : "";
  const key = `${name}/${place}`;
  const known = loaded.get(key);
  if (known) return known;
  const surface = await SURFACES[name]!(place);
  loaded.set(key, surface);
  return surface;
}
