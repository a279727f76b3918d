import type { OpenAPIHono } from "@hono/zod-openapi";
import { Hono, type MiddlewareHandler } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { ApiRoot } from "../docs/descriptions.ts";
import { type Check, checking } from "../platform/http/checks.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "../platform/http/error-handler.ts";
import { beginRequest, endRequest } from "../platform/http/request-log.ts";
import { discardRest } from "../platform/read-stream.ts";
import { requireAddressLimit } from "../workspaces/checks.ts";

/** Creates a surface with these routes. Each request writes a log line, and each response has the security headers and the error format. */
export function createSurface(root: string, routes?: Hono<AppEnv>): Hono<AppEnv> {
  const surface = new Hono<AppEnv>();
  const refuseMethod = methodNotAllowed({ app: surface, onMethodNotAllowed: handleMethodNotAllowed });
  surface.use(everyRequest);
  surface.notFound(async (c) => {
    c.res = handleNotFound(c);
    await refuseMethod(c, async () => undefined);
    return c.res;
  });
  surface.onError(handleError);
  if (routes) surface.route(root, routes);
  return surface;
}

/** A single middleware for everything that all requests need. */
const everyRequest: MiddlewareHandler<AppEnv> = async (c, next) => {
  beginRequest(c);
  addSecurityHeaders(c);
  await next();
  // A response that another fetch returned takes no headers from before it.
  if (!c.res.headers.has("X-Content-Type-Options")) addSecurityHeaders(c);
  endRequest(c);
  await discardRest(c.req.raw.body, MAX_DISCARDED_BYTES, MAX_DISCARDING_MS);
};

/*
 * Many clients send a whole body before they read the response. If a response is sent while the body is not read, the runtime closes
 * the connection, and such a client sees an error of the connection instead of the response. The rest of the body is therefore read
 * first. The bounds allow a file of the largest size.
 */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;
const MAX_DISCARDING_MS = 10_000;

/** The security headers of every response. A page that loads something sends its own Content-Security-Policy. */
const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

function addSecurityHeaders(c: AppContext): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
}

type Routers = readonly OpenAPIHono<AppEnv>[];

/**
 * Creates a surface with an OpenAPI document, which is built with the first request for it.
 * @param checks run in order before every operation.
 * @param loadDocumented loads the routers of the document, if the surface has only some of them.
 */
export function createApiSurface(
  root: ApiRoot,
  routers: Routers,
  checks: Check[] = [],
  loadDocumented = async (): Promise<Routers> => routers,
): Hono<AppEnv> {
  const surface = createSurface(root);
  let document: string | undefined;
  surface.get(`${root}/openapi.json`, async (c) => {
    requireAddressLimit(c);
    const { openApiDocument } = await import("../docs/openapi.ts");
    document ??= JSON.stringify(openApiDocument(await loadDocumented(), root));
    return c.body(document, 200, { "Content-Type": "application/json" });
  });
  if (checks.length > 0) surface.use(`${root}/*`, checking(...checks));
  for (const router of routers) surface.route(root, router);
  return surface;
}
