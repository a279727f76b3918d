import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Hono } from "hono";
import { useSession } from "../console/session.ts";
import { checking } from "../platform/http/checks.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { createRouter } from "../platform/http/router.ts";
import { requireConfig, requireKey } from "../workspaces/checks.ts";
import { FEATURES } from "./features.ts";
import { createSurface, serveDocument } from "./surface.ts";

const ROOT = "/api/v1";
const OPENAI = "openai";

/** The integrators' API, as far as it is at one place. @param place one of `placeOf`. */
export async function createApi(place: string): Promise<Hono<AppEnv>> {
  const features = FEATURES.filter(({ at }) => at.includes(place));
  const routers = await Promise.all(features.map(({ load }) => load()));
  const api = createSurface();
  serveDocument(api, ROOT, loadWholeApi);
  const errors = place === OPENAI ? [(await import("../chat/openai-routes.ts")).openAiErrors] : [];
  api.use(`${ROOT}/*`, checking(...errors, requireConfig, useSession, requireKey));
  for (const router of routers) api.route(ROOT, router);
  return api;
}

/** A router with all of its operations, in the order of the OpenAPI document. */
export async function loadWholeApi(): Promise<OpenAPIHono<AppEnv>> {
  const routers = await Promise.all(FEATURES.map(({ load }) => load()));
  const api = createRouter();
  for (const router of routers) api.route("/", router);
  return api;
}
