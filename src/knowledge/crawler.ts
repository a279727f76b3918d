import { guardedFetch, type Exchange } from "../egress/guarded-fetch.ts";
import { CRAWLER_POLICY } from "../egress/url-rules.ts";
import { sha256Hex } from "../sha256.ts";
import { directivesOfHeader } from "./crawl/directives.ts";
import { BOT_TOKEN, MAX_ROBOTS_BYTES, readRobots } from "./crawl/robots.ts";
import { readSitemap } from "./crawl/sitemap.ts";
import type { PageResult, PageToFetch } from "./crawl-protocol.ts";
import { extract } from "./extract/extract.ts";
import { blockFingerprints } from "./extract/furniture.ts";
import type { ExtractedPage } from "./extract/response.ts";
import { PIPELINE_VERSION } from "./ingest.ts";

/** What sites' logs and rules know us by. */
const USER_AGENT = `Mozilla/5.0 (compatible; ${BOT_TOKEN}/1.0)`;
const PAGE_TIMEOUT_MS = 20_000;
const MAX_BYTES = { robots: MAX_ROBOTS_BYTES, sitemap: 10 * 1024 * 1024, page: 10 * 1024 * 1024 };
/** A page's text beyond this is a data dump; its beginning says what it is. */
const MAX_TEXT_LENGTH = 1_000_000;
const MAX_TITLE_LENGTH = 300;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.1";

/** Fetches one page through the guard and reads it. Whatever the site does, it is a result. */
export async function fetchPage(env: Env, page: PageToFetch): Promise<PageResult> {
  const exchange = await guardedFetch(env, {
    url: page.url,
    policy: CRAWLER_POLICY,
    method: "GET",
    userAgent: USER_AGENT,
    headers: {
      accept: ACCEPT,
      ...(page.etag && { "if-none-match": page.etag }),
      ...(page.lastModified && { "if-modified-since": page.lastModified }),
    },
    timeoutMs: PAGE_TIMEOUT_MS,
    maxResponseBytes: MAX_BYTES[page.kind],
  });
  return { id: page.id, ...(await resultOf(page, exchange)) };
}

type Result = PageResult extends infer Each ? (Each extends PageResult ? Omit<Each, "id"> : never) : never;

async function resultOf(page: PageToFetch, exchange: Exchange): Promise<Result> {
  if (exchange.outcome !== "answered") {
    const isTransient = exchange.outcome === "timeout" || exchange.outcome === "connection_failed";
    return { outcome: "failed", reason: exchange.outcome, isTransient, retryAfterSeconds: null };
  }
  const { status, headers } = exchange;
  const location = headers.get("location");
  if (REDIRECTS.has(status) && location !== null) {
    return URL.canParse(location, page.url) ? { outcome: "redirect", to: new URL(location, page.url).href } : failed("bad_redirect");
  }
  if (page.kind === "robots") return robotsResult(page, exchange.status, exchange.body);
  if (status === 304) return { outcome: "not_modified" };
  if (status === 429 || status >= 500) {
    return { outcome: "failed", reason: `http_${status}`, isTransient: true, retryAfterSeconds: retryAfterOf(headers) };
  }
  if (status < 200 || status > 299) return failed(`http_${status}`);
  if (page.kind === "sitemap") return sitemapResult(page, exchange.body);
  return pageResult(exchange);
}

function failed(reason: string): Result {
  return { outcome: "failed", reason, isTransient: false, retryAfterSeconds: null };
}

function robotsResult(page: PageToFetch, status: number, bytes: Uint8Array): Result {
  const answer = readRobots(page.url, status, bytes);
  if (answer.kind === "unreachable") return { outcome: "failed", reason: `http_${status}`, isTransient: true, retryAfterSeconds: null };
  return { outcome: "robots", text: answer.text };
}

async function sitemapResult(page: PageToFetch, bytes: Uint8Array): Promise<Result> {
  const { urls, sitemaps } = await readSitemap(page.url, bytes);
  return { outcome: "sitemap", urls, sitemaps };
}

async function pageResult({ url, headers, body, isTruncated }: Exchange & { outcome: "answered" }): Promise<Result> {
  if (isTruncated) return { outcome: "skipped", reason: "too_large" };
  const read = await extract({ url, headers, bytes: body });
  if (read.kind === "skipped") return { outcome: "skipped", reason: read.reason };
  return toResult(read, headers);
}

async function toResult(read: ExtractedPage, headers: Headers): Promise<Result> {
  const directives = directivesOfHeader(headers.get("x-robots-tag"));
  const title = read.title.slice(0, MAX_TITLE_LENGTH);
  const text = read.text.slice(0, MAX_TEXT_LENGTH);
  const follows = !read.nofollow && !directives.nofollow;
  return {
    outcome: "page",
    title,
    text,
    hash: await sha256Hex(`${PIPELINE_VERSION}\n${title}\n${text}`),
    blocks: blockFingerprints(text),
    links: follows ? read.links.flatMap(({ url, nofollow }) => (nofollow ? [] : url)) : [],
    canonicalUrl: read.canonicalUrl,
    noindex: read.noindex || directives.noindex,
    etag: headers.get("etag"),
    lastModified: headers.get("last-modified"),
  };
}

/** Seconds that a site asks us to wait: a number, or a date from now. */
function retryAfterOf(headers: Headers): number | null {
  const value = headers.get("retry-after");
  if (value === null) return null;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : null;
}
