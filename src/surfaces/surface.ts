import { Hono, type MiddlewareHandler } from "hono";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { ApiRoot } from "../docs/descriptions.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "../platform/http/error-handler.ts";
import { beginRequest, endRequest } from "../platform/http/request-log.ts";
import { addSecurityHeaders, hasSecurityHeaders } from "../platform/http/security-headers.ts";
import { requireAddressRoom } from "../workspaces/checks.ts";

/** A surface, with what each of its responses has: the log line, the headers, the error envelope. */
export function createSurface(): Hono<AppEnv> {
  const surface = new Hono<AppEnv>();
  const refuseMethod = methodNotAllowed({ app: surface, onMethodNotAllowed: handleMethodNotAllowed });
  surface.use(everyRequest);
  surface.notFound(async (c) => {
    c.res = handleNotFound(c);
    await refuseMethod(c, async () => undefined);
    return c.res;
  });
  surface.onError(handleError);
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

/** Serves the OpenAPI document of an API, built on the first request for it. */
export function serveDocument(surface: Hono<AppEnv>, root: ApiRoot, loadRouter: () => Promise<OpenAPIHono<AppEnv>>): void {
  let document: string | undefined;
  surface.get(`${root}/openapi.json`, async (c) => {
    requireAddressRoom(c);
    const { openApiDocument } = await import("../docs/openapi.ts");
    const router = await loadRouter();
    document ??= JSON.stringify(openApiDocument(router, root));
    return c.body(document, 200, { "Content-Type": "application/json" });
  });
}
