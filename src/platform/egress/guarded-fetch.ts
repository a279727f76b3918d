import { readAtMost } from "../read-stream.ts";
import { checkTarget } from "./target.ts";
import type { UrlPolicy } from "./url-rules.ts";

/** The statuses whose Location is followed. */
export const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/** The headers that a redirect to another origin keeps: no credentials and no signature. */
const CROSS_ORIGIN_HEADERS = new Set(["accept", "accept-language", "user-agent", "if-none-match", "if-modified-since"]);

/** A request to a host that a customer or a page named. */
export interface OutgoingRequest {
  url: string;
  /** WEBHOOK_POLICY or CRAWLER_POLICY. */
  policy: UrlPolicy;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  userAgent: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** The time limit of everything together: DNS lookup, connection, headers, body and all redirects. */
  timeoutMs: number;
  /** How much of the response body is read, decompressed. */
  maxResponseBytes: number;
  /** How many redirects are followed, each checked like the first URL; 0 by default. For GET only. */
  maxRedirects?: number;
}

/** The response to a request, of any status, or why there is none. */
export type Exchange = Answered | Unanswered;

interface Answered {
  outcome: "answered";
  status: number;
  headers: Headers;
  /** At most `maxResponseBytes`, decompressed. */
  body: Uint8Array;
  /** Whether the body was longer. */
  isTruncated: boolean;
  /** The URL that responded, after redirects. */
  url: string;
  durationMs: number;
}

interface Unanswered {
  /**
   * `blocked_url`: a rule forbids the URL, or one it redirected to. `connection_failed`: for example, the host name cannot be
   * resolved. A retry may succeed.
   */
  outcome: "blocked_url" | "connection_failed" | "timeout" | "too_many_redirects";
  /** A clause about the URL for a message and the log: "its host is an IP address". */
  reason: string;
  /** The URL that failed, after redirects. */
  url: string;
  durationMs: number;
}

type End = Omit<Answered, "url" | "durationMs"> | Omit<Unanswered, "url" | "durationMs">;

/**
 * Sends a request to a public host: its URL is checked by its text and by the host's addresses, and so is every redirect.
 * @throws TypeError when the caller's own headers or body cannot be sent; never for what the other side does.
 */
export async function guardedFetch(env: Env, request: OutgoingRequest): Promise<Exchange> {
  const startedMs = Date.now();
  const urls = [request.url];
  const end = await follow(env, request, urls, AbortSignal.timeout(request.timeoutMs));
  return { ...end, url: urls.at(-1)!, durationMs: Date.now() - startedMs };
}

/** Requests the last of these URLs, and adds those to which it redirects. */
async function follow(env: Env, request: OutgoingRequest, urls: string[], deadline: AbortSignal): Promise<End> {
  let headers = new Headers(request.headers);
  headers.set("User-Agent", request.userAgent);
  for (;;) {
    const url = urls.at(-1)!;
    const blocked = await checkUrl(env, url, request.policy, deadline);
    if (blocked) return blocked;
    const end = await send(new Request(url, initOf(request, headers)), request, deadline);
    if ("outcome" in end) return end;
    const { redirectsTo } = end;
    if (urls.includes(redirectsTo)) return { outcome: "too_many_redirects", reason: "it redirects in a circle" };
    if (urls.length > (request.maxRedirects ?? 0)) return { outcome: "too_many_redirects", reason: "it redirects too often" };
    if (new URL(redirectsTo).origin !== new URL(url).origin) headers = crossOriginHeaders(headers);
    urls.push(redirectsTo);
  }
}

async function checkUrl(env: Env, url: string, policy: UrlPolicy, deadline: AbortSignal): Promise<End | undefined> {
  const target = await checkTarget(env, url, policy, deadline);
  if (target.verdict === "blocked") return { outcome: "blocked_url", reason: target.reason };
  if (deadline.aborted) return timedOut();
  return target.verdict === "allowed" ? undefined : { outcome: "connection_failed", reason: target.reason };
}

/** Requests one URL. @returns its response, why there is none, or the URL of a redirect that is to be followed. */
async function send(outgoing: Request, request: OutgoingRequest, deadline: AbortSignal): Promise<End | { redirectsTo: string }> {
  try {
    const response = await fetch(outgoing, { signal: deadline });
    const redirectsTo = followsRedirects(request) ? redirectTarget(response, outgoing.url) : undefined;
    if (redirectsTo !== undefined) {
      await response.body?.cancel();
      return { redirectsTo };
    }
    const read = await readAtMost(response.body, request.maxResponseBytes);
    return { outcome: "answered", status: response.status, headers: response.headers, ...read };
  } catch {
    // The runtime's message may hold the URL, so it is not repeated.
    return deadline.aborted ? timedOut() : { outcome: "connection_failed", reason: "the connection could not be made, or broke off" };
  }
}

function initOf({ method, body }: OutgoingRequest, headers: Headers): RequestInit {
  // A response of one tenant's host, or with one visitor's data, is never kept for another request.
  return { method, headers, redirect: "manual", cache: "no-store", ...(body !== undefined && { body }) };
}

function followsRedirects({ method, body, maxRedirects = 0 }: OutgoingRequest): boolean {
  return maxRedirects > 0 && method === "GET" && body === undefined;
}

function redirectTarget({ status, headers }: Response, base: string): string | undefined {
  const location = headers.get("Location");
  if (!REDIRECT_STATUSES.has(status) || location === null || !URL.canParse(location, base)) return undefined;
  return new URL(location, base).href;
}

function crossOriginHeaders(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => CROSS_ORIGIN_HEADERS.has(name)));
}

function timedOut(): End {
  return { outcome: "timeout", reason: "it did not answer completely in time" };
}
