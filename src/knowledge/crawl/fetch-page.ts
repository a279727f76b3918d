import { allowsPrivateTargets } from "../../platform/config.ts";
import { sha256Hex } from "../../platform/crypto/hashes.ts";
import { type Exchange, guardedFetch, REDIRECT_STATUSES } from "../../platform/egress/guarded-fetch.ts";
import { CRAWLER_POLICY, urlProblem } from "../../platform/egress/url-rules.ts";
import { truncate, truncateBytes } from "../../platform/text.ts";
import { retryAfterMs } from "../../platform/time.ts";
import { blockFingerprints } from "../extract/boilerplate.ts";
import { extract } from "../extract/extract.ts";
import { BOT_TOKEN, directivesOfHeader } from "../extract/robots-directives.ts";
import type { ExtractedPage } from "../extract/response.ts";
import { cleanText } from "../indexing/chunk.ts";
import { PIPELINE_VERSION } from "../indexing/ingest.ts";
import { type FetchFailure, type FetchResult, PAGE_TIMEOUT_MS, type PageResult, type PageToFetch } from "./protocol.ts";
import { MAX_ROBOTS_BYTES, robotsTextOf } from "./robots.ts";
import { sitemapEntries } from "./sitemap.ts";
import { textSketchOf } from "./sketch.ts";
import { isOfSite, normalisedUrl } from "./urls.ts";

/** The name of the crawler in the logs of sites. */
const USER_AGENT = `Mozilla/5.0 (compatible; ${BOT_TOKEN}/1.0)`;
const ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.1";
const MIB = 1024 * 1024;
/** The limits are low because an isolate holds several responses at once. */
const MAX_BYTES = { robots: MAX_ROBOTS_BYTES, sitemap: 10 * MIB, page: 10 * MIB };
/** The most UTF-8 of a page's text, since a row holds at most 2 MB. */
const MAX_TEXT_BYTES = 1_500_000;
const MAX_TITLE_CHARS = 300;
/** The agent's index stores so many URLs in about 50 ms. */
const URLS_PER_PART = 2_000;
/** The wait after a 429 without a Retry-After header. */
const DEFAULT_RETRY_AFTER_SECONDS = 10;
/** A validator is sent back unchanged, so only short ones in plain ASCII are kept. */
const VALIDATOR = /^[\x20-\x7e]{1,300}$/;

type Answered = Extract<Exchange, { outcome: "answered" }>;

/** Fetches one page through the egress guard and reads it. Failures of the site are results. A sitemap has several results. */
export async function* fetchPage(env: Env, page: PageToFetch): AsyncGenerator<PageResult> {
  for await (const result of results(env, page)) yield { id: page.id, ...result };
}

async function* results(env: Env, page: PageToFetch): AsyncGenerator<FetchResult> {
  const exchange = await guardedFetch(env, {
    url: page.url,
    policy: CRAWLER_POLICY,
    method: "GET",
    userAgent: USER_AGENT,
    headers: {
      accept: ACCEPT,
      ...(page.etag !== null && { "if-none-match": page.etag }),
      ...(page.lastModified !== null && { "if-modified-since": page.lastModified }),
    },
    timeoutMs: PAGE_TIMEOUT_MS,
    maxResponseBytes: MAX_BYTES[page.kind],
    maxRedirects: page.maxRedirects,
  });
  if (exchange.outcome !== "answered") {
    if (page.kind === "robots" && exchange.outcome === "too_many_redirects") yield { outcome: "robots", text: "" };
    else yield failed(exchange.outcome, exchange.outcome === "timeout" || exchange.outcome === "connection_failed");
  } else if (page.kind === "robots") yield robotsResult(exchange);
  else if (page.kind === "sitemap" && isSuccess(exchange)) yield* sitemapParts(page, exchange);
  else yield await pageResult(env, page, exchange);
}

function failed(reason: string, isTransient = false, retryAfterSeconds: number | null = null): FetchFailure {
  return { outcome: "failed", reason, isTransient, retryAfterSeconds };
}

function isSuccess({ status }: Answered): boolean {
  return status >= 200 && status <= 299;
}

function robotsResult({ status, headers, body }: Answered): FetchResult {
  const text = robotsTextOf(status, body);
  return text === undefined ? failed(`http_${status}`, true, retryAfterOf(status, headers)) : { outcome: "robots", text };
}

async function* sitemapParts(page: PageToFetch, { body }: Answered): AsyncGenerator<FetchResult> {
  const { origin } = new URL(page.url);
  let urls: string[] = [];
  let sitemaps: string[] = [];
  for await (const entry of sitemapEntries(new Response(body).body!, page.url)) {
    const url = normalisedUrl(entry.url);
    if (url === null || !isOfSite(url, origin)) continue;
    (entry.kind === "page" ? urls : sitemaps).push(url);
    if (urls.length + sitemaps.length < URLS_PER_PART) continue;
    yield { outcome: "sitemap", urls, sitemaps, isLast: false };
    [urls, sitemaps] = [[], []];
  }
  yield { outcome: "sitemap", urls, sitemaps, isLast: true };
}

async function pageResult(env: Env, page: PageToFetch, exchange: Answered): Promise<FetchResult> {
  const { status, headers, body, isTruncated, url } = exchange;
  const location = headers.get("location");
  if (REDIRECT_STATUSES.has(status) && location !== null) return redirectResult(env, location, url);
  if (status === 304) return { outcome: "not_modified", noindex: directivesOfHeader(headers.get("x-robots-tag")).noindex };
  if (status === 429 || status >= 500) return failed(`http_${status}`, true, retryAfterOf(status, headers));
  if (!isSuccess(exchange)) return failed(`http_${status}`);
  if (isTruncated) return failed("too_large");
  const read = await extract({ url, headers, bytes: body });
  return read.kind === "skipped" ? { outcome: "skipped", reason: read.reason } : contentResult(page, read, headers);
}

function redirectResult(env: Env, location: string, base: string): FetchResult {
  if (!URL.canParse(location, base)) return failed("bad_redirect");
  const to = new URL(location, base).href;
  return urlProblem(to, CRAWLER_POLICY, allowsPrivateTargets(env)) === undefined ? { outcome: "redirect", to } : failed("blocked_url");
}

async function contentResult(page: PageToFetch, read: ExtractedPage, headers: Headers): Promise<FetchResult> {
  const title = truncate(read.title, MAX_TITLE_CHARS);
  const text = truncateBytes(cleanText(read.text), MAX_TEXT_BYTES);
  // The parser reached its limits before any text.
  if (read.truncated && text.trim() === "") return failed("too_complex");
  return {
    outcome: "page",
    title,
    text,
    hash: `${PIPELINE_VERSION}:${await sha256Hex(`${title}\n${text}`)}`,
    blocks: blockFingerprints(text),
    sketch: textSketchOf(page.url, text),
    links: linksOf(page, read),
    canonicalUrl: read.canonicalUrl,
    noindex: read.noindex,
    etag: validator(headers.get("etag")),
    lastModified: validator(headers.get("last-modified")),
  };
}

/** The page's links within the site, normalised. */
function linksOf(page: PageToFetch, { nofollow, links }: ExtractedPage): string[] {
  if (nofollow) return [];
  const { origin } = new URL(page.url);
  const followed = links.flatMap((link) => (link.nofollow ? [] : (normalisedUrl(link.url) ?? [])));
  return [...new Set(followed)].filter((url) => isOfSite(url, origin));
}

function validator(value: string | null): string | null {
  return value !== null && VALIDATOR.test(value) ? value : null;
}

/** The seconds of a Retry-After header, which holds a number or a date. */
function retryAfterOf(status: number, headers: Headers): number | null {
  const seconds = Math.ceil((retryAfterMs(headers.get("retry-after"), Date.now()) ?? 0) / 1000);
  if (seconds > 0) return seconds;
  return status === 429 ? DEFAULT_RETRY_AFTER_SECONDS : null;
}
