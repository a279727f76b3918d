import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { Handler } from "hono";
import { type BodyLimits, readJson } from "./body.ts";
import { type Check, runChecks } from "./checks.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { invalid, type ValidationItem } from "./errors.ts";
import { answerOnce, hashBody, IDEMPOTENCY_PARAMETER } from "./idempotency.ts";
import { readForm } from "./multipart.ts";
import { nameOperation } from "./request-log.ts";
import { errorResponses } from "./responses.ts";
import { toHeader, UNKNOWN_FIELDS, unknownFields } from "./unknown-fields.ts";
import { extraItems, repeatedItems, toItems } from "./validation.ts";

interface RouterOptions {
  /** Whether a body with unknown fields is refused. Otherwise a header of the response names them. */
  refusesUnknownFields?: boolean;
}

interface RouteChecks {
  /** These run in order, before the input is read. */
  checks?: readonly Check[];
  /** This runs when the input is valid, before a stored response is replayed for an Idempotency-Key. */
  checkInput?: Check;
}

type RegisteredRoute = RouteConfig & BodyLimits & RouteChecks & { getRoutingPath(): string; "x-scope"?: string };

/**
 * Creates a router whose `openapi` documents a route and validates its path, query and body together, so that one response lists every
 * failed check; the library's own `openapi` stops at the first target.
 * @param tag the group of its routes in the OpenAPI document.
 */
export function createRouter(tag?: string, options: RouterOptions = {}): OpenAPIHono<AppEnv> {
  const router = new OpenAPIHono<AppEnv>();
  const register = (route: RegisteredRoute, handler: Handler<AppEnv>) => {
    const { checks: earlyChecks = [], checkInput, ...contract } = route;
    if (!route.hide) router.openAPIRegistry.registerPath(documented(contract, tag));
    const checks = [...earlyChecks, validator(route, options), ...(checkInput ? [checkInput] : [])];
    const isOnce = isIdempotent(route);
    const answer: Handler<AppEnv> = async (c, next) => {
      const run = () => handler(c, next) as Promise<Response>;
      return (await runChecks(c, checks)) ?? (isOnce ? answerOnce(c, run) : run());
    };
    if (route.operationId !== undefined) nameOperation(answer, route.operationId);
    router.on(route.method, [route.getRoutingPath()], answer);
    return router;
  };
  router.openapi = register as unknown as typeof router.openapi;
  return router;
}

/** Creates a router of the operator's surface, where a body with fields that the operation does not know is refused. */
export function createStrictRouter(tag: string): OpenAPIHono<AppEnv> {
  return createRouter(tag, { refusesUnknownFields: true });
}

/** Whether the operation takes an Idempotency-Key: it is an integrator's POST that changes something, as its scope shows. */
function isIdempotent(route: RouteConfig & { "x-scope"?: string }): boolean {
  return route.method === "post" && route["x-scope"]?.endsWith(":write") === true;
}

/** Adds the tag, and the header and the error responses that all routes with a body or an Idempotency-Key have. */
function documented(contract: RouteConfig, tag: string | undefined): RouteConfig {
  const { operationId, ...rest } = contract;
  const takesKey = isIdempotent(contract);
  const statuses = [...(takesKey ? ([409] as const) : []), ...(contract.request?.body ? ([413] as const) : [])];
  return {
    ...(operationId && { operationId }),
    ...(tag && { tags: [tag] }),
    ...rest,
    ...(takesKey && { parameters: [IDEMPOTENCY_PARAMETER] }),
    responses: { ...errorResponses(...statuses), ...contract.responses },
  };
}

const encoder = new TextEncoder();

function validator(route: RegisteredRoute, { refusesUnknownFields = false }: RouterOptions): Check {
  const { params, query, body } = route.request ?? {};
  const bodySchema = schemaOf(body?.content["application/json"]);
  const formSchema = schemaOf(body?.content["multipart/form-data"]);
  return async (c) => {
    const failed: ValidationItem[] = [];
    const unknown = query ? unknownFields(query as z.ZodType, c.req.query()) : [];
    const check = (schema: z.ZodType, target: keyof typeof TARGET_NAMES, raw: unknown) => {
      const result = schema.safeParse(raw);
      if (result.success) c.req.addValidatedData(target, result.data as object);
      else failed.push(...toItems(TARGET_NAMES[target], result.error.issues, raw));
      return result.data;
    };
    if (params) check(params as z.ZodType, "param", c.req.param());
    if (query) {
      failed.push(...repeatedItems(query as z.ZodType, c.req.queries()));
      check(query as z.ZodType, "query", c.req.query());
    }
    const isForm = formSchema && (!bodySchema || FORM_TYPE.test(c.req.header("Content-Type") ?? ""));
    if (bodySchema && !isForm) {
      const read = await readJson(c.req.raw, route);
      if (read.ok) {
        const body = check(bodySchema, "json", read.value);
        const isRedacted = c.get("redaction")?.fields(bodySchema, body) ?? false;
        // Whoever tries all numbers of cards finds the one in a hash, so that the hash is of the masked text.
        if (isIdempotent(route)) await hashBody(c, isRedacted ? encoder.encode(JSON.stringify(body)) : read.bytes);
        const extra = unknownFields(bodySchema, read.value);
        if (refusesUnknownFields) failed.push(...extraItems(extra, read.value));
        else unknown.push(...extra);
      } else if (read.item.type === "missing" && !body?.required) check(bodySchema, "json", {});
      else failed.push(read.item);
    }
    if (isForm) {
      const read = await readForm(c.req.raw, route);
      if (read.ok) {
        await hashBody(c, read.digest);
        unknown.push(...unknownFields(formSchema, read.value));
        check(formSchema, "form", read.value);
      } else failed.push(read.item);
    }
    if (unknown.length > 0) c.header(UNKNOWN_FIELDS, toHeader(unknown));
    if (failed.length > 0) throw invalid(failed);
    await replaceSlugs(c);
  };
}

/** Replaces an agent's slug in the valid input by the agent's id. @throws ApiError not_found. */
async function replaceSlugs(c: AppContext): Promise<void> {
  const agentIdOf = c.get("agentIdOf");
  if (!agentIdOf) return;
  for (const target of Object.keys(TARGET_NAMES) as (keyof typeof TARGET_NAMES)[]) {
    const input = c.req.valid(target as never) as { agent_id?: string } | undefined;
    if (input?.agent_id) c.req.addValidatedData(target, { ...input, agent_id: await agentIdOf(input.agent_id) });
  }
}

/** The type of a form, where an operation takes JSON as well. */
const FORM_TYPE = /^multipart\/form-data\b/i;

const TARGET_NAMES = { param: "path", query: "query", json: "body", form: "body" } as const;

function schemaOf(content: object | undefined): z.ZodType | undefined {
  return content && "schema" in content && content.schema instanceof z.ZodType ? content.schema : undefined;
}
