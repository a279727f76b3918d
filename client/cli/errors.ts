import { ApiError } from "../index.ts";

/** The command line or the environment is wrong. */
export class UsageError extends Error {}

/** The service answered, but the command did not achieve what it is for. */
export class FailedError extends Error {}

/** Says why a request got no answer, in the words of the error that `fetch` wraps. */
export function networkReason(error: unknown): string {
  const { cause } = error as Error;
  const { message, name, code } = (cause instanceof Error ? cause : error) as NodeJS.ErrnoException;
  // The error of a host with several addresses, none of which can be reached, has no message.
  return message || code || name;
}

/** Describes an error, and what to do about it. */
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
  if (error.detail.length > 0) return error.detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("\n");
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
