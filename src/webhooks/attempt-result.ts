import type { Exchange } from "../egress/guarded-fetch.ts";

/** Why an attempt failed. `secret_unreadable`: it could not be signed, so that nothing was sent. */
export const ATTEMPT_ERRORS = ["timeout", "connection_failed", "blocked_url", "http_error", "secret_unreadable"] as const;

/** The result of one attempt, as its row stores it. */
export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  status: number | null;
  /** The beginning of the answer's body. */
  body: string | null;
  isTruncated: boolean;
  error: (typeof ATTEMPT_ERRORS)[number] | null;
  /** The header of that name. */
  retryAfter: string | null;
  /** Where it was sent. */
  url: string;
}

/** The result of an attempt that was not sent, because the endpoint's secret cannot be decrypted. */
export function unsignedResult(url: string, startedAtMs: number): AttemptResult {
  const error = "secret_unreadable";
  return { startedAtMs, durationMs: 0, url, status: null, body: null, isTruncated: false, error, retryAfter: null };
}

/** The result of an HTTP exchange: any 2xx is a success. Redirects are not followed and count as failures. */
export function resultOf(exchange: Exchange, url: string, startedAtMs: number): AttemptResult {
  const sent = { startedAtMs, durationMs: exchange.durationMs, url };
  if (exchange.outcome !== "answered") {
    const error = exchange.outcome === "too_many_redirects" ? "http_error" : exchange.outcome;
    return { ...sent, status: null, body: null, isTruncated: false, error, retryAfter: null };
  }
  const { status, headers, body, isTruncated } = exchange;
  const isSuccess = status >= 200 && status < 300;
  return {
    ...sent,
    status,
    body: textOf(body, isTruncated),
    isTruncated,
    error: isSuccess ? null : "http_error",
    retryAfter: headers.get("Retry-After"),
  };
}

/** Whatever the bytes are, text comes of them. A character that the cut has torn is left out. */
function textOf(body: Uint8Array, isTruncated: boolean): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(body, { stream: isTruncated });
}
