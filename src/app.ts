import type { OpenAPIHono } from "@hono/zod-openapi";
import { Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { getPath } from "hono/utils/url";
import { useSession } from "./console/session.ts";
import type { AppEnv } from "./platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "./platform/http/error-handler.ts";
import { requestLog } from "./platform/http/request-log.ts";
import { securityHeaders } from "./platform/http/security-headers.ts";
import { lazy } from "./platform/lazy.ts";
import { limitAddress, requireConfig, requireKey } from "./workspaces/middleware.ts";

/*
 * The code of an operation is loaded with the first request for one of its feature: what all features are made of takes several
 * times as long to load as what one request needs.
 */

/** A feature of the integrators' API. */
interface Feature {
  /** Its paths under /api/v1. */
  paths: RegExp;
  load: () => Promise<OpenAPIHono<AppEnv>[]>;
}

/** The integrators' API, /api/v1: what the OpenAPI document describes, in its order. */
const FEATURES: readonly Feature[] = [
  { paths: /^\/(?:me|usage)$/, load: async () => [(await import("./workspaces/routes.ts")).accountRoutes] },
  {
    paths: /^\/agents(?:\/[^/]+(?:\/rotate-identity-secret)?)?$/,
    load: async () => [(await import("./administration/agent-routes.ts")).agentRoutes],
  },
  { paths: /^\/keys(?:\/|$)/, load: async () => [(await import("./administration/key-routes.ts")).keyRoutes] },
  {
    paths: /^\/agents\/[^/]+\/messages$|^\/conversations\/[^/]+\/messages\/[^/]+\/stream$/,
    load: async () => [(await import("./chat/routes.ts")).chatRoutes],
  },
  {
    paths: /^\/conversations(?:\/[^/]+(?:\/(?:messages|notes))?)?$/,
    load: async () => {
      const { startRoutes } = await import("./chat/start-routes.ts");
      const { conversationRoutes } = await import("./conversations/routes.ts");
      return [startRoutes, conversationRoutes];
    },
  },
  { paths: /^\/leads$/, load: async () => [(await import("./leads/routes.ts")).leadRoutes] },
  {
    paths: /^\/agents\/[^/]+\/(?:sources|answers|search)(?:\/|$)/,
    load: async () => [(await import("./knowledge/routes.ts")).knowledgeRoutes],
  },
  { paths: /^\/analytics\//, load: async () => [(await import("./analytics/routes.ts")).analyticsRoutes] },
  { paths: /^\/privacy\//, load: async () => [(await import("./privacy/routes.ts")).privacyRoutes] },
  {
    paths: /^\/webhooks(?:\/|$)/,
    load: async () => {
      const { webhookRoutes } = await import("./webhooks/routes.ts");
      const { deliveryRoutes } = await import("./webhooks/delivery-routes.ts");
      return [webhookRoutes, deliveryRoutes];
    },
  },
];

const API = "/api/v1";

/** What is the same for every path. */
function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(requestLog, securityHeaders);
  app.use(methodNotAllowed({ app, onMethodNotAllowed: handleMethodNotAllowed }));
  app.notFound(handleNotFound);
  app.onError(handleError);
  return app;
}

/** The app of one feature. */
async function apiOf({ load }: Feature): Promise<Hono<AppEnv>> {
  const api = createApp();
  api.use(`${API}/*`, requireConfig, useSession, requireKey);
  for (const routes of await load()) api.route(API, routes);
  return api;
}

async function operatorApp(): Promise<Hono<AppEnv>> {
  const { operatorRoutes } = await import("./operator/routes.ts");
  return createApp().use("/operator/v1/*", requireConfig, useSession).route("/operator/v1", operatorRoutes);
}

async function backupApp(): Promise<Hono<AppEnv>> {
  const { requireOperator } = await import("./operator/auth.ts");
  const { backupRoutes } = await import("./backup/routes.ts");
  return createApp().use("/operator/v1/*", requireConfig, useSession, requireOperator).route("/operator/v1", backupRoutes);
}

async function widgetApp(): Promise<Hono<AppEnv>> {
  const { widgetRoutes } = await import("./widget/routes.ts");
  return createApp().route("/widget/v1", widgetRoutes);
}

async function consoleApp(): Promise<Hono<AppEnv>> {
  const { consoleRoutes } = await import("./console/routes.ts");
  return createApp().use("/console/*", requireConfig).route("/console", consoleRoutes);
}

async function hostedPageApp(): Promise<Hono<AppEnv>> {
  const { hostedPageRoutes } = await import("./widget/hosted-page.ts");
  return createApp().use("/chat/*", requireConfig).route("/chat", hostedPageRoutes);
}

async function docsApp(): Promise<Hono<AppEnv>> {
  const { docsRoutes } = await import("./docs/routes.ts");
  return createApp().route("/docs", docsRoutes);
}

async function homeApp(): Promise<Hono<AppEnv>> {
  const { homeRoutes } = await import("./docs/home.ts");
  return createApp().route("/", homeRoutes);
}

async function mcpApp(): Promise<Hono<AppEnv>> {
  const { mcpRoutes } = await import("./mcp/routes.ts");
  return createApp().route("/mcp", mcpRoutes(await wholeApi()));
}

/** The whole of the integrators' API, for what describes it or calls it from within. */
const wholeApi = lazy(async () => {
  const { createRouter } = await import("./platform/http/router.ts");
  const api = createRouter();
  for (const { load } of FEATURES) for (const routes of await load()) api.route("/", routes);
  return api;
});

/** The OpenAPI documents. */
const documents: Record<string, () => string | Promise<string>> = {
  [API]: lazy(async () => describe(await wholeApi(), "API")),
  "/widget/v1": lazy(async () => describe((await import("./widget/routes.ts")).widgetRoutes, "WIDGET")),
  "/operator/v1": lazy(async () => {
    const { createRouter } = await import("./platform/http/router.ts");
    const { operatorRoutes } = await import("./operator/routes.ts");
    const { backupRoutes } = await import("./backup/routes.ts");
    const operator = createRouter();
    for (const routes of [operatorRoutes, backupRoutes]) operator.route("/", routes);
    return describe(operator, "OPERATOR");
  }),
};

async function describe(router: OpenAPIHono<AppEnv>, surface: "API" | "WIDGET" | "OPERATOR"): Promise<string> {
  const { openApiDocument } = await import("./docs/openapi.ts");
  const surfaces = await import("./docs/surfaces.ts");
  return JSON.stringify(openApiDocument(router, surfaces[surface]));
}

/** What has no feature, and the paths that lead nowhere. */
const core = createApp();
core.get("/healthz", (c) => c.json({ status: "ok" }));
for (const [root, document] of Object.entries(documents)) {
  core.get(`${root}/openapi.json`, limitAddress, async (c) => c.body(await document(), 200, { "Content-Type": "application/json" }));
}
core.use(`${API}/*`, requireConfig, useSession, requireKey);

const features = FEATURES.map((feature) => ({ paths: feature.paths, app: lazy(() => apiOf(feature)) }));
const surfaces = [
  { paths: /^\/(?:operator|widget)\/v1\/openapi\.json$/, app: () => core },
  { paths: /^\/operator\/v1\/workspaces\/[^/]+\/(?:export|import)(?:\/|$)/, app: lazy(backupApp) },
  { paths: /^\/operator\/v1(?:\/|$)/, app: lazy(operatorApp) },
  { paths: /^\/widget\/v1(?:\/|$)/, app: lazy(widgetApp) },
  { paths: /^\/console(?:\/|$)/, app: lazy(consoleApp) },
  { paths: /^\/chat(?:\/|$)/, app: lazy(hostedPageApp) },
  { paths: /^\/docs(?:\/|$)/, app: lazy(docsApp) },
  { paths: /^\/mcp(?:\/|$)/, app: lazy(mcpApp) },
  { paths: /^\/$/, app: lazy(homeApp) },
];

function appOf(path: string): Hono<AppEnv> | Promise<Hono<AppEnv>> {
  const [parts, rest] = path.startsWith(API) ? [features, path.slice(API.length)] : [surfaces, path];
  return parts.find(({ paths }) => paths.test(rest))?.app() ?? core;
}

/** The HTTP service. */
export const app = {
  async fetch(request: Request, env: Env, ctx?: ExecutionContext): Promise<Response> {
    const found = await appOf(getPath(request));
    return found.fetch(request, env, ctx);
  },
};
