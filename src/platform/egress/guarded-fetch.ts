import { readAtMost } from "./read-body.ts";
import { checkTarget } from "./target.ts";
import type { UrlPolicy } from "./url-rules.ts";

/** The statuses whose Location is followed. */
export const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/** What another origin may see of a request that was not meant for it: no credentials, no signature, nothing unforeseen. */
const HARMLESS_HEADERS = new Set(["accept", "accept-language", "user-agent", "if-none-match", "if-modified-since"]);

/** A request to a host that somebody else named. */
export interface OutgoingRequest {
  url: string;
  /** What of the URL is allowed: WEBHOOK_POLICY or CRAWLER_POLICY. */
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

interface Answered {
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

interface Unanswered {
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

/** The way that an exchange took: what `Exchange` says of it. */
type Trail = Pick<Answered, "url" | "redirectedFrom">;
type End = Omit<Answered, keyof Trail | "durationMs"> | Omit<Unanswered, keyof Trail | "durationMs">;

/**
 * Makes a request through the guard: its URL is judged by its text and by its host's addresses, and so is every redirect.
 * @throws TypeError when the caller's own headers or body cannot be sent; never for what the other side does.
 */
export async function guardedFetch(env: Env, request: OutgoingRequest): Promise<Exchange> {
  const startedMs = Date.now();
  const trail: Trail = { url: request.url, redirectedFrom: [] };
  const end = await follow(env, request, trail, AbortSignal.timeout(request.timeoutMs));
  return { ...end, ...trail, durationMs: Date.now() - startedMs };
}

async function follow(env: Env, request: OutgoingRequest, trail: Trail, deadline: AbortSignal): Promise<End> {
  let headers = new Headers(request.headers);
  headers.set("User-Agent", request.userAgent);
  for (;;) {
    const refusal = await refusalOf(env, trail.url, request.policy, deadline);
    if (refusal) return refusal;
    const end = await ask(new Request(trail.url, initOf(request, headers)), request, deadline);
    if ("outcome" in end) return end;
    const { redirectsTo } = end;
    const seen = [...trail.redirectedFrom, trail.url];
    if (seen.includes(redirectsTo)) return { outcome: "too_many_redirects", reason: "it redirects in a circle" };
    if (seen.length > (request.maxRedirects ?? 0)) return { outcome: "too_many_redirects", reason: "it redirects too often" };
    if (new URL(redirectsTo).origin !== new URL(trail.url).origin) headers = harmlessOf(headers);
    trail.redirectedFrom.push(trail.url);
    trail.url = redirectsTo;
  }
}

async function refusalOf(env: Env, url: string, policy: UrlPolicy, deadline: AbortSignal): Promise<End | undefined> {
  const judged = await checkTarget(env, url, policy, deadline);
  if (judged.verdict === "blocked") return { outcome: "blocked_url", reason: judged.reason };
  if (deadline.aborted) return timedOut();
  return judged.verdict === "allowed" ? undefined : { outcome: "connection_failed", reason: judged.reason };
}

/** Asks one URL: its answer, why there is none, or where it redirects to if that is to be followed. */
async function ask(asked: Request, request: OutgoingRequest, deadline: AbortSignal): Promise<End | { redirectsTo: string }> {
  try {
    const response = await fetch(asked, { signal: deadline });
    const redirectsTo = isFollowed(request) ? targetOf(response, asked.url) : undefined;
    if (redirectsTo !== undefined) {
      await response.body?.cancel();
      return { redirectsTo };
    }
    const read = await readAtMost(response.body, request.maxResponseBytes);
    return { outcome: "answered", status: response.status, headers: response.headers, ...read };
  } catch {
    // The runtime's own words may hold the URL, and they change: they are for nobody.
    return deadline.aborted ? timedOut() : { outcome: "connection_failed", reason: "the connection could not be made, or broke off" };
  }
}

function initOf({ method, body }: OutgoingRequest, headers: Headers): RequestInit {
  return { method, headers, redirect: "manual", ...(body !== undefined && { body }) };
}

function isFollowed({ method, body, maxRedirects = 0 }: OutgoingRequest): boolean {
  return maxRedirects > 0 && (method === "GET" || method === "HEAD") && body === undefined;
}

function targetOf({ status, headers }: Response, base: string): string | undefined {
  const location = headers.get("Location");
  if (!REDIRECT_STATUSES.has(status) || location === null || !URL.canParse(location, base)) return undefined;
  return new URL(location, base).href;
}

function harmlessOf(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => HARMLESS_HEADERS.has(name)));
}

function timedOut(): End {
  return { outcome: "timeout", reason: "it did not answer completely in time" };
}
