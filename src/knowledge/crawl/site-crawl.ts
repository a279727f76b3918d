import { PIPELINE_VERSION } from "../indexing/ingest.ts";
import type { IndexStore } from "../indexing/store.ts";
import type { CrawlRow } from "./crawl-store.ts";
import { Frontier, START_DEPTH } from "./frontier.ts";
import { PageIndexing } from "./page-indexing.ts";
import type { PageRow, PageState } from "./page-store.ts";
import {
  type CrawlEnd,
  type CrawlProgress,
  type CrawlSource,
  type CrawlStep,
  type FetchFailure,
  LONG_WAIT_MS,
  PAGE_TIMEOUT_MS,
  type PageResult,
  type PageToFetch,
  type ReadPage,
  type SitemapPart,
} from "./protocol.ts";
import { CrawlStores } from "./stores.ts";
import type { CrawlTables } from "./tables.ts";
import { normalisedUrl, pageKey, siteOf } from "./urls.ts";

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

/** A page that failed in a way that may pass is tried again after so long. */
const RETRY_AFTER_SECONDS = [5, 30];
/** A site that wants to be left alone for longer is asked again all the same, once its crawl would else wait for ever. */
const MAX_RETRY_AFTER_SECONDS = 3_600;
/** A page that was in hand so often when the reader died is not read: it may be why. */
const MAX_HANDED_OUT = 4;
/** Of a page that is not in use, these verdicts hold as long as it is not modified. */
const LASTING_REASONS = new Set(["noindex", "canonical", "empty"]);
/** What a page may be that another names as the one to read in its place. */
const READABLE = new Set<PageState>(["waiting", "fetched", "unchanged"]);
/** A chain of redirects longer than the frontier follows. */
const MAX_CHAIN = 20;

/** One step's view of a crawl. */
export interface CrawlView {
  source: CrawlSource;
  crawl: CrawlRow;
  frontier: Frontier;
  /** The host as crawls share it. */
  host: string;
  nowMs: number;
}

/** Whether what was read of a page last time is still worth asking for changes only. */
function isWorthAsking({ documentId, hash, lastReason }: PageRow): boolean {
  if (!hash?.startsWith(`${PIPELINE_VERSION}:`)) return false;
  return documentId !== null || (lastReason !== null && LASTING_REASONS.has(lastReason));
}

/** Notes what was fetched. The same result twice changes nothing. */
export class ResultTaker {
  constructor(private readonly stores: CrawlStores) {}

  take(view: CrawlView, result: PageResult): void {
    const page = this.stores.pages.find(view.source.id, result.id);
    // Taken already: by another run of the caller, or by this one before it died.
    if (page?.state !== "waiting") return;
    if (result.outcome === "failed" && result.isTransient) view.crawl.failuresInARow++;
    else view.crawl.failuresInARow = 0;
    switch (result.outcome) {
      case "robots":
        this.stores.pages.update(page.id, { state: "alias" });
        return view.frontier.useRobots(result.text);
      case "sitemap":
        return this.takeSitemap(view, page, result);
      case "page":
        return this.takePage(view, page, result);
      case "not_modified":
        return this.takeUnmodified(view, page);
      case "redirect":
        return this.takeRedirect(view, page, result.to);
      case "skipped":
        return this.settle(page, "skipped", result.reason);
      case "failed":
        return this.takeFailure(view, page, result);
    }
  }

  /** Whatever reads it may die of it: it fails without being read. */
  giveUp(page: PageRow): void {
    this.settle(page, "failed", "not_readable");
  }

  private takeSitemap({ frontier }: CrawlView, page: PageRow, { urls, sitemaps, isLast }: SitemapPart): void {
    for (const url of sitemaps) frontier.addSitemap(url);
    frontier.addLinks(page, urls);
    if (isLast) this.stores.pages.update(page.id, { state: "alias" });
  }

  private takePage(view: CrawlView, page: PageRow, read: ReadPage): void {
    const { source, frontier } = view;
    const isSite = source.type === "website";
    const { hash, etag, lastModified } = read;
    const links = frontier.addLinks(page, read.links);
    const canonical = isSite && !read.noindex ? this.canonicalOf(view, page, read) : undefined;
    if (canonical !== undefined) links.push(canonical);
    this.stores.pages.update(page.id, { hash, etag, lastModified, links: JSON.stringify(links) });
    if (isSite && read.noindex) return this.settle(page, "skipped", "noindex");
    if (canonical !== undefined) return this.settle(page, "alias", "canonical");
    if (read.text.trim() === "") return this.settle(page, "skipped", "empty");
    if (this.stores.pages.isDuplicate(source.id, source.syncNumber, page.id, hash)) return this.settle(page, "skipped", "duplicate");
    if (page.hash === hash && page.documentId !== null) return this.settle(page, "unchanged", null);
    if (page.blocks !== null) this.stores.texts.countBlocks(source.id, JSON.parse(page.blocks) as string[], -1);
    this.stores.texts.countBlocks(source.id, read.blocks, 1);
    this.stores.texts.put(page.id, read.title, read.text);
    this.stores.pages.update(page.id, { state: "fetched", reason: null, builtId: null, blocks: JSON.stringify(read.blocks) });
  }

  /** The page to read in the place of this one, if the page names another and that one can be had. */
  private canonicalOf({ source, frontier }: CrawlView, page: PageRow, { canonicalUrl }: ReadPage): number | undefined {
    const url = canonicalUrl === null ? null : normalisedUrl(canonicalUrl);
    if (url === null || pageKey(url) === page.key) return undefined;
    const [id] = frontier.addPages([url], page);
    const other = id === undefined ? undefined : this.stores.pages.find(source.id, id);
    return other && READABLE.has(other.state) ? other.id : undefined;
  }

  private takeUnmodified({ source, frontier }: CrawlView, page: PageRow): void {
    frontier.addLinks(page, this.stores.pages.listLinked(page.links));
    if (page.documentId === null) return this.settle(page, page.lastState ?? "skipped", page.lastReason);
    const isDuplicate = this.stores.pages.isDuplicate(source.id, source.syncNumber, page.id, page.hash!);
    this.settle(page, isDuplicate ? "skipped" : "unchanged", isDuplicate ? "duplicate" : null);
  }

  private takeRedirect(view: CrawlView, page: PageRow, to: string): void {
    const followed = view.frontier.follow(page, to);
    if ("reason" in followed) return this.settle(page, followed.reason === "other_host" ? "skipped" : "failed", followed.reason);
    if (followed.id === page.id) return;
    if (this.leadsTo(view.source.id, followed.id, page.id)) return this.settle(page, "failed", "redirect_loop");
    this.stores.pages.update(page.id, { links: JSON.stringify([followed.id]) });
    this.settle(page, "alias", "redirect");
  }

  /** Whether redirects lead from one page to another. */
  private leadsTo(sourceId: string, from: number, to: number): boolean {
    let id = from;
    for (let hop = 0; hop < MAX_CHAIN; hop++) {
      const page = this.stores.pages.find(sourceId, id);
      if (page?.state !== "alias" || page.reason !== "redirect" || page.links === null) return false;
      [id = 0] = JSON.parse(page.links) as number[];
      if (id === to) return true;
    }
    return false;
  }

  private takeFailure(view: CrawlView, page: PageRow, { reason, isTransient, retryAfterSeconds }: FetchFailure): void {
    const waitSeconds = RETRY_AFTER_SECONDS[page.attempts];
    const seconds = Math.min(Math.max(waitSeconds ?? 0, retryAfterSeconds ?? 0), MAX_RETRY_AFTER_SECONDS);
    // A site that wants to be left alone is, not only this page of it.
    if (retryAfterSeconds !== null) this.stores.crawls.restHost(view.host, view.nowMs + seconds * 1000);
    if (isTransient && waitSeconds !== undefined) {
      return this.stores.pages.update(page.id, { attempts: page.attempts + 1, handedOut: 0, notBeforeMs: view.nowMs + seconds * 1000 });
    }
    if (!isTransient) return this.settle(page, "failed", reason);
    // What it led to before is still there, though it cannot say so now.
    view.frontier.addLinks(page, this.stores.pages.listLinked(page.links));
    const isKept = page.documentId !== null || page.kind === "sitemap";
    this.settle(page, isKept ? "kept" : "failed", reason);
  }

  private settle({ id }: PageRow, state: PageState, reason: string | null): void {
    // A duplicate may be alone tomorrow: it is read again then.
    const forgotten = reason === "duplicate" ? { etag: null, lastModified: null } : {};
    this.stores.pages.update(id, { state, reason, ...forgotten });
  }
}
