import type { OpenAPIHono } from "@hono/zod-openapi";
import { Hono, type MiddlewareHandler } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { ApiRoot } from "../docs/descriptions.ts";
import { type Check, checking } from "../platform/http/checks.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "../platform/http/error-handler.ts";
import { beginRequest, endRequest } from "../platform/http/request-log.ts";
import { addSecurityHeaders, hasSecurityHeaders } from "../platform/http/security-headers.ts";
import { requireAddressRoom } from "../workspaces/checks.ts";

/** A surface with these routes, and with what each of its responses has: the log line, the headers, the error envelope. */
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

/** One layer of the framework for all that each request has. */
const everyRequest: MiddlewareHandler<AppEnv> = async (c, next) => {
  beginRequest(c);
  addSecurityHeaders(c);
  await next();
  // A response that another fetch returned takes no headers from before it.
  if (!hasSecurityHeaders(c.res)) addSecurityHeaders(c);
  endRequest(c);
};

type Routers = readonly OpenAPIHono<AppEnv>[];

/**
 * A surface that has an OpenAPI document beside its operations, built on the first request for it.
 * @param checks run in order before every operation.
 * @param loadDocumented loads the routers of the document, where those of the surface are a part of them.
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
    requireAddressRoom(c);
    const { openApiDocument } = await import("../docs/openapi.ts");
    document ??= JSON.stringify(openApiDocument(await loadDocumented(), root));
    return c.body(document, 200, { "Content-Type": "application/json" });
  });
  if (checks.length > 0) surface.use(`${root}/*`, checking(...checks));
  for (const router of routers) surface.route(root, router);
  return surface;
}
