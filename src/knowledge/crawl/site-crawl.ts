import type { IndexStore } from "../index-store.ts";
import type { CrawlRow } from "./crawl-store.ts";
import type { CrawlTables } from "./crawl-tables.ts";
import { Frontier, START_DEPTH } from "./frontier.ts";
import { PageIndexing } from "./page-indexing.ts";
import { normalisedUrl, siteOf } from "./page-url.ts";
import type { PageRow, PageState } from "./page-store.ts";
import {
  type CrawlEnd,
  type CrawlProgress,
  type CrawlSource,
  type CrawlStep,
  LONG_WAIT_MS,
  PAGE_TIMEOUT_MS,
  type PageToFetch,
} from "./protocol.ts";
import { type CrawlView, isWorthAsking, MAX_HANDED_OUT, ResultTaker } from "./results.ts";
import { CrawlStores } from "./stores.ts";

/** How many pages are handed out at once: a hop for each would cost more than fetching it. */
const PAGES_PER_STEP = 8;
/** A site that fails so often in a row is down, and not asked for the rest. */
const MAX_FAILURES_IN_A_ROW = 12;
/** As browsers follow them. robots.txt and maps may lie anywhere, and so may a page that somebody named. */
const MAX_REDIRECTS = 10;

const ROBOTS_UNREACHABLE =
  "Check that the site answers at that address, then sync again; until its robots.txt answers, nothing of a site may be read.";
const NOTHING_READ = "Check the url, and that the site lets robots read it, then sync again. What was read before stays in use.";

type Failure = Pick<Extract<CrawlEnd, { outcome: "failed" }>, "code" | "message">;

/** Crawls sites and indexes their pages, in bounded steps that the caller asks for. All state is in storage. */
export class SiteCrawl {
  private readonly stores: CrawlStores;
  private readonly results: ResultTaker;
  private readonly indexing: PageIndexing;

  constructor(index: IndexStore) {
    this.stores = new CrawlStores(index);
    this.results = new ResultTaker(this.stores);
    this.indexing = new PageIndexing(this.stores);
  }

  /** Where crawls are kept. */
  get tables(): CrawlTables {
    return this.stores.tables;
  }

  /** Takes what was fetched and says what is next; undefined when the source was removed. The same step twice does no harm. */
  step(source: CrawlSource, step: CrawlStep): CrawlProgress | undefined {
    const known = this.stores.crawls.find(source.id);
    const isKnown = known?.syncNumber === source.syncNumber;
    if (!isKnown && (!step.isFirst || (known && known.syncNumber > source.syncNumber))) return undefined;
    if (isKnown && known.phase === "done") return this.stores.crawls.readEnd(source.id);
    return this.stores.tables.write(() => this.proceed(source, isKnown ? known : this.begin(source), step));
  }

  /** The pages of a source in some states (null: in all), in the order in which they were found. */
  list(sourceId: string, states: readonly PageState[] | null, page: { limit: number; offset: number }) {
    return this.stores.settled.list(sourceId, states, page);
  }

  remove(sourceId: string): void {
    this.stores.removeSource(sourceId);
  }

  forgetAll(): void {
    this.stores.tables.forget();
  }

  private begin(source: CrawlSource): CrawlRow {
    const { index, crawls, pages, texts } = this.stores;
    const building = index.findGeneration(source.id, "building");
    if (building) index.deleteGeneration(building);
    texts.dropAll(source.id);
    pages.prepare(source.id);
    const start = normalisedUrl(source.url) ?? source.url;
    const crawl = crawls.begin(source.id, source.syncNumber, siteOf(start).origin);
    new Frontier(this.stores, source, crawl).addRoots(start);
    return crawl;
  }

  private proceed(source: CrawlSource, crawl: CrawlRow, { results, unasked, isLast, pauseMs, nowMs }: CrawlStep): CrawlProgress {
    if (crawl.phase === "crawling") {
      const view = { source, crawl, frontier: new Frontier(this.stores, source, crawl), host: hostOf(crawl), nowMs };
      for (const result of results) this.results.take(view, result);
      if (unasked.length > 0) this.stores.pages.takeBack(source.id, unasked);
      const pause = Math.max(pauseMs, view.frontier.delayInSeconds * 1000);
      this.leaveHost(view, results.length > 0 ? pause : 0);
      this.breakOff(view);
      const next = this.nextPages(view, pause, isLast);
      this.stores.crawls.save(crawl);
      if (next) return { done: false, ...next, pauseMs: pause, counts: this.countsOf(source) };
      const failure = this.closeFrontier(view);
      if (failure) return this.fail(source, failure);
      crawl.phase = "indexing";
      this.stores.crawls.save(crawl);
    }
    if (this.indexing.step(source)) return { done: false, fetch: [], waitMs: 0, pauseMs: 0, counts: this.countsOf(source) };
    this.indexing.switchLive(source);
    this.stores.crawls.dropHosts(nowMs);
    return this.end(source, {
      done: true,
      outcome: "ready",
      counts: this.countsOf(source),
      chunksCount: this.stores.index.countLive(source.id).chunks,
    });
  }

  private leaveHost({ source, host, nowMs }: CrawlView, pauseMs: number): void {
    this.stores.crawls.releaseHost(host, source.id);
    if (pauseMs > 0) this.stores.crawls.restHost(host, nowMs + pauseMs);
  }

  /** Gives the site up for now when it answers nothing any more: what was in use of it stays. */
  private breakOff({ source, crawl }: CrawlView): void {
    if (crawl.failuresInARow < MAX_FAILURES_IN_A_ROW) return;
    this.stores.pages.failWaiting(source.id, "site_unavailable");
    this.stores.settled.keepUnfound(source.id, source.syncNumber, "site_unavailable");
  }

  // --- What is next ---

  /** What to fetch, or how long to wait; undefined when the crawl has all that it wants or all that there is. */
  private nextPages(view: CrawlView, pauseMs: number, isLast: boolean): { fetch: PageToFetch[]; waitMs: number } | undefined {
    const { source, nowMs } = view;
    const first = this.stores.pages.findFirstWaiting(source.id);
    const left = source.maxPages - this.countsOf(source).indexed;
    if (!first || left <= 0 || (first.kind !== "robots" && isWithoutRules(view))) return undefined;
    // What robots may read, and where the site is, is known before anything else is asked for.
    const isAlone = first.kind === "robots" || (first.kind === "page" && first.depth === START_DEPTH) || first.handedOut > 0;
    const limit = pauseMs > LONG_WAIT_MS ? 1 : Math.min(PAGES_PER_STEP, left);
    const due = isAlone ? [first].filter((page) => page.notBeforeMs <= nowMs) : this.stores.pages.listDue(source.id, nowMs, limit);
    const dueAtMs = due.length > 0 ? 0 : isAlone ? first.notBeforeMs : this.stores.pages.nextDueAtMs(source.id);
    const waitMs = Math.max(0, Math.max(dueAtMs, this.stores.crawls.nextFetchAtMs(view.host, source.id)) - nowMs);
    if (due.length === 0 || waitMs > LONG_WAIT_MS || isLast) return { fetch: [], waitMs };
    return { fetch: this.handOut(view, due, waitMs, pauseMs), waitMs };
  }

  private handOut({ source, host, nowMs }: CrawlView, due: PageRow[], waitMs: number, pauseMs: number): PageToFetch[] {
    const lost = due.filter((page) => page.handedOut >= MAX_HANDED_OUT);
    for (const page of lost) this.results.giveUp(page);
    const handed = due.filter((page) => !lost.includes(page));
    this.stores.pages.noteHandedOut(handed.map(({ id }) => id));
    // Should the caller die, other crawls of the host go on after that.
    this.stores.crawls.holdHost(host, source.id, nowMs + waitMs + handed.length * (pauseMs + PAGE_TIMEOUT_MS));
    return handed.map((page) => {
      const { id, url, kind } = page;
      const validators = isWorthAsking(page) ? { etag: page.etag, lastModified: page.lastModified } : { etag: null, lastModified: null };
      return { id, url, kind, ...validators, maxRedirects: kind === "page" && source.type === "website" ? 0 : MAX_REDIRECTS };
    });
  }

  // --- The end ---

  /** Nothing more is fetched: what waits is skipped, and what could not be looked for stays. */
  private closeFrontier(view: CrawlView): Failure | undefined {
    const { id, syncNumber } = view.source;
    const { pages, settled } = this.stores;
    if (isWithoutRules(view)) {
      const reason = pages.findFirstReason(id, syncNumber, "robots");
      return { code: "robots_unreachable", message: `The site's robots.txt could not be read${because(reason)}. ${ROBOTS_UNREACHABLE}` };
    }
    pages.skipWaiting(id, "max_pages");
    if (this.countsOf(view.source).indexed === 0) {
      const reason = pages.findFirstReason(id, syncNumber, "page");
      return { code: "nothing_read", message: `No page could be read${because(reason)}. ${NOTHING_READ}` };
    }
    if (settled.hasBrokenMap(id, syncNumber)) settled.keepUnfound(id, syncNumber, "sitemap_unreachable");
    return undefined;
  }

  private fail(source: CrawlSource, failure: Failure): CrawlEnd {
    const live = this.stores.index.countLive(source.id);
    const counts = { ...this.countsOf(source), indexed: live.pages };
    return this.end(source, { done: true, outcome: "failed", ...failure, counts, chunksCount: live.chunks });
  }

  private end(source: CrawlSource, end: CrawlEnd): CrawlEnd {
    this.stores.crawls.finish(source.id, end);
    return end;
  }

  private countsOf({ id, syncNumber }: CrawlSource) {
    return this.stores.pages.countPages(id, syncNumber);
  }
}

function isWithoutRules({ source, crawl }: CrawlView): boolean {
  return source.type === "website" && crawl.robots === null;
}

function because(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}

/** The host as crawls share it: one site under two names is one host. */
function hostOf({ origin }: CrawlRow): string {
  return new URL(origin).host.replace(/^www\./, "");
}
