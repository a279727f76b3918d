import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "../http/context.ts";
import { HEADER_COMPONENTS } from "../http/responses.ts";

const DESCRIPTION = `Programmatic access to one workspace: its AI agents, the conversations held with them, leads, the
knowledge they answer from, usage and analytics, signed webhooks, and privacy requests.

Every operation takes a workspace API key: \`Authorization: Bearer sk_live_…\`. A key carries scopes; rate limits apply
per workspace, all its keys together. Errors share one envelope; its \`message\` says what to do.`;

/** The OpenAPI 3.1 document of the integrators' surface. */
export function openApiDocument(api: OpenAPIHono<AppEnv>) {
  api.openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
    type: "http",
    scheme: "bearer",
    description: "A workspace API key. It begins with `sk_live_`.",
  });
  for (const [name, header] of Object.entries(HEADER_COMPONENTS)) api.openAPIRegistry.registerComponent("headers", name, header);
  return api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Support Agent Service",
      version: "1.0.0",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/api/v1" }],
    security: [{ apiKey: [] }],
    tags: [
      { name: "Account", description: "The key, the plan and what is used of it." },
      { name: "Agents", description: "The workspace's agents." },
      { name: "Analytics", description: "How well questions are answered." },
      { name: "Chat", description: "Ask an agent." },
      { name: "Conversations", description: "What was said." },
      { name: "Leads", description: "Who left a way to be reached." },
      { name: "Knowledge", description: "What agents answer from." },
      { name: "Webhooks", description: "Signed events, sent to your endpoints, retried and logged." },
      { name: "Privacy", description: "Find, export and erase what is held about one person." },
    ],
  });
}
