import type { MiddlewareHandler } from "hono";
import { apiKeySecrets, isConfigured } from "../platform/config.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import { type AppContext, type AppEnv, bearerToken } from "../platform/http/context.ts";
import { ApiError, type ErrorCode, unavailable } from "../platform/http/errors.ts";
import { admitAddress, clientNetwork } from "./address-limit.ts";
import { type ApiKeyClaim, verifyApiKey } from "./api-key.ts";
import type { Admission } from "./gate.ts";
import type { Scope } from "./scopes.ts";
import type { WindowState } from "./window.ts";

/** Who calls, as handlers see it. @public */
export type Caller = Pick<Extract<Admission, { outcome: "known" }>, "workspace" | "key" | "window">;

declare module "../platform/http/context.ts" {
  interface CallerVariables {
    /** Set once the key is admitted. */
    caller: Caller;
  }
}

/** A missing secret is mended by a deployment, not by waiting a moment. */
const MISCONFIGURED_RETRY_SECONDS = 60;

const REFUSALS = {
  missing_api_key: "Send your API key in the header: Authorization: Bearer sk_live_…",
  invalid_api_key: "This is not a key of this service. Check that you copied it whole, or ask your operator for a new one.",
  revoked_api_key: "This key was revoked. Use another one, or ask your operator for a new one.",
} as const satisfies Partial<Record<ErrorCode, string>>;

/** 503 while the configuration is not safe to work with; the log names the variable. */
export const requireConfig: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (isConfigured(c.env)) return next();
  throw overAddressLimit(c) ?? unavailable("The service is not configured yet. Its log names what is wrong.", MISCONFIGURED_RETRY_SECONDS);
};

/** Admits requests with a workspace's key, in one hop: 401 without one, 429 over the rate limit. */
export const requireKey: MiddlewareHandler<AppEnv> = async (c, next) => {
  const key = bearerToken(c);
  if (key === undefined) throw refuse(c, "missing_api_key");
  const claim = await verifyApiKey(key, apiKeySecrets(c.env));
  if (!claim) throw refuse(c, "invalid_api_key");
  const admission = await askGate(c, claim);
  if (admission.outcome === "unknown_key") throw refuse(c, "invalid_api_key");
  if (admission.outcome === "revoked_key") throw refuse(c, "revoked_api_key");
  c.set("logFields", { workspaceId: admission.workspace.id, keyId: admission.key.id });
  setRateHeaders(c, admission.window);
  if (!admission.window.accepted) throw rateLimited(admission.window, "The workspace's rate limit is exceeded, all its keys together.");
  c.set("caller", admission);
  await next();
};

async function askGate(c: AppContext, claim: ApiKeyClaim): Promise<Admission> {
  const meter = c.get("meter");
  meter.countObjectHop();
  try {
    const admission = await c.env.GATE.getByName(claim.workspaceId).admit(claim);
    meter.add(admission.cost);
    return admission;
  } catch (error) {
    // Without its gate nothing is known of the workspace, so the answer carries the address's limit.
    throw overAddressLimit(c) ?? error;
  }
}

/** Lets everyone in, each address so often a minute. */
export const limitAddress: MiddlewareHandler<AppEnv> = async (c, next) => {
  const limited = overAddressLimit(c);
  if (limited) throw limited;
  await next();
};

/** Part of an operation's contract: 403 unless the key carries the scope, as the document says, and then what else it runs. */
export function needsScope(scope: Scope, ...further: MiddlewareHandler<AppEnv>[]) {
  return { "x-scope": scope, middleware: [requireScope(scope), ...further] };
}

function requireScope(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (!c.get("caller").key.scopes.includes(scope)) {
      throw new ApiError("insufficient_scope", `This needs the scope ${scope}. Use a key that carries it.`);
    }
    await next();
  };
}

function refuse(c: AppContext, code: keyof typeof REFUSALS): ApiError {
  return unauthorized(c, code, REFUSALS[code]);
}

/** The error for a caller without a valid credential, counted against its address. */
export function unauthorized(c: AppContext, code: keyof typeof REFUSALS, message: string): ApiError {
  return overAddressLimit(c) ?? new ApiError(code, message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Whom a client's address, as the platform gives it, is counted as. */
export function clientAddress(c: AppContext): string {
  return clientNetwork(c.req.header("CF-Connecting-IP") ?? "unknown");
}

function overAddressLimit(c: AppContext): ApiError | undefined {
  const window = admitAddress(clientAddress(c), Date.now());
  setRateHeaders(c, window);
  return window.accepted ? undefined : rateLimited(window, "Too many requests without a valid API key from this address.");
}

function setRateHeaders(c: AppContext, window: WindowState): void {
  c.header("X-RateLimit-Limit", String(window.limit));
  c.header("X-RateLimit-Remaining", String(window.remaining));
  c.header("X-RateLimit-Reset", String(Math.ceil(window.resetAtMs / 1000)));
}

/** 429, with how long to wait. */
export function rateLimited(window: WindowState, reason: string): ApiError<"rate_limited"> {
  const seconds = Math.max(1, Math.ceil(window.retryInMs / 1000));
  return new ApiError("rate_limited", `${reason} Try again in ${seconds} s.`, { headers: { "Retry-After": String(seconds) } });
}

/** The database of the caller's workspace. */
export function callerDb(c: AppContext): Database {
  return dbFor(c.env, c.get("caller").workspace.id, c.get("meter"));
}
