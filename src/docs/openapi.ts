import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "../platform/http/context.ts";
import { errorExample, type ErrorStatus, HEADER_COMPONENTS } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { describeCommonFields } from "./common-fields.ts";
import { addSamples } from "./samples.ts";
import { API, type ApiDescription, type ApiRoot, DESCRIPTIONS } from "./descriptions.ts";

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

/** The OpenAPI 3.1 document of the API under a path, with samples of every operation, in the order of the routers. */
export function openApiDocument(routers: readonly OpenAPIHono<AppEnv>[], root: ApiRoot) {
  const api = DESCRIPTIONS[root];
  const { title, description, tags, credential } = api;
  const whole = createRouter();
  for (const router of routers) whole.route("/", router);
  const registry = whole.openAPIRegistry;
  registry.registerComponent("securitySchemes", credential.name, {
    type: "http",
    scheme: "bearer",
    description: credential.description,
  });
  for (const [name, header] of Object.entries(HEADER_COMPONENTS)) {
    if (api.isRateLimited || !name.startsWith("RateLimit")) registry.registerComponent("headers", name, header);
  }
  for (const [name, schema] of Object.entries(api.nullableComponents)) registry.register(name, schema);
  if (api === API) registry.registerWebhook(EVENT);
  const document = whole.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title,
      version: "1.0.0",
      description,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: root }],
    security: credential.isOptional ? [] : [{ [credential.name]: [] }],
    tags,
  });
  const rewritten = rewriteRefs(document) as typeof document;
  describeCommonFields(rewritten);
  describeScopes(rewritten);
  describeErrors(rewritten, api);
  addSamples(rewritten, credential);
  return rewritten;
}

/** A nullable reference as the generator writes it, which no value matches: null is not a record. */
interface GeneratedNullableRef {
  allOf: [{ $ref: string }, { type: ["object", "null"] } & Record<string, unknown>];
}

/** Rewrites each generated "this record and (an object or null)" to "this record or null", and what is said of a record to one part. */
function rewriteRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteRefs);
  if (typeof value !== "object" || value === null) return value;
  if (isNullableRef(value)) {
    const [ref, { type: _, ...rest }] = value.allOf;
    return { anyOf: [ref, { type: "null" }], ...rest };
  }
  if (isDescribedRef(value)) return { ...value.allOf[0], ...value.allOf[1] };
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rewriteRefs(part)]));
}

function isNullableRef(value: object): value is GeneratedNullableRef {
  const [ref, own] = "allOf" in value && Array.isArray(value.allOf) ? (value.allOf as Record<string, unknown>[]) : [];
  return ref !== undefined && "$ref" in ref && Array.isArray(own?.["type"]) && own["type"].join() === "object,null";
}

/** A reference and what is said of it in this place, which OpenAPI 3.1 takes in one. */
function isDescribedRef(value: object): value is { allOf: [{ $ref: string }, { description: string }] } {
  const [ref, own, ...rest] = "allOf" in value && Array.isArray(value.allOf) ? (value.allOf as Record<string, unknown>[]) : [];
  return ref !== undefined && "$ref" in ref && own !== undefined && rest.length === 0 && Object.keys(own).join() === "description";
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

interface DocumentedResponses {
  responses: Record<string, { headers?: Record<string, unknown>; content?: Record<string, { example?: unknown }> }>;
}

/** Gives errors the words of the api, and leaves out the headers that it does not send. */
function describeErrors(
  { paths, components }: { paths?: Record<string, object> | undefined; components?: { schemas?: object } },
  api: ApiDescription,
): void {
  const { Error: error } = (components?.schemas ?? {}) as {
    Error?: { properties: { error: { properties: { code: { enum: string[] } } } } };
  };
  error?.properties.error.properties.code.enum.push(...Object.keys(api.ownCodes ?? {}));
  for (const methods of Object.values(paths ?? {})) {
    for (const { responses } of Object.values<DocumentedResponses>({ ...methods })) {
      for (const [status, { headers = {}, content = {} }] of Object.entries(responses)) {
        const error = api.errors?.[Number(status) as ErrorStatus];
        if (error && content["application/json"]) content["application/json"].example = errorExample(Number(status) as ErrorStatus, error);
        if (api.isRateLimited) continue;
        for (const name of Object.keys(headers).filter((each) => each.startsWith("X-RateLimit"))) delete headers[name];
      }
    }
  }
}
