import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { type Method, METHODS, type StoredTool, type ToolParameters } from "../platform/db/columns.ts";
import { targetProblem } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import type { GivenTool } from "./secrets.ts";
import { hasBody } from "./tool-call.ts";
import { parametersSchema } from "./tool-parameters.ts";
import { sampleUrl, templateProblem } from "./tool-url.ts";
import { variableProblem } from "./tool-variables.ts";

/** The tools that every agent has. */
export const BUILT_IN_NAMES = ["search_knowledge", "request_human", "collect_lead"] as const;

const MAX_TOOLS = 20;
/** Of the names, descriptions and parameters of all tools as JSON: some 6,000 tokens that a model reads with every question. */
const MAX_TOTAL_LENGTH = 24_000;
const MAX_DESCRIPTION_LENGTH = 1_000;
const MAX_URL_LENGTH = 1_000;
const MAX_HEADERS = 10;
/** Signed tokens have up to some 2,000 characters. */
const MAX_HEADER_LENGTH = 4_096;
/** As JSON. */
const MAX_BODY_LENGTH = 4_096;
const MAX_TIMEOUT_SECONDS = 30;
const DEFAULT_TIMEOUT_SECONDS = 10;

const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** A token of RFC 9110. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** Visible characters, with spaces and tabs between them, so that the value arrives unchanged. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Headers that the service or the platform sets. */
const RESERVED_HEADERS = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "idempotency-key",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);
const RESERVED_PREFIXES = ["proxy-", "cf-", "sec-"];

const name = z
  .string()
  .refine((value) => NAME.test(value), valueErrorParams("use lower-case letters, digits and _, beginning with a letter, at most 64"))
  .refine((value) => !BUILT_IN_NAMES.some((one) => one === value), valueErrorParams("a tool of this name is built in: choose another"));

const headerValue = z
  .string()
  .min(1)
  .max(MAX_HEADER_LENGTH)
  .refine((value) => HEADER_VALUE.test(value), valueErrorParams("use visible ASCII characters, with spaces only between them"))
  .nullable();

const headers = z.record(z.string(), headerValue).superRefine((given, ctx) => {
  const names = Object.keys(given).map((one) => one.toLowerCase());
  if (names.length > MAX_HEADERS) ctx.addIssue({ code: "custom", ...valueErrorParams(`send at most ${MAX_HEADERS}`) });
  if (new Set(names).size < names.length)
    ctx.addIssue({ code: "custom", ...valueErrorParams("name each header once, regardless of case") });
  for (const [one, value] of Object.entries(given)) {
    const problem = headerNameProblem(one) ?? variableProblem(value ?? "");
    if (problem !== undefined) ctx.addIssue({ code: "custom", path: [one], ...valueErrorParams(problem) });
  }
});

const body = z
  .record(z.string(), z.unknown())
  .refine(
    (fields) => JSON.stringify(fields).length <= MAX_BODY_LENGTH,
    valueErrorParams(`write at most ${MAX_BODY_LENGTH} characters of JSON`),
  )
  .superRefine((fields, ctx) => {
    const problem = variableProblem(JSON.stringify(fields));
    if (problem !== undefined) ctx.addIssue({ code: "custom", ...valueErrorParams(problem) });
  });

const toolInput = z
  .object({
    name: name.openapi({ description: "What the model calls it: lower-case letters, digits and _." }),
    description: z.string().min(1).max(MAX_DESCRIPTION_LENGTH).openapi({ description: "What it does and when to use it, for the model." }),
    parameters: parametersSchema.openapi({
      type: "object",
      additionalProperties: {},
      description: "What the model fills in: a JSON Schema (2020-12) of type object, without references.",
    }),
    method: z.enum(METHODS).openapi({ description: "The method of the request." }),
    url: z.string().min(1).max(MAX_URL_LENGTH).openapi({ description: "The request goes here; {name} stands for a parameter." }),
    headers: headers.optional().openapi({ description: "Headers of the request, stored encrypted. null keeps a stored value." }),
    body: body.default({}).openapi({ description: "Fields that the service adds to the body, such as {visitor.external_id}." }),
    requires_verified_visitor: z
      .boolean()
      .default(false)
      .openapi({ description: "Whether the model has it only where something vouches for the visitor." }),
    timeout_seconds: z
      .int()
      .gte(1)
      .lte(MAX_TIMEOUT_SECONDS)
      .default(DEFAULT_TIMEOUT_SECONDS)
      .openapi({ description: "How long a response may take." }),
  })
  .superRefine(({ url, method, parameters, body: fields }, ctx) => {
    const problem = targetProblem(env, sampleUrl(url), WEBHOOK_POLICY) ?? templateProblem(url, parameters);
    if (problem !== undefined) ctx.addIssue({ code: "custom", path: ["url"], ...valueErrorParams(toolUrlRefusal(problem)) });
    const fieldProblem = bodyProblem(method, parameters, fields);
    if (fieldProblem !== undefined) ctx.addIssue({ code: "custom", path: ["body"], ...valueErrorParams(fieldProblem) });
  })
  .transform(
    ({ timeout_seconds: timeoutSeconds, requires_verified_visitor: requiresVerifiedVisitor, headers: given, ...tool }): GivenTool => {
      return { ...tool, timeoutSeconds, requiresVerifiedVisitor, headers: given };
    },
  );

export const toolsInputSchema = z
  .array(toolInput)
  .max(MAX_TOOLS)
  .superRefine((tools, ctx) => {
    for (const [at, { name: own }] of tools.entries()) {
      const isTaken = tools.slice(0, at).some((before) => before.name === own);
      if (isTaken) ctx.addIssue({ code: "custom", path: [at, "name"], ...valueErrorParams("another tool of the agent has this name") });
    }
    if (tools.reduce((sum, tool) => sum + lengthOf(tool), 0) > MAX_TOTAL_LENGTH) {
      const message = `shorten the tools: names, descriptions and parameters hold at most ${MAX_TOTAL_LENGTH} characters together`;
      ctx.addIssue({ code: "custom", ...valueErrorParams(message) });
    }
  });

/** A tool as the operator sees it. Sent back unchanged, it changes nothing. */
export const toolSchema = z.object({
  name: z.string().openapi({ description: "What the model calls it." }),
  description: z.string().openapi({ description: "What it does and when to use it, for the model." }),
  parameters: z.record(z.string(), z.unknown()).openapi({ description: "What the model fills in, as JSON Schema." }),
  method: z.enum(METHODS).openapi({ description: "The method of the request." }),
  url: z.string().openapi({ description: "The request goes here; {name} stands for a parameter." }),
  headers: z.record(z.string(), z.null()).openapi({ description: "null stands for a value that is set; values are never shown." }),
  body: z.record(z.string(), z.unknown()).openapi({ description: "Fields that the service adds to the body." }),
  requires_verified_visitor: z.boolean().openapi({ description: "Whether the model has it only where something vouches for the visitor." }),
  timeout_seconds: z.int().openapi({ description: "How long a response may take." }),
});

export function toTool(tool: StoredTool): z.infer<typeof toolSchema> {
  const { name: own, description, parameters, method, url, headers: stored, body: fields = {} } = tool;
  const shown = Object.fromEntries(Object.keys(stored).map((one) => [one, null]));
  return {
    name: own,
    description,
    parameters: { ...parameters },
    method,
    url,
    headers: shown,
    body: fields,
    requires_verified_visitor: tool.requiresVerifiedVisitor ?? false,
    timeout_seconds: tool.timeoutSeconds,
  };
}

/** The message for a URL that a tool may not call. */
export function toolUrlRefusal(reason: string): string {
  return `this url cannot be called: ${reason}. Use an https URL on a public host, such as https://api.example.com/orders/{order_id}`;
}

function lengthOf({ name: own, description, parameters }: GivenTool): number {
  return JSON.stringify({ name: own, description, parameters }).length;
}

/** Why a tool cannot have these fields in its body, as a clause for a message; undefined when it can. */
function bodyProblem(method: Method, { properties }: ToolParameters, fields: Record<string, unknown>): string | undefined {
  const names = Object.keys(fields);
  if (names.length > 0 && !hasBody(method)) return `${method} has no body: write {visitor.external_id} and the like in the url or a header`;
  const both = names.find((one) => Object.hasOwn(properties, one));
  return both && `${both} is a parameter too, which the model writes: leave it out of one of them`;
}

/** Why a header cannot be an operator's own, as a clause for a message; undefined when it can. */
function headerNameProblem(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "name the header with letters, digits and hyphens, at most 64";
  const lower = name.toLowerCase();
  if (RESERVED_HEADERS.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix)))
    return "the service sets this header itself";
  return undefined;
}
