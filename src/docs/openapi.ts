import type { OpenAPIHono } from "@hono/zod-openapi";
import { endUserSchema } from "../chat/wire.ts";
import { csatSchema, handoffSchema, memberSchema, visitorSchema } from "../conversations/wire.ts";
import { sourceErrorSchema } from "../knowledge/wire.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { HEADER_COMPONENTS } from "../platform/http/responses.ts";
import { addSamples } from "./samples.ts";

const DESCRIPTION = `Programmatic access to one workspace: its AI agents, the conversations held with them, leads, the
knowledge they answer from, usage and analytics, signed webhooks, and privacy requests.

Every operation takes a workspace API key: \`Authorization: Bearer sk_live_…\`. A key carries scopes; rate limits apply
per workspace, all its keys together. Errors share one envelope; its \`message\` says what to do.

The examples read \`SUPPORT_URL\` (such as http://localhost:8787), \`SUPPORT_KEY\` and identifiers such as \`AGENT_ID\` from
the environment. Those in TypeScript use the client in this repository's folder \`client\`.`;

/**
 * Components that other records hold "or null". They are registered first, because the generator makes a component
 * nullable when it meets it for the first time in such a place.
 */
const NULLABLE_COMPONENTS = {
  EndUser: endUserSchema,
  Visitor: visitorSchema,
  Handoff: handoffSchema,
  Csat: csatSchema,
  TeamMember: memberSchema,
  SourceError: sourceErrorSchema,
};

const deliveryHeader = (name: string, description: string) => ({
  name,
  in: "header" as const,
  required: true,
  description,
  schema: { type: "string" as const },
});

/** The request that webhook endpoints receive. */
const EVENT = {
  method: "post" as const,
  path: "event",
  operationId: "receiveEvent",
  tags: ["Webhooks"],
  summary: "An event, sent to your endpoint",
  description: "Signed by Standard Webhooks: verify the raw body, before any parsing. An event may arrive more than once.",
  security: [],
  parameters: [
    deliveryHeader("webhook-id", "The event's id, the same on every attempt."),
    deliveryHeader("webhook-timestamp", "Unix seconds of this attempt."),
    deliveryHeader("webhook-signature", "One or, while a secret is rotated, two signatures, separated by a space: `v1,` and base64."),
  ],
  request: { body: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/WebhookEvent" } } } } },
  responses: { "2XX": { description: "Delivered, if answered within 15 seconds. Any other response is retried." } },
};

/** The OpenAPI 3.1 document of the integrators' surface, with samples of every operation. */
export function openApiDocument(api: OpenAPIHono<AppEnv>) {
  api.openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
    type: "http",
    scheme: "bearer",
    description: "A workspace API key. It begins with `sk_live_`.",
  });
  for (const [name, header] of Object.entries(HEADER_COMPONENTS)) api.openAPIRegistry.registerComponent("headers", name, header);
  for (const [name, schema] of Object.entries(NULLABLE_COMPONENTS)) api.openAPIRegistry.register(name, schema);
  api.openAPIRegistry.registerWebhook(EVENT);
  const document = api.getOpenAPI31Document({
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
      { name: "Account", description: "The API key, the plan and its usage." },
      { name: "Agents", description: "The workspace's agents." },
      { name: "Analytics", description: "How well questions are answered." },
      { name: "Chat", description: "Ask an agent." },
      { name: "Conversations", description: "Conversations with their transcripts, and replies by your team." },
      { name: "Leads", description: "Contact details that visitors leave." },
      { name: "Knowledge", description: "Sources, curated answers and search." },
      { name: "Webhooks", description: "Signed events, sent to your endpoints, retried and logged." },
      { name: "Privacy", description: "Find, export and erase the data of one person." },
    ],
  });
  const rewritten = rewriteNullableRefs(document) as typeof document;
  describeScopes(rewritten);
  addSamples(rewritten);
  return rewritten;
}

/** A nullable reference as the generator writes it, which no value matches: null is not a record. */
interface GeneratedNullableRef {
  allOf: [{ $ref: string }, { type: ["object", "null"] } & Record<string, unknown>];
}

/** Rewrites each generated "this record and (an object or null)" to "this record or null". */
function rewriteNullableRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteNullableRefs);
  if (typeof value !== "object" || value === null) return value;
  if (isNullableRef(value)) {
    const [ref, { type: _, ...rest }] = value.allOf;
    return { anyOf: [ref, { type: "null" }], ...rest };
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rewriteNullableRefs(part)]));
}

function isNullableRef(value: object): value is GeneratedNullableRef {
  const [ref, own] = "allOf" in value && Array.isArray(value.allOf) ? (value.allOf as Record<string, unknown>[]) : [];
  return ref !== undefined && "$ref" in ref && Array.isArray(own?.["type"]) && own["type"].join() === "object,null";
}

interface ScopedOperation {
  description?: string;
  "x-scope"?: string;
}

/** Names the scope in each operation's description: viewers and generators do not show `x-scope`. */
function describeScopes({ paths }: { paths?: Record<string, object> | undefined }): void {
  for (const methods of Object.values(paths ?? {})) {
    for (const operation of Object.values<ScopedOperation>({ ...methods })) {
      const scope = operation["x-scope"];
      if (scope) operation.description = [operation.description, `Scope: \`${scope}\`.`].filter(Boolean).join(" ");
    }
  }
}
