import type { PageCounts, PageRow } from "./page-store.ts";

/** What is to be read: all of a site, or one page of it. */
export interface CrawlSource {
  id: string;
  type: "website" | "url";
  url: string;
  maxPages: number;
}

/** A page that the caller is to fetch. */
export type PageToFetch = Pick<PageRow, "id" | "url" | "kind" | "etag" | "lastModified">;

/** What came of fetching a page. */
export type PageResult = { id: number } & (
  | { outcome: "robots"; text: string }
  | { outcome: "sitemap"; urls: string[]; sitemaps: string[] }
  | ({ outcome: "page" } & ReadPage)
  | { outcome: "not_modified" }
  | { outcome: "redirect"; to: string }
  | { outcome: "skipped"; reason: string }
  | { outcome: "failed"; reason: string; isTransient: boolean; retryAfterSeconds: number | null }
);

export interface ReadPage {
  title: string;
  text: string;
  /** Of title and text, and of how they were made. */
  hash: string;
  /** Fingerprints of the blocks that may be the site's rather than the page's. */
  blocks: string[];
  links: string[];
  canonicalUrl: string | null;
  noindex: boolean;
  etag: string | null;
  lastModified: string | null;
}

/** How far a crawl has come, and what the caller is to do next. */
export type CrawlProgress = { counts: PageCounts } & (
  | { done: false; fetch: PageToFetch[]; pauseMs: number; waitMs: number }
  | { done: true; outcome: "ready"; chunksCount: number }
  | { done: true; outcome: "failed"; code: "robots_unreachable" | "nothing_read"; message: string }
);
