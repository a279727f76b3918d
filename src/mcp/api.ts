import type { Hono } from "hono";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { handleError, handleNotFound } from "../platform/http/error-handler.ts";
import { MAX_KEY_LENGTH } from "../platform/http/idempotency.ts";
import { createRouter } from "../platform/http/router.ts";

/** One request of a tool to the integrators' API. */
export interface ApiRequest {
  method: "GET" | "POST" | "PATCH";
  /** The segments of the path under /api/v1. */
  path: readonly unknown[];
  query?: Record<string, unknown>;
  body?: object;
  idempotencyKey?: unknown;
}

/** Sends a request for the caller of the tool. @throws Refusal if the API answers with an error. */
export type Api = <Answer>(request: ApiRequest) => Promise<Answer>;

/** A refused tool call. The message tells the model why. */
export class Refusal extends Error {}

/** The context variables that a tool's request takes over from the admitted request to `/mcp`. */
const CARRIED = ["caller", "redaction", "agentIdOf", "meter", "newIdIn", "requestId", "startedAtMs", "logFields"] as const;

/** The request to `/mcp` that caused each request of a tool. */
const admitted = new WeakMap<Request, AppContext>();

/**
 * The API for callers who have already been admitted, called in the same process: neither is the gate asked nor the request logged
 * again. Scopes, validation, idempotency and errors are those of the API itself.
 */
export function innerApi(routers: readonly Hono<AppEnv>[]): Hono<AppEnv> {
  const inner = createRouter();
  inner.use(async (c, next) => {
    const outer = admitted.get(c.req.raw)!;
    for (const name of CARRIED) c.set(name, outer.get(name));
    await next();
    outer.set("errorCode", c.get("errorCode"));
  });
  for (const router of routers) inner.route("/api/v1", router);
  inner.notFound(handleNotFound);
  inner.onError(handleError);
  return inner;
}

/** The API for the tools of one request to `/mcp`. */
export function apiFor(c: AppContext, inner: Hono<AppEnv>): Api {
  return async <Answer>({ method, path, query = {}, body, idempotencyKey }: ApiRequest) => {
    const url = new URL(`/api/v1/${path.map(segmentOf).join("/")}`, c.req.url);
    for (const [name, value] of Object.entries(query)) if ((value ?? null) !== null) url.searchParams.set(name, toText(value));
    const headers = new Headers({ "Content-Type": "application/json" });
    // The key is encoded, since headers hold only Latin-1, and hashed if it then exceeds the limit.
    const key = (idempotencyKey ?? null) === null ? "" : encodeURIComponent(toText(idempotencyKey).toWellFormed());
    if (key !== "") headers.set("Idempotency-Key", key.length > MAX_KEY_LENGTH ? await sha256Hex(key) : key);
    const request = new Request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    admitted.set(request, c);
    const response = await inner.fetch(request, c.env, c.executionCtx);
    const answer = await response.json<Answer & ErrorBody>();
    if (!response.ok) throw new Refusal(explanationOf(answer));
    return answer;
  };
}

/** The text of an id, filter or key. @throws Refusal if it is neither a text nor a number, as an object could have any `toString`. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return value.toString();
  throw new Refusal("An id, filter or key is missing, or is neither a text nor a number.");
}

function segmentOf(value: unknown): string {
  const segment = encodeURIComponent(toText(value).toWellFormed());
  // A URL parser removes these segments, so that the path would be that of another operation.
  if (segment === "." || segment === "..") throw new Refusal(`${segment} is not an id.`);
  return segment;
}

/** The body of the API's errors. */
interface ErrorBody {
  error: { code: string; message: string; request_id: string } & Record<string, string>;
  detail?: { loc: (string | number)[]; msg: string }[];
}

/** The text of an error, with everything that a model needs to correct its call. */
export function explanationOf({ error, detail = [] }: ErrorBody): string {
  const { code, message, ...further } = error;
  const checks = detail.map(({ loc, msg }) => `- ${loc.slice(1).join(".")}: ${msg}`);
  const ids = Object.entries(further).map(([name, value]) => `${name}: ${value}`);
  return [`${code}: ${message}`, ...checks, ...ids].join("\n");
}
