import type { Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { trimTrailingSlash } from "hono/trailing-slash";
import { agentRoutes } from "./administration/agent-routes.ts";
import { toolRoutes } from "./administration/tool-routes.ts";
import { keyRoutes } from "./administration/key-routes.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import { backupRoutes } from "./backup/routes.ts";
import { chatRoutes } from "./chat/routes.ts";
import { openAiErrors, openAiRoutes } from "./chat/openai-routes.ts";
import { startRoutes } from "./chat/start-routes.ts";
import { consoleRoutes } from "./console/routes.ts";
import { useSession } from "./console/session.ts";
import { conversationRoutes } from "./conversations/routes.ts";
import { homeRoutes } from "./docs/home.ts";
import { docsRoutes } from "./docs/routes.ts";
import { API, OPERATOR, type Surface, WIDGET } from "./docs/surfaces.ts";
import { draftRoutes } from "./knowledge/draft-routes.ts";
import { evaluationRoutes } from "./evaluations/routes.ts";
import { knowledgeRoutes } from "./knowledge/routes.ts";
import { leadRoutes } from "./leads/routes.ts";
import { mcpRoutes } from "./mcp/routes.ts";
import { operatorRoutes } from "./operator/routes.ts";
import type { AppEnv } from "./platform/http/context.ts";
import { handleError, handleMethodNotAllowed, handleNotFound } from "./platform/http/error-handler.ts";
import { requestLog } from "./platform/http/request-log.ts";
import { createRouter } from "./platform/http/router.ts";
import { securityHeaders } from "./platform/http/security-headers.ts";
import { privacyRoutes } from "./privacy/routes.ts";
import { deliveryRoutes } from "./webhooks/delivery-routes.ts";
import { eventRoutes } from "./webhooks/event-routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { hostedPageRoutes } from "./widget/hosted-page.ts";
import { widgetRoutes } from "./widget/routes.ts";
import { limitAddress, requireConfig, requireKey } from "./workspaces/middleware.ts";
import { accountRoutes } from "./workspaces/routes.ts";

/** The integrators' API, /api/v1: what the OpenAPI document describes. */
const api = createRouter();
const features = [
  accountRoutes,
  agentRoutes,
  toolRoutes,
  keyRoutes,
  chatRoutes,
  openAiRoutes,
  startRoutes,
  conversationRoutes,
  leadRoutes,
  knowledgeRoutes,
  draftRoutes,
  evaluationRoutes,
  analyticsRoutes,
  privacyRoutes,
  webhookRoutes,
  deliveryRoutes,
  eventRoutes,
];
for (const routes of features) api.route("/", routes);

/** The OpenAPI documents, each built on the first request for it: doing so at start-up would delay every other request. */
const documents = new Map<Surface, string>();

export const app: Hono<AppEnv> = createRouter();

app.use(requestLog, securityHeaders);
app.use(methodNotAllowed({ app, onMethodNotAllowed: handleMethodNotAllowed }));
app.get("/healthz", (c) => c.json({ status: "ok" }));
operatorRoutes.route("/", backupRoutes);
const described = [
  [API, api],
  [WIDGET, widgetRoutes],
  [OPERATOR, operatorRoutes],
] as const;
for (const [surface, router] of described) {
  app.get(`${surface.root}/openapi.json`, limitAddress, async (c) => {
    const { openApiDocument } = await import("./docs/openapi.ts");
    const document = documents.get(surface) ?? JSON.stringify(openApiDocument(router, surface));
    documents.set(surface, document);
    return c.body(document, 200, { "Content-Type": "application/json" });
  });
}
app.use("/api/v1/openai/*", openAiErrors);
app.use("/api/v1/*", requireConfig, useSession, requireKey);
app.route("/api/v1", api);
app.route("/mcp", mcpRoutes(api));
app.use("/operator/v1/*", requireConfig, useSession);
app.route("/operator/v1", operatorRoutes);
app.route("/widget/v1", widgetRoutes);
app.use("/console/*", requireConfig);
app.route("/console", consoleRoutes);
app.use("/chat/*", requireConfig, trimTrailingSlash());
app.route("/chat", hostedPageRoutes);
app.route("/docs", docsRoutes);
app.route("/", homeRoutes);
app.notFound(handleNotFound);
app.onError(handleError);
