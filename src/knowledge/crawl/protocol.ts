/** What is to be read: all of a site, or one page of it. */
export interface CrawlSource {
  id: string;
  type: "website" | "url";
  url: string;
  maxPages: number;
  /** Which of its syncs this is: the same again goes on where it was, another begins anew. */
  syncNumber: number;
}

/** What is fetched of a site. */
export type PageKind = "robots" | "sitemap" | "page";

/** A page that the caller is to fetch. */
export interface PageToFetch {
  id: number;
  url: string;
  kind: PageKind;
  etag: string | null;
  lastModified: string | null;
  /** How many redirects belong to the fetch; beyond them a redirect is its result. */
  maxRedirects: number;
}

/** What came of fetching a page. */
export type PageResult = { id: number } & FetchResult;

export type FetchResult =
  | { outcome: "robots"; text: string }
  | SitemapPart
  | ({ outcome: "page" } & PageContent)
  | { outcome: "not_modified" }
  | { outcome: "redirect"; to: string }
  | { outcome: "skipped"; reason: string }
  | FetchFailure;

/** A long sitemap is handed over in parts; it is read when its last one is. */
export interface SitemapPart {
  outcome: "sitemap";
  urls: string[];
  sitemaps: string[];
  isLast: boolean;
}

export interface FetchFailure {
  outcome: "failed";
  reason: string;
  /** Whether it may be otherwise soon. */
  isTransient: boolean;
  /** How long the site wants to be left alone; null where it does not say. */
  retryAfterSeconds: number | null;
}

export interface PageContent {
  title: string;
  text: string;
  /** Of title and text, and of how they were made: it begins with the version of the pipeline. */
  hash: string;
  /** Fingerprints of the blocks that may be the site's rather than the page's. */
  blocks: string[];
  /** Normalised. */
  links: string[];
  canonicalUrl: string | null;
  noindex: boolean;
  etag: string | null;
  lastModified: string | null;
}

/** One step of a crawl, as the caller asks for it. */
export interface CrawlStep {
  results: PageResult[];
  /** Pages that were handed out and not asked for: time or memory had come to their end before them. */
  unfetched: number[];
  /** Whether the crawl may begin with it. A later step of one that was removed meanwhile is answered with nothing. */
  isFirst: boolean;
  /** Whether the caller will fetch nothing more for now. */
  isLast: boolean;
  /** The least pause between two requests to the site. */
  pauseMs: number;
  nowMs: number;
}

/** How many pages of a crawl there are: known, in use, failed and not taken. */
export interface PageCounts {
  found: number;
  indexed: number;
  failed: number;
  skipped: number;
}

/** How a crawl ended. A failed one leaves in use what was; `counts.indexed` and `chunksCount` tell of that then. */
export type CrawlEnd = { done: true; counts: PageCounts; chunksCount: number } & (
  | { outcome: "ready" }
  | { outcome: "failed"; code: "robots_unreachable" | "nothing_read"; message: string }
);

/** How far a crawl has come: its end, or what to fetch after `waitMs`, with `pauseMs` between. */
export type CrawlProgress = CrawlEnd | { done: false; counts: PageCounts; fetch: PageToFetch[]; waitMs: number; pauseMs: number };

/** A longer wait than this is no work: whoever would have to wait comes back later instead. */
export const LONG_WAIT_MS = 3_000;
/** For the whole exchange with a site that answers slowly. */
export const PAGE_TIMEOUT_MS = 20_000;
