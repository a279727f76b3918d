import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "../platform/http/context.ts";
import { errorExample, type ErrorStatus, HEADER_COMPONENTS } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
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
    deliveryHeader("webhook-signature", "One or, while a secret is rotated, several signatures, separated by spaces: `v1,` and base64."),
  ],
  request: { body: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/WebhookEvent" } } } } },
  responses: { "2XX": { description: "Delivered, if answered within 15 seconds. Any other response is retried." } },
};

/** Builds the OpenAPI 3.1 document of an API, with samples of every operation, in the order of the routers. */
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
  addErrorCodes(rewritten, api);
  describeProperties(rewritten.components?.schemas);
  for (const operation of operationsOf(rewritten)) {
    describeParameters(operation);
    describeScope(operation);
    describeErrors(operation, api);
  }
  addSamples(rewritten, credential);
  return rewritten;
}

/** A nullable reference in the form of the generator, which no value matches: null is not a record. */
interface GeneratedNullableRef {
  allOf: [{ $ref: string }, { type: ["object", "null"] } & Record<string, unknown>];
}

/** Rewrites each generated "this record and (an object or null)" to "this record or null", and merges a reference with its description. */
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

/** A reference with a description, which OpenAPI 3.1 allows in one object. */
function isDescribedRef(value: object): value is { allOf: [{ $ref: string }, { description: string }] } {
  const [ref, own, ...rest] = "allOf" in value && Array.isArray(value.allOf) ? (value.allOf as Record<string, unknown>[]) : [];
  return ref !== undefined && "$ref" in ref && own !== undefined && rest.length === 0 && Object.keys(own).join() === "description";
}

/** The descriptions of fields and parameters that mean the same everywhere; others are described where they are declared. */
const COMMON_DESCRIPTIONS: Record<string, string> = {
  id: "Its identifier.",
  created_at: "When it was created.",
  updated_at: "When it was last changed.",
  workspace_id: "The workspace.",
  agent_id: "The agent.",
  conversation_id: "The conversation.",
  message_id: "The message.",
  source_id: "The source.",
  answer_id: "The curated answer.",
  draft_id: "The draft of a curated answer.",
  evaluation_id: "The evaluation.",
  saved_reply_id: "The saved reply.",
  team_id: "The team.",
  routing_rule_id: "The routing rule.",
  webhook_id: "The webhook endpoint.",
  delivery_id: "The delivery.",
  attachment_id: "The uploaded file.",
  approval_id: "The tool call that needs an approval.",
  event_id: "The event.",
  key_id: "The API key.",
  member_id: "The member of the team.",
  session_id: "The session of the member.",
  application_id: "The connected application.",
  visitor_id: "The visitor.",
  data: "The records of this page.",
  total: "How many records there are on all pages.",
  limit: "How many records a page holds at most.",
  offset: "How many records come before the page.",
  has_more: "Whether there are records after this page.",
};

interface Described {
  description?: string;
  $ref?: string;
}

interface DocumentedOperation {
  description?: string;
  "x-scope"?: string;
  /** A scope that opens the operation instead. */
  "x-other-scope"?: string;
  parameters?: (Described & { name: string; schema: Described })[];
  responses: Record<string, { headers?: Record<string, unknown>; content?: Record<string, { example?: unknown }> }>;
}

function operationsOf({ paths = {} }: { paths?: Record<string, object> | undefined }): DocumentedOperation[] {
  return Object.values(paths).flatMap((methods) => Object.values<DocumentedOperation>({ ...methods }));
}

/** Describes the common properties of each schema in a part of a document. */
function describeProperties(part: unknown): void {
  if (typeof part !== "object" || part === null) return;
  const { properties = {} } = part as { properties?: Record<string, Described> };
  for (const [name, field] of Object.entries(properties)) {
    const description = COMMON_DESCRIPTIONS[name];
    if (description !== undefined && field.description === undefined && field.$ref === undefined) field.description = description;
  }
  for (const child of Object.values(part)) describeProperties(child);
}

/** Describes the common parameters, and copies descriptions of schemas to their parameters. */
function describeParameters({ parameters = [] }: DocumentedOperation): void {
  for (const parameter of parameters) {
    const description = parameter.description ?? parameter.schema.description ?? COMMON_DESCRIPTIONS[parameter.name];
    if (description !== undefined) parameter.description = description;
  }
}

/** Names the scope in the description: viewers and generators do not show `x-scope` and `x-other-scope`. */
function describeScope(operation: DocumentedOperation): void {
  const { "x-scope": scope, "x-other-scope": other } = operation;
  const scopes = other ? `\`${scope}\` or \`${other}\`` : `\`${scope}\``;
  if (scope) operation.description = [operation.description, `Scope: ${scopes}.`].filter(Boolean).join(" ");
}

/** Uses the error examples of the API, and removes the rate limit headers if it does not send them. */
function describeErrors({ responses }: DocumentedOperation, api: ApiDescription): void {
  for (const [status, { headers = {}, content = {} }] of Object.entries(responses)) {
    const error = api.errors?.[Number(status) as ErrorStatus];
    if (error && content["application/json"]) content["application/json"].example = errorExample(Number(status) as ErrorStatus, error);
    if (api.isRateLimited) continue;
    for (const name of Object.keys(headers).filter((each) => each.startsWith("X-RateLimit"))) delete headers[name];
  }
}

/** Adds the error codes that only this API has. */
function addErrorCodes({ components }: { components?: { schemas?: object } }, { ownCodes = {} }: ApiDescription): void {
  type ErrorSchema = { properties: { error: { properties: { code: { enum: string[] } } } } };
  const { Error: error } = (components?.schemas ?? {}) as { Error?: ErrorSchema };
  error?.properties.error.properties.code.enum.push(...Object.keys(ownCodes));
}
