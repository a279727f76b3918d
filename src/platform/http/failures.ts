import { UnreadableSecretError } from "../crypto/secrets.ts";
import { explainShardError } from "../db/shard-fault.ts";
import { logProblem } from "../telemetry/log.ts";
import type { AppContext } from "./context.ts";
import { ApiError, unavailable } from "./errors.ts";
import { logFailure } from "./request-log.ts";

/** How long a caller should wait when the platform was busy: its own retries start at seconds. */
const RETRY_IN_SECONDS = 2;
/** A key of the deployment that is missing is brought back by a person, not by waiting a moment. */
const UNREADABLE_RETRY_SECONDS = 60;
/** A database that is missing is mended by a deployment, not by waiting a moment. */
const SHARD_RETRY_SECONDS = 60;

/** Answers any error with the envelope. What is not meant for the caller goes to the log alone. */
export function answerError(error: unknown, c: AppContext): Response {
  const known = error instanceof ApiError ? error : classify(c, error);
  c.set("errorCode", known.code);
  for (const [name, value] of Object.entries(known.headers)) c.header(name, value);
  return c.json(known.toBody(c.get("requestId")), known.status);
}

function classify(c: AppContext, error: unknown): ApiError {
  logFailure(c, error);
  if (error instanceof UnreadableSecretError) {
    const message = "A stored secret that this needs cannot be read just now. Try again later: nothing was lost and nothing was done.";
    return unavailable(message, UNREADABLE_RETRY_SECONDS);
  }
  const fault = explainShardError(error);
  if (fault !== undefined) {
    logProblem("shard_fault", { request_id: c.get("requestId"), detail: fault });
    return unavailable("The service cannot reach this workspace's data just now. Its log says what is missing.", SHARD_RETRY_SECONDS);
  }
  if (isPassing(error)) return unavailable("The service is busy just now. Try again in a moment.", RETRY_IN_SECONDS);
  return new ApiError("internal_error", "Something failed on our side. Try again, and tell us the request_id if it goes on.");
}

/** Whether the platform says that the same call may go through later. */
function isPassing(error: unknown): boolean {
  const { retryable, overloaded } = error as { retryable?: unknown; overloaded?: unknown };
  const fault = /D1_ERROR: (.*)/i.exec(String(error))?.[1] ?? "";
  return retryable === true || overloaded === true || /overloaded|timeout|reset/i.test(fault);
}

/** Answers a path with no route: 405 with what is allowed where another method would do, else 404. */
export function answerNoRoute(c: AppContext, routes: readonly { method: string; path: string }[]): Response {
  const matching = routes.filter((route) => route.method !== "ALL" && matches(route.path, c.req.path));
  const methods = [...new Set(matching.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : method)))].sort();
  if (methods.length === 0) {
    return answerError(new ApiError("not_found", "There is nothing at this path. See /docs for the operations."), c);
  }
  const allow = methods.join(", ");
  return answerError(new ApiError("method_not_allowed", `This path takes ${allow}.`, { headers: { Allow: allow } }), c);
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length && wanted.every((part, at) => part === given[at] || (part.startsWith(":") && given[at] !== ""));
}
