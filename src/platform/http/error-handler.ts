import { UnreadableSecretError } from "../crypto/secrets.ts";
import { explainDatabaseError, SHARD_IS_MOVING } from "../db/database-errors.ts";
import { logProblem } from "../telemetry/log.ts";
import type { AppContext } from "./context.ts";
import { ApiError, unavailable } from "./errors.ts";
import { logFailure } from "./request-log.ts";

/** The pause before a retry after a transient error of the platform. It is as long as the first pause of common clients. */
const TRANSIENT_RETRY_SECONDS = 2;
/** The pause before a retry after an error that only the operator can repair. */
const OPERATOR_RETRY_SECONDS = 60;

const BUSY = "The service is busy. Try again in a moment.";
/** A write may have been done although its response was lost. */
const OUTCOME_UNKNOWN =
  "The service is busy, and this request may have taken effect. Check before you repeat it; with an Idempotency-Key it can be repeated safely.";

/** Responds to any error with the error envelope. Details that are not for the caller are only written to the log. */
export function handleError(error: unknown, c: AppContext): Response {
  const apiError = error instanceof ApiError ? error : toApiError(c, error);
  c.set("errorCode", apiError.code);
  for (const [name, value] of Object.entries(apiError.headers)) c.header(name, value);
  return c.json(apiError.toBody(c.get("requestId"), c.get("errorFields")?.(apiError)), apiError.status);
}

/** Responds to a path without a route. */
export function handleNotFound(c: AppContext): Response {
  const message = c.req.path.includes("//")
    ? "The path has an empty segment (//). Check that each id in it has a value: a variable of your program may be empty."
    : "There is nothing at this path. See /docs for the operations.";
  return handleError(new ApiError("not_found", message), c);
}

/** Responds to a wrong method on a path with routes. */
export function handleMethodNotAllowed(c: AppContext, allowedMethods: string[]): Response {
  const allow = allowedMethods.toSorted().join(", ");
  return handleError(new ApiError("method_not_allowed", `This path takes ${allow}.`, { headers: { Allow: allow } }), c);
}

/** Logs an unexpected error, and returns the error that the caller gets for it. */
export function toApiError(c: AppContext, error: unknown): ApiError {
  logFailure(c, error);
  if (error instanceof UnreadableSecretError) {
    const message = "A stored secret that this request needs cannot be read at the moment. Nothing was changed. Try again later.";
    return unavailable(message, OPERATOR_RETRY_SECONDS);
  }
  const problem = explainDatabaseError(error);
  if (problem !== undefined) {
    logProblem("database_fault", { request_id: c.get("requestId"), detail: problem });
    return unavailable(
      "The service cannot reach this workspace's data at the moment. Its log says what is missing.",
      OPERATOR_RETRY_SECONDS,
    );
  }
  if (isTransient(error)) return unavailable(isRepeatable(c) ? BUSY : OUTCOME_UNKNOWN, TRANSIENT_RETRY_SECONDS);
  return new ApiError("internal_error", "Something failed on our side. Try again, and send us the request_id if it keeps failing.");
}

/** Whether the request can be sent again without taking effect twice, or is one that accepts no Idempotency-Key. */
function isRepeatable(c: AppContext): boolean {
  return c.req.method !== "POST" || c.req.header("Idempotency-Key") !== undefined || !(c.get("caller") ?? c.get("forwarding"));
}

/**
 * The messages of transient errors of D1, Durable Objects and SQLite, from their documentation and source code. Those of D1:
 * https://developers.cloudflare.com/d1/observability/debug-d1/
 */
const TRANSIENT = [
  /\bSQLITE_(?:BUSY|LOCKED)\b|database (?:table )?is locked/,
  /\bis overloaded\b|requests queued/i,
  /\b(?:caused object to be reset|reset because its code was updated|storage operation exceeded timeout)\b/,
  /^(?:D1_\w*ERROR: )?Network connection lost/,
  /\btransient issue on remote node\b/,
  /\bclient disconnected\b/,
  /^D1_\w*ERROR: .*\b(?:timeout|timed out|reset)\b/i,
  SHARD_IS_MOVING,
  // The message of `withTimeout`.
  / took longer than \d+ ms$/,
];

/**
 * Returns whether the same call may succeed later. This is read from the message, the only thing that an error keeps when it leaves a
 * Durable Object, and from the messages of its causes, since the database driver wraps the errors of D1.
 */
export function isTransient(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { retryable, overloaded, message, cause } = error as { [Name in "retryable" | "overloaded" | "message" | "cause"]?: unknown };
  if (retryable === true || overloaded === true) return true;
  return TRANSIENT.some((pattern) => pattern.test(String(message))) || isTransient(cause);
}
