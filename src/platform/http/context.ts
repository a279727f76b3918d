import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Meter } from "../telemetry/meter.ts";
import type { ApiError } from "./errors.ts";

/** The variables that authentication adds to a request. @public */
// oxlint-disable-next-line typescript/no-empty-object-type -- workspaces/checks.ts declares its members, since http imports no feature
export interface CallerVariables {}

/** Masks what people wrote before the service uses it. */
interface InputRedaction {
  /** Masks a text. */
  text: (text: string) => string;
  /** Masks a text that was stored, perhaps before the settings were changed. */
  storedText: (text: string) => string;
  /** Whether a text has something that is masked. */
  finds(text: string): boolean;
  /** Masks the fields of a valid input that its schema marks, in place. @returns whether anything was masked. */
  fields(schema: z.ZodType, input: unknown): boolean;
}

/** The environment of every handler. */
export interface AppEnv {
  Bindings: Env;
  Variables: CallerVariables & {
    requestId: string;
    /** The key or token of the console's session, for a request without its own. */
    credential: string | undefined;
    meter: Meter;
    startedAtMs: number;
    /** The part of the service that responded instead of an operation of the API, for the log. */
    answeredBy: string | undefined;
    /** Returns the further fields of an error, on a surface that follows another protocol. */
    errorFields: ((error: ApiError) => object) | undefined;
    /** The code of the error in the response, for the log. */
    errorCode: string | undefined;
    /** Creates an id for a new record in a shard. A repeated idempotent request gets the same ids. */
    newIdIn: (shard: number) => string;
    /**
     * Returns the id of an agent by its id or slug, on a surface that takes both.
     * @throws ApiError not_found.
     */
    agentIdOf: ((named: string) => Promise<string>) | undefined;
    /** Masks texts of people in the input; undefined if the caller's workspace has nothing masked. */
    redaction: InputRedaction | undefined;
    /** A digest of the request, by which idempotency compares requests. */
    requestHash: string | undefined;
    /** The conversation that the response is about. A response that is kept for replays is erased with its conversation. */
    conversationId: string | undefined;
    /** Whether a concurrent retry of the operation is run rather than refused, see `joinRetries`. */
    joinsRetries: boolean | undefined;
    /** How long a request of the operation may run, see `leaseFor`. */
    leaseMs: number | undefined;
    /** Whether only the same API key may repeat the request, see `bindToApiKey`. */
    isBoundToApiKey: boolean | undefined;
    /** `begun` when the request is forwarded to its region, and `done` when it was answered there. */
    forwarding: "begun" | "done" | undefined;
    /** The workspace and key that sent the request, for the log. */
    logFields: { workspaceId: string; keyId?: string } | undefined;
  };
}

export type AppContext = Context<AppEnv>;

const BEARER = /^Bearer +(\S+) *$/i;

/** Returns the token of the Authorization header (RFC 6750), or that of the console's session; undefined without one. */
export function bearerToken(c: AppContext): string | undefined {
  return c.get("credential") ?? BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
}
