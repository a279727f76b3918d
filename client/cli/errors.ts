import { ApiError } from "../index.ts";

/** A command line, or an environment, that cannot be used. */
export class UsageError extends Error {}

/** What was asked for did not come about, although the service answered. */
export class FailedError extends Error {}

/** Why a request was not answered, in the words of whatever failed below `fetch`. */
export function networkReason(error: unknown): string {
  const { cause } = error as Error;
  const { message, name, code } = (cause instanceof Error ? cause : error) as NodeJS.ErrnoException;
  // A host of several addresses, none of which can be reached, fails without a message.
  return message || code || name;
}

/** What went wrong, and what to do about it. */
export function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof FailedError) return error.message;
  if (error instanceof ApiError) return explainAnswer(error);
  if (error instanceof TypeError && error.cause !== undefined)
    return `${process.env["SUPPORT_URL"] ?? ""} did not answer: ${networkReason(error)}. Check SUPPORT_URL, and that the service runs.`;
  if (error instanceof SyntaxError) return notTheService("JSON was expected");
  return error instanceof Error ? error.message : String(error);
}

function explainAnswer(error: ApiError): string {
  if (error.code === "unexpected") return notTheService(`status ${error.status}`);
  if (error.detail.length > 0)
    return error.detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg.replace(/^Value error, /, "")}`).join("\n");
  const request = error.status >= 500 && error.requestId ? `Request ${error.requestId}.` : "";
  return [error.message, remedyOf(error), request].filter(Boolean).join(" ");
}

function remedyOf({ status, retryAfter }: ApiError): string {
  if (status === 401) return "Check SUPPORT_KEY.";
  if (retryAfter === null) return "";
  return `Try again at ${new Date(Date.now() + retryAfter * 1000).toLocaleTimeString("sv-SE")}, in ${retryAfter} s.`;
}

function notTheService(what: string): string {
  return `${process.env["SUPPORT_URL"] ?? ""} answered, but not as the service does (${what}). Check SUPPORT_URL.`;
}
