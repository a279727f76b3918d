import { PIPELINE_VERSION } from "../indexing/ingest.ts";
import { START_DEPTH } from "./frontier.ts";
import { LASTING_REASONS, OVER_LIMIT } from "./page-results.ts";
import { ENDLESS, type PageRow, VARIANT } from "./page-store.ts";
import { LONG_WAIT_MS, PAGE_TIMEOUT_MS, type PageToFetch } from "./protocol.ts";
import type { CrawlFailure, StepContext } from "./site-crawl.ts";

/** Pages of one fetch batch: an RPC for each page would cost more than fetching it. */
const BATCH_SIZE = 8;
/** Pages that one step drops as endless, which takes a few milliseconds. */
const DROPPED_PER_STEP = 200;
/** After so many failures in a row the site counts as down, and the rest is not fetched. */
const MAX_FAILURES_IN_A_ROW = 12;
/** A page that was leased this often without a result fails, because it may be the page that crashes the fetcher. */
const MAX_LEASES = 4;
/** The most redirects of one fetch of robots.txt, a sitemap or a single page. For the pages of a site, a redirect is a result. */
const MAX_REDIRECTS = 10;

const ROBOTS_UNREACHABLE =
  "Check that the site answers at that address, then sync again; until its robots.txt answers, nothing of a site may be read.";
const NOTHING_READ = "Check the url, and that the site lets robots read it, then sync again. What was read before stays in use.";
const KNOWLEDGE_LIMIT =
  "The agent has as much knowledge as the plan includes, so that no page could be added. Delete sources or ask for a larger plan, then sync again.";

/** The waiting pages of a crawl, in the order of fetching. */
export class FetchQueue {
  constructor(
    private readonly context: StepContext,
    /** The pause between two requests to the site. */
    private readonly pauseMs: number,
  ) {}

  /**
   * Returns the pages to fetch, or how long to wait; undefined when nothing is left or the page limit is reached.
   * @param isLast whether the fetcher stops now, so that nothing is leased to it.
   */
  next(isLast: boolean): { fetch: PageToFetch[]; waitMs: number } | undefined {
    const { store, nowMs, host } = this.context;
    const { pages, source } = store;
    this.stopIfUnavailable();
    // Once a page found no room, only pages in use are read, since they may have changed.
    if (pages.hasReason(OVER_LIMIT)) pages.skipNew(OVER_LIMIT);
    if (this.dropEndless()) return { fetch: [], waitMs: 0 };
    const first = pages.findFirstWaiting();
    const left = source.maxPages - pages.countPages().indexed;
    if (!first || left <= 0 || (first.kind !== "robots" && this.needsRobots)) return undefined;
    // The rules and the site's final origin are needed before anything else is fetched. A page that was leased before is fetched
    // alone, since it may be what ended the fetcher.
    const isSingle = first.kind === "robots" || (first.kind === "page" && first.depth === START_DEPTH) || first.leases > 0;
    const limit = this.pauseMs > LONG_WAIT_MS ? 1 : Math.min(BATCH_SIZE, left);
    const due = isSingle ? [first].filter((page) => page.notBeforeMs <= nowMs) : pages.listDue(nowMs, limit);
    const dueAtMs = due.length > 0 ? 0 : isSingle ? first.notBeforeMs : pages.nextDueAtMs();
    const waitMs = Math.max(0, Math.max(dueAtMs, store.nextFetchAtMs(host)) - nowMs);
    if (due.length === 0 || waitMs > LONG_WAIT_MS || isLast) return { fetch: [], waitMs };
    return { fetch: this.lease(due, waitMs), waitMs };
  }

  /** Skips the pages that still wait. Returns why the crawl failed, if it did. */
  close(): { failure?: CrawlFailure } {
    const { pages } = this.context.store;
    if (this.needsRobots) {
      const message = `The site's robots.txt could not be read${inParentheses(pages.findFirstReason("robots"))}. ${ROBOTS_UNREACHABLE}`;
      return { failure: { code: "robots_unreachable", message } };
    }
    pages.skipWaiting("max_pages");
    if (pages.countPages().indexed === 0) {
      if (pages.hasReason(OVER_LIMIT)) return { failure: { code: "knowledge_limit", message: KNOWLEDGE_LIMIT } };
      const message = `No page could be read${inParentheses(pages.findFirstReason("page"))}. ${NOTHING_READ}`;
      return { failure: { code: "nothing_read", message } };
    }
    if (pages.hasFailedSitemap()) pages.keepUncrawled("sitemap_unreachable");
    return {};
  }

  private get needsRobots(): boolean {
    const { store, crawl } = this.context;
    return store.source.type === "website" && crawl.robots === null;
  }

  /** Ends a crawl whose site stopped responding; pages that were in use stay in use. */
  private stopIfUnavailable(): void {
    const { store, crawl } = this.context;
    if (crawl.failuresInARow < MAX_FAILURES_IN_A_ROW) return;
    store.pages.failWaiting("site_unavailable");
    store.pages.keepUncrawled("site_unavailable");
  }

  /**
   * Drops those of the next pages that turned out to be endless.
   * @returns whether there were any; then there may be more.
   */
  private dropEndless(): boolean {
    const { store, traps, nowMs } = this.context;
    const endlessAmong = (limit: number): PageRow[] => {
      const variants = store.pages.listDue(nowMs, limit).filter(({ reason }) => reason === VARIANT);
      const areEndless = variants.length === 0 ? [] : traps.areEndless(variants.map(({ url }) => url));
      return variants.filter((_, at) => areEndless[at]);
    };
    if (endlessAmong(BATCH_SIZE).length === 0) return false;
    for (const { id } of endlessAmong(DROPPED_PER_STEP)) store.pages.update(id, { state: "alias", reason: ENDLESS });
    return true;
  }

  private lease(due: PageRow[], waitMs: number): PageToFetch[] {
    const { store, host, nowMs } = this.context;
    for (const { id, leases } of due) if (leases >= MAX_LEASES) store.pages.update(id, { state: "failed", reason: "not_readable" });
    const batch = due.filter((page) => page.leases < MAX_LEASES);
    store.pages.lease(batch.map(({ id }) => id));
    // If the fetcher is interrupted, other crawls of this host continue when its lease expires.
    store.leaseHost(host, nowMs + waitMs + batch.length * (this.pauseMs + PAGE_TIMEOUT_MS));
    return batch.map((page) => {
      const { id, url, kind } = page;
      const validators = canRevalidate(page) ? { etag: page.etag, lastModified: page.lastModified } : { etag: null, lastModified: null };
      return { id, url, kind, ...validators, maxRedirects: kind === "page" && store.source.type === "website" ? 0 : MAX_REDIRECTS };
    });
  }
}

/** Whether a conditional request may be sent: the text that was read last time is in use, or its reason for being skipped holds. */
function canRevalidate({ documentId, hash, lastReason }: PageRow): boolean {
  if (!hash?.startsWith(`${PIPELINE_VERSION}:`)) return false;
  return documentId !== null || (lastReason !== null && LASTING_REASONS.has(lastReason));
}

function inParentheses(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}
