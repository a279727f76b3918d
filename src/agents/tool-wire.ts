import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { CLIENT_SURFACES, type Method, METHODS, type StoredTool, type ToolParameters } from "../platform/db/columns.ts";
import { MAX_TOOLS } from "../models/limits.ts";
import { targetProblem } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { MAX_TOOL_NAME_LENGTH } from "./mcp-pins.ts";
import type { GivenTool } from "./secrets.ts";
import { hasBody, isChanging } from "./tool-call.ts";
import { parametersSchema } from "./tool-parameters.ts";
import { sampleUrl, templateProblem } from "./tool-url.ts";
import { variableProblem } from "./tool-variables.ts";

/** The names of the tools that every agent has. */
export const BUILT_IN_NAMES = ["search_knowledge", "request_human", "collect_lead"] as const;

/** The characters of the names, descriptions and parameters of all tools as JSON: about 6,000 tokens that a model reads with every question. */
export const MAX_TOTAL_LENGTH = 24_000;
const MAX_DESCRIPTION_LENGTH = 1_000;
const MAX_URL_LENGTH = 1_000;
const MAX_HEADERS = 10;
/** Enough for signed tokens, which have up to about 2,000 characters. */
const MAX_HEADER_LENGTH = 4_096;
/** The limit in characters of JSON. */
const MAX_BODY_LENGTH = 4_096;
const MAX_TIMEOUT_SECONDS = 30;
const DEFAULT_TIMEOUT_SECONDS = 10;

const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** A header name, which RFC 9110 calls a token. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** Visible characters, with spaces and tabs only between them: others are not sent unchanged. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Headers that the service or the platform sets, so that an operator cannot set them. */
const RESERVED_HEADER =
  /^(accept-encoding|connection|content-(encoding|length|type)|expect|host|idempotency-key|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent|(proxy|cf|sec)-.*)$/i;

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
  if (names.length > MAX_HEADERS) addProblem(ctx, `send at most ${MAX_HEADERS}`);
  if (new Set(names).size < names.length) addProblem(ctx, "name each header once, regardless of case");
  for (const [one, value] of Object.entries(given)) {
    addProblem(ctx, headerNameProblem(one) ?? variableProblem(value ?? ""), one);
  }
});

const body = z
  .record(z.string(), z.unknown())
  .refine(
    (fields) => JSON.stringify(fields).length <= MAX_BODY_LENGTH,
    valueErrorParams(`write at most ${MAX_BODY_LENGTH} characters of JSON`),
  )
  .superRefine((fields, ctx) => addProblem(ctx, variableProblem(JSON.stringify(fields))));

const requiresVerifiedVisitor = z.boolean().optional();
const REQUIRES_VERIFIED_VISITOR = "Whether the model gets it only when an API key or a signed identity confirms who the visitor is.";

const requiresApproval = z.boolean().default(false).meta({
  description: "Whether a member of the team approves each call before it is made. A server's tools that only read need no approval.",
});

const timeoutSeconds = z
  .int()
  .gte(1)
  .lte(MAX_TIMEOUT_SECONDS)
  .default(DEFAULT_TIMEOUT_SECONDS)
  .meta({ description: "How long a response may take." });

/** The fields by which a model knows a tool. */
const shownInput = {
  name: name.meta({ description: "The name under which the model calls it: lower-case letters, digits and _." }),
  description: z
    .string()
    .min(1)
    .max(MAX_DESCRIPTION_LENGTH)
    .meta({ description: "What the tool does and when to use it, as the model reads it." }),
  parameters: parametersSchema.meta({
    type: "object",
    additionalProperties: {},
    description: "The parameters that the model fills in: a JSON Schema (2020-12) of type object, without references.",
  }),
};

const httpToolInput = z
  .object({
    type: z.literal("http").optional().meta({ description: "A request to your API, which is the default." }),
    ...shownInput,
    method: z.enum(METHODS).meta({ description: "The method of the request." }),
    url: z.string().min(1).max(MAX_URL_LENGTH).meta({ description: "The URL of the request. {name} stands for a parameter." }),
    headers: headers.optional().meta({ description: "Headers of the request, stored encrypted. null keeps a stored value." }),
    body: body.default({}).meta({ description: "Fields that the service adds to the body, such as {visitor.external_id}." }),
    requires_verified_visitor: requiresVerifiedVisitor.meta({
      description: `${REQUIRES_VERIFIED_VISITOR} If it is left out, it is false for GET and true for every other method.`,
    }),
    requires_approval: requiresApproval,
    timeout_seconds: timeoutSeconds,
  })
  .superRefine(({ url, method, parameters, body: fields }, ctx) => {
    const problem = targetProblem(env, sampleUrl(url), WEBHOOK_POLICY) ?? templateProblem(url, parameters);
    addProblem(ctx, problem && toolUrlRefusal(problem), "url");
    addProblem(ctx, bodyProblem(method, parameters, fields), "body");
  })
  .transform(({ timeout_seconds, requires_verified_visitor, requires_approval, headers: given, ...tool }): GivenTool => {
    const requiresVerifiedVisitor = requires_verified_visitor ?? isChanging(tool.method);
    return { ...tool, timeoutSeconds: timeout_seconds, requiresVerifiedVisitor, requiresApproval: requires_approval, headers: given };
  });

const notSet = () => z.unknown().optional().meta({ description: "Read only." });

const mcpServerInput = z
  .object({
    type: z.literal("mcp").meta({ description: "A server of the Model Context Protocol, whose tools the model may call." }),
    name: name.meta({ description: "The beginning of the names under which the model calls its tools." }),
    url: z.string().min(1).max(MAX_URL_LENGTH).meta({ description: "The URL of its Streamable HTTP endpoint." }),
    headers: headers.optional().meta({ description: "Headers of each request, stored encrypted. null keeps a stored value." }),
    allowed_tools: z
      .array(z.string().min(1).max(MAX_TOOL_NAME_LENGTH))
      .min(1)
      .max(MAX_TOOLS)
      .nullable()
      .default(null)
      .meta({ description: "The names of the tools that the model may call; null for all that the server has now." }),
    requires_verified_visitor: requiresVerifiedVisitor.meta({
      description: `${REQUIRES_VERIFIED_VISITOR} If it is left out, it is false if the server marks all allowed tools as read-only, and true otherwise.`,
    }),
    requires_approval: requiresApproval,
    timeout_seconds: timeoutSeconds,
    tools: notSet(),
    status: notSet(),
    problem: notSet(),
  })
  .superRefine(({ url }, ctx) => {
    const problem = targetProblem(env, url, WEBHOOK_POLICY);
    addProblem(ctx, problem && toolUrlRefusal(problem), "url");
  })
  .transform(({ type, name: own, url, headers: given, ...server }): GivenTool => {
    const { allowed_tools: allowedTools, timeout_seconds: timeoutSeconds, requires_verified_visitor, requires_approval } = server;
    const settings = { timeoutSeconds, requiresVerifiedVisitor: requires_verified_visitor, requiresApproval: requires_approval };
    return { type, name: own, url, headers: given, allowedTools, ...settings };
  });

const RUNS_IN =
  "server: your program that asks the agent over the API. browser: the page that shows the widget, where a visitor can read and change what the tool does.";

const clientToolInput = z
  .object({
    type: z.literal("client").meta({ description: "A function that your own program or page runs. The answer waits for its result." }),
    ...shownInput,
    runs_in: z.enum(CLIENT_SURFACES).default("server").meta({ description: RUNS_IN }),
  })
  .transform(({ runs_in: runsIn, ...tool }): GivenTool => ({ ...tool, runsIn }));

export const toolsInputSchema = z
  .array(z.discriminatedUnion("type", [httpToolInput, mcpServerInput, clientToolInput], "use http, mcp or client as the type"))
  .max(MAX_TOOLS)
  .superRefine((tools, ctx) => {
    for (const [at, { name: own }] of tools.entries()) {
      const isTaken = tools.slice(0, at).some((before) => before.name === own);
      if (isTaken) addProblem(ctx, "another tool of the agent has this name", at, "name");
    }
    if (tools.reduce((sum, tool) => sum + lengthOf(tool), 0) > MAX_TOTAL_LENGTH) {
      addProblem(ctx, `shorten the tools: names, descriptions and parameters hold at most ${MAX_TOTAL_LENGTH} characters together`);
    }
  });

const shown = {
  name: z.string().meta({ description: "The name under which the model calls it." }),
  description: z.string().meta({ description: "What the tool does and when to use it, as the model reads it." }),
  parameters: z.record(z.string(), z.unknown()).meta({ description: "The parameters that the model fills in, as JSON Schema." }),
};

const approvalShown = z.boolean().meta({ description: "Whether a member of the team approves each call that may change something." });

/** A request to an API as the operator sees it. Sent back unchanged, it changes nothing. */
const httpToolSchema = z
  .object({
    type: z.literal("http").meta({ description: "A request to your API." }),
    ...shown,
    method: z.enum(METHODS).meta({ description: "The method of the request." }),
    url: z.string().meta({ description: "The URL of the request. {name} stands for a parameter." }),
    headers: z
      .record(z.string(), z.null())
      .meta({ description: "The names of the headers. Each value is null, because stored values are never shown." }),
    body: z.record(z.string(), z.unknown()).meta({ description: "Fields that the service adds to the body." }),
    requires_verified_visitor: z
      .boolean()
      .meta({ description: "Whether the model gets it only when an API key or a signed identity confirms who the visitor is." }),
    requires_approval: approvalShown,
    timeout_seconds: z.int().meta({ description: "How long a response may take." }),
  })
  .openapi("HttpTool");

/** An MCP server as the operator sees it. Sent back unchanged, its tools are listed and allowed again. */
const mcpServerSchema = z
  .object({
    type: z.literal("mcp").meta({ description: "A server of the Model Context Protocol." }),
    name: z.string().meta({ description: "The beginning of the names under which the model calls its tools." }),
    url: z.string().meta({ description: "The URL of its Streamable HTTP endpoint." }),
    headers: z
      .record(z.string(), z.null())
      .meta({ description: "The names of the headers. Each value is null, because stored values are never shown." }),
    allowed_tools: z
      .array(z.string())
      .nullable()
      .meta({ description: "The names of the tools that the model may call; null for all that the server had when it was saved." }),
    requires_verified_visitor: z
      .boolean()
      .meta({ description: "Whether the model gets them only when an API key or a signed identity confirms who the visitor is." }),
    requires_approval: approvalShown,
    timeout_seconds: z.int().meta({ description: "How long a call may take." }),
    tools: z
      .array(
        z.object({
          name: z.string().meta({ description: "The name of the tool on the server." }),
          description: z.string().meta({ description: "The description of the tool for the model." }),
          parameters: z.record(z.string(), z.unknown()).meta({ description: "The parameters that the model fills in, as JSON Schema." }),
          read_only: z.boolean().meta({ description: "Whether the server says that it changes nothing: such a call may be repeated." }),
        }),
      )
      .meta({ description: "The tools of the server, as they were when the server was saved." }),
    status: z
      .enum(["ready", "changed"])
      .meta({ description: "`changed` if the server has changed a tool. Its tools are not called until the server is saved again." }),
    problem: z.string().nullable().meta({ description: "What has changed; null if the status is ready." }),
  })
  .openapi("McpServer");

const clientToolSchema = z
  .object({
    type: z.literal("client").meta({ description: "A function that your own program or page runs." }),
    ...shown,
    runs_in: z.enum(CLIENT_SURFACES).meta({ description: RUNS_IN }),
  })
  .openapi("ClientTool");

export const toolSchema = z.discriminatedUnion("type", [httpToolSchema, mcpServerSchema, clientToolSchema]);

/** The wire record of a tool, without the values of its headers. */
export function toTool(tool: StoredTool): z.infer<typeof toolSchema> {
  if (tool.type === "client") {
    const { type, name: own, description, parameters, runsIn } = tool;
    return { type, name: own, description, parameters: { ...parameters }, runs_in: runsIn };
  }
  const common = {
    name: tool.name,
    url: tool.url,
    headers: Object.fromEntries(Object.keys(tool.headers).map((one) => [one, null])),
    requires_verified_visitor: tool.requiresVerifiedVisitor,
    requires_approval: tool.requiresApproval ?? false,
    timeout_seconds: tool.timeoutSeconds,
  };
  if (tool.type !== "mcp") {
    const { description, parameters, method, body: fields } = tool;
    return { ...common, type: "http", description, parameters: { ...parameters }, method, body: fields };
  }
  const { allowedTools, problem } = tool;
  const tools = tool.tools.map(({ name: own, description, parameters, isReadOnly: read_only }) => {
    return { name: own, description, parameters, read_only };
  });
  return { ...common, type: "mcp", allowed_tools: allowedTools, tools, status: problem === null ? "ready" : "changed", problem };
}

/** The message for a URL that a tool may not call. */
export function toolUrlRefusal(reason: string): string {
  return `this url cannot be called: ${reason}. Use an https URL on a public host, such as https://api.example.com/orders/{order_id}`;
}

function lengthOf(tool: GivenTool): number {
  return tool.type === "mcp" ? 0 : JSON.stringify({ name: tool.name, description: tool.description, parameters: tool.parameters }).length;
}

/** Why a tool cannot have these fields in its body, as a clause of an error message; undefined if it can. */
function bodyProblem(method: Method, { properties }: ToolParameters, fields: Record<string, unknown>): string | undefined {
  const names = Object.keys(fields);
  if (names.length > 0 && !hasBody(method)) return `${method} has no body: write {visitor.external_id} and the like in the url or a header`;
  const both = names.find((one) => Object.hasOwn(properties, one));
  return both && `the field ${both} is a parameter too, which the model writes: leave it out of one of them`;
}

/** Why an operator cannot set a header, as a clause of an error message; undefined if they can. */
function headerNameProblem(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "name the header with letters, digits and hyphens, at most 64";
  return RESERVED_HEADER.test(name) ? "the service sets this header itself" : undefined;
}
