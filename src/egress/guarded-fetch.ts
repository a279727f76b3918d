import type { UrlPolicy } from "./url-rules.ts";

/** A request to a host that somebody else named. */
export interface OutgoingRequest {
  url: string;
  /** What of the URL is allowed: WEBHOOK_POLICY, TOOL_POLICY or CRAWLER_POLICY. */
  policy: UrlPolicy;
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  userAgent: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** For the whole exchange: name lookup, connection, headers, body and all redirects. */
  timeoutMs: number;
  /** How much of the answer's body is kept, decompressed; the rest is not read. */
  maxResponseBytes: number;
  /** How many redirects are followed, each checked as the first URL was. 0, the default: a 3xx is the answer. For GET and HEAD only. */
  maxRedirects?: number;
}

/** What came of a request: an answer of whatever status, or why there is none. `reason` is a clause for a message about the URL. */
export type Exchange = Answered | Unanswered;

export interface Answered {
  outcome: "answered";
  status: number;
  headers: Headers;
  /** At most `maxResponseBytes`, as sent, decompressed. */
  body: Uint8Array;
  /** Whether the body was longer than what was kept. */
  isTruncated: boolean;
  /** The URL that answered, after redirects. */
  url: string;
  /** The URLs that redirected, in order, without the one that answered. */
  redirectedFrom: string[];
  durationMs: number;
}

export interface Unanswered {
  /**
   * `blocked_url`: a rule forbids the URL, or one it redirected to. `connection_failed`: also when its name has no
   * address or cannot be asked for; worth another try later. `timeout`, `too_many_redirects`: what they say.
   */
  outcome: "blocked_url" | "connection_failed" | "timeout" | "too_many_redirects";
  /** A clause for a message and the log, in our own words: "its host is an IP address". */
  reason: string;
  /** The URL that failed, after redirects. */
  url: string;
  redirectedFrom: string[];
  durationMs: number;
}

/** Makes a request through the guard. Never throws for what the other side does; never follows a redirect unchecked. */
export async function guardedFetch(env: Env, request: OutgoingRequest): Promise<Exchange> {
  throw new Error(`${env.ENVIRONMENT} ${request.url}`);
}
