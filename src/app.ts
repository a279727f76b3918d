import type { Hono } from "hono";
import type { AppEnv } from "./platform/http/context.ts";
import { getPath } from "hono/utils/url";
import { placeOf } from "./surfaces/features.ts";

/*
 * Which surface answers a request. Each is loaded with the first request for it, and of the integrators' API only the features at
 * the place of its path: a new isolate evaluates what its requests need.
 */

type Surface = Hono<AppEnv>;

/** The surfaces by the first segment of their paths. */
const SURFACES: Readonly<Record<string, (place: string) => Promise<Surface>>> = {
  api: async (place) => (await import("./surfaces/api.ts")).createApi(place),
  widget: async () => (await import("./surfaces/widget.ts")).widget,
  operator: async () => (await import("./surfaces/operator.ts")).operator,
  mcp: async () => (await import("./surfaces/mcp.ts")).mcp,
  console: async () => (await import("./surfaces/console.ts")).console,
  chat: async () => (await import("./surfaces/chat.ts")).chat,
  docs: async () => (await import("./surfaces/docs.ts")).docs,
};

/** The home page, the health check, and every path where nothing is. */
const loadHome = async () => (await import("./surfaces/home.ts")).home;

/** What has been loaded, by surface and place. Their promises are not kept: each belongs to the request that waits for it. */
const loaded = new Map<string, Surface>();

/** The HTTP entrance of the service. */
export const app = {
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    const surface = await surfaceAt(getPath(request));
    return surface.fetch(request, env, context);
  },
};

async function surfaceAt(path: string): Promise<Surface> {
  const [, first = ""] = path.split("/", 2);
  const name = Object.hasOwn(SURFACES, first) ? first : "";
  const place = name === "api" ? placeOf(path) : "";
  const key = `${name}/${place}`;
  const known = loaded.get(key);
  if (known) return known;
  const surface = await (SURFACES[name] ?? loadHome)(place);
  loaded.set(key, surface);
  return surface;
}
