import type { Context } from "hono";
import { newId } from "../db/ids.ts";
import { Meter } from "../telemetry/meter.ts";

/** What admission adds to a request's variables, once it has let the request in. @public */
// oxlint-disable-next-line typescript/no-empty-object-type -- admission declares its members, since http imports no feature
export interface CallerVariables {}

/** What handlers find in the context of a request. */
export interface AppEnv {
  Bindings: Env;
  Variables: CallerVariables & {
    requestId: string;
    meter: Meter;
    startedAtMs: number;
    /** What answers in the place of the contract's operations, for the log. */
    answeredBy: string | undefined;
    /** The code of the error that is answered, for the log. */
    errorCode: string | undefined;
    /** Makes the identifiers of what the request creates: the same ones when an idempotent request is done again. */
    newId: (shard: number) => string;
    /** The body as it came, for operations that tell requests apart by it. */
    bodyText: string | undefined;
    /** The conversation that a streamed answer tells of. Nobody waits for the end of such an answer. */
    streamedConversation: string | undefined;
    /** Whether the operation may be asked again while it is being done, and answers both times alike. */
    joinsRetries: boolean | undefined;
    /** Whose request it is, for the log. */
    logFields: { workspaceId: string; keyId?: string } | undefined;
  };
}

export type AppContext = Context<AppEnv>;

/** Gives a request its identifier, its meter and its start. The identifier belongs to no shard. */
export function beginRequest(c: AppContext): void {
  const nowMs = Date.now();
  c.set("startedAtMs", nowMs);
  c.set("meter", new Meter());
  c.set("newId", (shard) => newId(shard, Date.now()));
  c.set("requestId", newId(0, nowMs));
  c.header("X-Request-Id", c.get("requestId"));
}

const BEARER = /^Bearer +(\S+) *$/i;

/** The credential of the Authorization header (RFC 6750); undefined where there is none of this scheme. */
export function bearerToken(c: AppContext): string | undefined {
  return BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
}
