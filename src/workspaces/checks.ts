import ipaddr from "ipaddr.js";
import { apiKeySecrets, isConfigured } from "../platform/config.ts";
import { newOperation } from "../platform/db/client.ts";
import type { Changer } from "../platform/db/columns.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { Check } from "../platform/http/checks.ts";
import { type AppContext, bearerToken } from "../platform/http/context.ts";
import { ApiError, type ErrorCode, retryAfter, unavailable } from "../platform/http/errors.ts";
import { answerInRegion } from "../platform/http/region.ts";
import { LruCache } from "../platform/lru-cache.ts";
import { type AuditedOperation, OPERATOR_ACTOR } from "./audit-store.ts";
import { redactionOf } from "../redaction/redaction.ts";
import { type ApiKeyClaim, verifyApiKey } from "./api-key.ts";
import type { CallerKey, CallerWorkspace } from "./directory.ts";
import { ALL_SENDERS, type LimitWindow } from "./usage-limits.ts";
import { type Admission, gateOf, type KnownCaller } from "./gate.ts";
import { RateLimiter, type WindowState } from "./rate-limit.ts";
import type { Scope } from "./scopes.ts";

/** The caller as handlers see it. @public */
export interface Caller {
  workspace: CallerWorkspace;
  key: CallerKey;
  window: WindowState;
}

declare module "../platform/http/context.ts" {
  interface CallerVariables {
    /** The value is set by requireKey. */
    caller: Caller;
  }
}

/** Only a deployment repairs the configuration, so callers wait longer than after a transient error. */
const MISCONFIGURED_RETRY_SECONDS = 60;

/** Requests without a valid key that one address may make in any 60 s. */
const UNAUTHENTICATED_PER_MINUTE = 60;
const addressLimiter = new RateLimiter(UNAUTHENTICATED_PER_MINUTE);

/** How a key was refused, and the id of the key if the gate knows it. */
interface Refusal {
  outcome: Exclude<Admission["outcome"], "known">;
  keyId?: string;
}

/**
 * How long a refused key is refused without its gate being asked, so that a flood of requests with it takes nothing from the
 * workspace's other keys. Nothing makes such a key valid: a new key has never been sent before.
 */
const REFUSED_FOR_MS = 10_000;
/** The keys that were refused recently, by their hashes. */
const refusedKeys = new LruCache<string, Refusal & { untilMs: number }>(10_000);

/** Recent callers as the gate described them, by the hashes of their keys. The gate checks each request and says whether an entry is current. */
const knownCallers = new LruCache<string, KnownCaller>(2_000);

const KEY_ERRORS = {
  missing_api_key: "Send your API key in the header: Authorization: Bearer sk_live_…",
  invalid_api_key: "This is not a key of this service. Check that you copied it whole, or ask your operator for a new one.",
  revoked_api_key: "This key was revoked. Use another one, or ask your operator for a new one.",
} as const satisfies Partial<Record<ErrorCode, string>>;

/** Answers 503 while the configuration is invalid; the log names the variable. */
export const requireConfig: Check = (c) => {
  if (isConfigured(c.env)) return;
  throw overAddressLimit(c) ?? unavailable("The service is not configured yet. Its log names what is wrong.", MISCONFIGURED_RETRY_SECONDS);
};

/**
 * Authenticates the API key with one call to the workspace's gate: 401 without a valid key, 429 over the rate limit. If the
 * workspace has a region, the request is answered there.
 */
export const requireKey: Check = async (c) => (await requireAnyToken(c)) ?? refuseApplication(c);

/** Like `requireKey`, for /mcp, which the tokens of connected applications are for. */
export const requireAnyToken = async (c: AppContext): Promise<Response | undefined> => {
  const claim = await readClaim(c);
  const response = await forwardWithKey(c, claim);
  if (!response) await admit(c, claim);
  return response;
};

function refuseApplication(c: AppContext): undefined {
  if (!c.get("caller").key.isApplication) return;
  throw unauthorized(c, "invalid_api_key", "This token is for /mcp alone. Use an API key here.");
}

/** Like `requireKey`, for a request that is answered here although its workspace may have another region. */
export async function admitKey(c: AppContext): Promise<void> {
  await admit(c, await readClaim(c));
  refuseApplication(c);
}

async function readClaim(c: AppContext): Promise<ApiKeyClaim> {
  const key = bearerToken(c);
  if (key === undefined) throw keyError(c, "missing_api_key");
  const claim = await verifyApiKey(key, apiKeySecrets(c.env));
  if (!claim) throw keyError(c, "invalid_api_key");
  c.set("logFields", { workspaceId: claim.workspaceId });
  const refused = refusedKeys.get(claim.hash);
  if (refused && Date.now() < refused.untilMs) throw refuse(c, claim, refused);
  return claim;
}

async function admit(c: AppContext, claim: ApiKeyClaim): Promise<void> {
  const known = knownCallers.get(claim.hash);
  const admission = await callGate(c, claim, known?.version);
  if (admission.outcome !== "known") {
    // An unknown workspace may still be imported, with its keys.
    if (admission.outcome !== "unknown_workspace") rememberRefusal(claim, admission);
    throw refuse(c, claim, admission);
  }
  const { caller, window } = admission;
  if (caller) knownCallers.set(claim.hash, caller);
  const { workspace, key: callerKey } = caller ?? known!;
  c.set("logFields", { workspaceId: claim.workspaceId, keyId: callerKey.id });
  setRateHeaders(c, window);
  const shared = callerKey.member && !callerKey.isApplication ? "" : ", which all keys of the workspace share,";
  if (!window.accepted) throw rateLimited(window, `The rate limit${shared} is exceeded.`);
  c.set("caller", { workspace, key: callerKey, window });
  c.set("redaction", await redactionOf(c.env, workspace.id, workspace.redaction));
}

function refuse(c: AppContext, { workspaceId }: ApiKeyClaim, refusal: Refusal): ApiError {
  if (refusal.outcome !== "revoked_key") return keyError(c, "invalid_api_key");
  if (refusal.keyId !== undefined) c.set("logFields", { workspaceId, keyId: refusal.keyId });
  return keyError(c, "revoked_api_key");
}

function rememberRefusal({ hash }: ApiKeyClaim, refusal: Refusal): void {
  refusedKeys.set(hash, { ...refusal, untilMs: Date.now() + REFUSED_FOR_MS });
}

/** Returns the response of the workspace's region, if it has one. A revoked key is remembered here, so that it is forwarded only once. */
async function forwardWithKey(c: AppContext, claim: ApiKeyClaim): Promise<Response | undefined> {
  try {
    const response = await answerInRegion(c, claim.workspaceId);
    if (response?.status !== 401) return response;
    const { error } = await response.clone().json<{ error: { code: ErrorCode } }>();
    if (error.code === "revoked_api_key") rememberRefusal(claim, { outcome: "revoked_key" });
    return response;
  } catch (error) {
    throw overAddressLimit(c) ?? error;
  }
}

async function callGate(c: AppContext, claim: ApiKeyClaim, knownVersion: string | undefined): Promise<Admission> {
  const meter = c.get("meter");
  try {
    const admission = await gateOf({ env: c.env, meter, workspaceId: claim.workspaceId }).admit(claim, knownVersion);
    if (admission.cost) meter.add(admission.cost);
    return admission;
  } catch (error) {
    // Only the gate knows the workspace's rate limit, so the response carries the address's limit instead.
    throw overAddressLimit(c) ?? error;
  }
}

/** Counts a request that needs no key against its address. @throws ApiError rate_limited. */
export function requireAddressLimit(c: AppContext): void {
  const limited = overAddressLimit(c);
  if (limited) throw limited;
}

/** Requires a scope for a route: the OpenAPI document names it, and a key without it gets 403. */
export function needsScope(scope: Scope, ...checks: Check[]) {
  return { "x-scope": scope, checks: [(c: AppContext) => requireScope(c, scope), ...checks] };
}

/** Like `needsScope`, for a route that either of two scopes opens. */
export function needsOneOf(scope: Scope, other: Scope) {
  const check: Check = (c) => {
    if (!c.get("caller").key.scopes.includes(other)) requireScope(c, scope);
  };
  return { "x-scope": scope, "x-other-scope": other, checks: [check] };
}

/** Checks a scope that a request needs. @throws ApiError insufficient_scope. */
export function requireScope(c: AppContext, scope: Scope): void {
  if (c.get("caller").key.scopes.includes(scope)) return;
  throw new ApiError("insufficient_scope", `This needs the scope ${scope}. Use a key that has it.`);
}

/** Checks that the caller has all of the scopes that it grants. @throws ApiError insufficient_scope. */
export function requireGrantable(c: AppContext, granted: readonly string[]): void {
  const { scopes, isOwner } = c.get("caller").key;
  const lacking = granted.filter((scope) => !isOwner && !(scopes as readonly string[]).includes(scope)).join(", ");
  if (lacking === "") return;
  throw new ApiError("insufficient_scope", `You can grant only scopes that you have, and you lack: ${lacking}. Leave them out.`);
}

function keyError(c: AppContext, code: keyof typeof KEY_ERRORS): ApiError {
  return unauthorized(c, code, KEY_ERRORS[code]);
}

/** Returns the 401 error for a caller without a valid credential, or a 429 error if the caller's address has caused too many of them. */
export function unauthorized(c: AppContext, code: keyof typeof KEY_ERRORS, message: string): ApiError {
  return overAddressLimit(c) ?? new ApiError(code, message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Providers give an IPv6 customer at least this many bytes (RFC 6177): the customer may choose the rest of the address freely. */
const NETWORK_BYTES = 8;

/** Returns the name under which a client is rate limited: its IPv4 address, or the network of its IPv6 address. */
export function clientAddress(c: AppContext): string {
  const address = c.req.header("CF-Connecting-IP") ?? "unknown";
  if (!ipaddr.isValid(address)) return address;
  // `process` turns an IPv4-mapped IPv6 address into the IPv4 address.
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : new Uint8Array(parsed.toByteArray().slice(0, NETWORK_BYTES)).toHex();
}

function overAddressLimit(c: AppContext): ApiError | undefined {
  const window = addressLimiter.admit(clientAddress(c), Date.now());
  setRateHeaders(c, window);
  return window.accepted ? undefined : rateLimited(window, "Too many requests without a valid API key from this address.");
}

function setRateHeaders(c: AppContext, window: WindowState): void {
  c.header("X-RateLimit-Limit", String(window.limit));
  c.header("X-RateLimit-Remaining", String(window.remaining));
  c.header("X-RateLimit-Reset", String(Math.ceil(window.resetAtMs / 1000)));
}

/** Returns a 429 error with Retry-After. */
export function rateLimited(window: WindowState, reason: string): ApiError<"rate_limited"> {
  const seconds = Math.max(1, Math.ceil(window.retryInMs / 1000));
  return new ApiError("rate_limited", `${reason} Try again in ${seconds} s.`, retryAfter(seconds));
}

/** The limits that are reached, in words for visitors (`one`) or for everybody (`all`). */
const FULL_REASONS = {
  messages: { all: "No more messages can be taken today.", one: "You have sent many messages." },
  leads: { all: "No more contact details can be taken today.", one: "You have left your contact details several times." },
  attachments: { all: "No more files can be taken today.", one: "You have sent many files." },
  evaluation_cases: { all: "That would be more evaluation cases than the plan allows in a day.", one: "" },
  deliveries: { all: "The workspace has made as many webhook deliveries as the plan allows in a day.", one: "" },
  team_messages: { all: "The team has written as many messages as the plan allows in a day.", one: "" },
  syncs: { all: "The workspace has requested as many syncs as the plan allows in a day.", one: "" },
  erasures: { all: "The workspace has started as many erasures as the plan allows in a day.", one: "" },
} as const;

/** Returns the 429 error for a limit of a day or of a sender's hour. */
export function limitReached({ flow, sender, endMs }: LimitWindow, nowMs: number): ApiError<"rate_limited"> {
  const seconds = Math.max(1, Math.ceil((endMs - nowMs) / 1000));
  const [unit, length] = seconds > 2 * 3600 ? ["hour", 3600] : ["minute", 60];
  const wait = new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long" }).format(Math.ceil(seconds / length));
  const reason = FULL_REASONS[flow][sender === ALL_SENDERS ? "all" : "one"];
  return new ApiError("rate_limited", `${reason} Please try again in ${wait}.`, retryAfter(seconds));
}

/** Returns who sent a request: the member or, with an API key, the key. */
export function actorOf(c: AppContext): { type: "member" | "key"; id: string; name: string } {
  const { member, id, name } = c.get("caller").key;
  return member ? { type: "member", id: member.id, name: member.name } : { type: "key", id, name };
}

function actorText({ type, id }: { type: string; id: string }): string {
  return `${type}/${id}`;
}

/**
 * Returns the member of the team who wrote something: the one who is signed in or, with an API key, the one that the request names; null if
 * it names none.
 */
export function authorOf(c: AppContext, named: { id: string; name: string } | null = null): { id: string; name: string } | null {
  const { member } = c.get("caller").key;
  return member ? { id: member.id, name: member.name } : named;
}

/** Returns who changes a conversation: a signed-in member of the team, or a program with an API key. */
export function changerOf(c: AppContext): Changer {
  return actorOf(c).type === "member" ? "human" : "api";
}

/** Returns the error for the team's message or note in a conversation that has no room for it, or on a `full` day. */
export function noRoomFor(kind: "messages" | "notes", full: LimitWindow | undefined): ApiError {
  if (full) return limitReached(full, Date.now());
  const advice = "Resolve it, or ask the operator for a larger plan.";
  return new ApiError("plan_required", `The conversation has as many ${kind} as the plan allows in one. ${advice}`);
}

/** Creates the context of the operation of a request: on the caller's workspace, or on another one that the operator may change. */
export function operationOf(c: AppContext, workspaceId = c.get("caller").workspace.id): AuditedOperation {
  const shard = shardOf(workspaceId);
  const actor = (c.get("caller") as Caller | undefined) ? actorText(actorOf(c)) : OPERATOR_ACTOR;
  return { ...newOperation(c.env, c.get("meter"), workspaceId), actor, newId: () => c.get("newIdIn")(shard) };
}
