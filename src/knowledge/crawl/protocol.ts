import type { TextSketch } from "./sketch.ts";

/** A source to crawl: a whole site, or one page of it. */
export interface CrawlSource {
  id: string;
  type: "website" | "url";
  url: string;
  maxPages: number;
  /** The most text that the agent's sources may have together, in UTF-8. */
  maxBytes: number;
  /** The number of the sync: a step with the same one continues its crawl, a higher one starts another. */
  syncNumber: number;
}

export type PageKind = "robots" | "sitemap" | "page";

/** A page of a fetch batch. */
export interface PageToFetch {
  id: number;
  url: string;
  kind: PageKind;
  etag: string | null;
  lastModified: string | null;
  /** The number of redirects that the fetch follows; the next one is its result. */
  maxRedirects: number;
}

/** The result of fetching a page. */
export type PageResult = { id: number } & FetchResult;

export type FetchResult =
  | { outcome: "robots"; text: string }
  | SitemapPart
  | ({ outcome: "page" } & PageContent)
  | { outcome: "not_modified"; noindex: boolean }
  | { outcome: "redirect"; to: string }
  | { outcome: "skipped"; reason: string }
  | FetchFailure;

/** A part of a sitemap. A long sitemap has several results. */
export interface SitemapPart {
  outcome: "sitemap";
  urls: string[];
  sitemaps: string[];
  isLast: boolean;
}

export interface FetchFailure {
  outcome: "failed";
  reason: string;
  /** Whether a retry may succeed. */
  isTransient: boolean;
  /** The value of the Retry-After header; null without one. */
  retryAfterSeconds: number | null;
}

export interface PageContent {
  title: string;
  text: string;
  /** The hash of title and text, after the version of the pipeline. */
  hash: string;
  /** The fingerprints of blocks that may be boilerplate. */
  blocks: string[];
  sketch: TextSketch;
  /** Normalised URLs. */
  links: string[];
  canonicalUrl: string | null;
  noindex: boolean;
  etag: string | null;
  lastModified: string | null;
}

/** The input of one step of a crawl, from the fetcher. */
export interface CrawlStep {
  results: PageResult[];
  /** Identifiers of the pages of the last batch that were not fetched, for lack of time or memory. */
  unfetched: number[];
  /** Whether this step may start the crawl. A later step must not, since the source may have been removed meanwhile. */
  isFirst: boolean;
  /** Whether the fetcher stops after this step. */
  isLast: boolean;
  /** The least pause between two requests to the site. */
  pauseMs: number;
  nowMs: number;
}

export interface PageCounts {
  found: number;
  indexed: number;
  failed: number;
  skipped: number;
}

/** The outcome of a crawl. After a failed one, `counts.indexed` and `chunksCount` describe the generation that stays in use. */
export type CrawlEnd = { done: true; counts: PageCounts; chunksCount: number } & (
  | { outcome: "ready" }
  | { outcome: "failed"; code: "robots_unreachable" | "nothing_read" | "knowledge_limit"; message: string }
);

/** The end of a crawl, or the next batch, which is fetched after `waitMs` with `pauseMs` between two pages. */
export type CrawlProgress = CrawlEnd | { done: false; counts: PageCounts; fetch: PageToFetch[]; waitMs: number; pauseMs: number };

/** For a longer wait the fetcher stops, and a delayed wake-up continues the crawl. */
export const LONG_WAIT_MS = 3_000;
/** The time limit of one whole request. */
export const PAGE_TIMEOUT_MS = 20_000;
