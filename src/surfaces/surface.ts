import { Hono } from "hono";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { ApiRoot } from "../docs/descriptions.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "../platform/http/error-handler.ts";
import { requestLog } from "../platform/http/request-log.ts";
import { securityHeaders } from "../platform/http/security-headers.ts";
import { limitAddress } from "../workspaces/middleware.ts";

/** A surface, with what each of its responses has: the log line, the headers, the error envelope. */
export function createSurface(): Hono<AppEnv> {
  const surface = new Hono<AppEnv>();
  surface.use(requestLog, securityHeaders);
  surface.use(methodNotAllowed({ app: surface, onMethodNotAllowed: handleMethodNotAllowed }));
  surface.notFound(handleNotFound);
  surface.onError(handleError);
  return surface;
}

/** Serves the OpenAPI document of an API, built on the first request for it. */
export function serveDocument(surface: Hono<AppEnv>, root: ApiRoot, loadRouter: () => Promise<OpenAPIHono<AppEnv>>): void {
  let document: string | undefined;
  surface.get(`${root}/openapi.json`, limitAddress, async (c) => {
    const { openApiDocument } = await import("../docs/openapi.ts");
    const router = await loadRouter();
    document ??= JSON.stringify(openApiDocument(router, root));
    return c.body(document, 200, { "Content-Type": "application/json" });
  });
}
