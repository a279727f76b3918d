import type { Context } from "hono";
import type { Meter } from "../telemetry/meter.ts";
import type { ApiError } from "./errors.ts";

/** What authentication adds to a request's variables. @public */
// oxlint-disable-next-line typescript/no-empty-object-type -- workspaces/checks.ts declares its members, since http imports no feature
export interface CallerVariables {}

/** The environment of every handler. */
export interface AppEnv {
  Bindings: Env;
  Variables: CallerVariables & {
    requestId: string;
    /** The key or token of the console's session, for a request without its own. */
    credential: string | undefined;
    meter: Meter;
    startedAtMs: number;
    /** For the log: the part that responded instead of an operation of the contract. */
    answeredBy: string | undefined;
    /** What errors have beside the service's own fields, on a surface that speaks another protocol. */
    errorFields: ((error: ApiError) => object) | undefined;
    /** For the log: the code of the error in the response. */
    errorCode: string | undefined;
    /** Creates the ids of the request's new records: the same ones when an idempotent request is repeated. */
    newIdIn: (shard: number) => string;
    /** A digest of the request, by which idempotency compares requests. */
    requestHash: string | undefined;
    /** The conversation that the response is about: a response that is kept for replays is erased with it. */
    conversationId: string | undefined;
    /** Whether a concurrent retry of the operation is run rather than refused, see `joinRetries`. */
    joinsRetries: boolean | undefined;
    /** Whether only the same API key may repeat the request, see `bindToApiKey`. */
    isBoundToApiKey: boolean | undefined;
    /** Whether the request was handed on to its region, and was answered there. */
    forwarding: "begun" | "done" | undefined;
    /** For the log: who sent the request. */
    logFields: { workspaceId: string; keyId?: string } | undefined;
  };
}

export type AppContext = Context<AppEnv>;

const BEARER = /^Bearer +(\S+) *$/i;

/** The token of the Authorization header (RFC 6750), or that of the console's session; undefined without one. */
export function bearerToken(c: AppContext): string | undefined {
  return c.get("credential") ?? BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
}
