import type { CrawlProgress, CrawlSource, PageResult, PageToFetch, ReadPage } from "./crawl-protocol.ts";
import { normalizeUrl } from "./crawl/url.ts";
import { Frontier } from "./frontier.ts";
import type { IndexStore } from "./index-store.ts";
import { indexSomePages, switchPages } from "./page-indexing.ts";
import type { CrawlRow, PageCounts, PageRow, PageStore } from "./page-store.ts";

/** How many pages are handed out at once: results come back before the frontier is asked again. */
const PAGES_PER_STEP = 8;
/** A crawl that was broken off so long ago begins anew: the site is another by now. */
const STALE_MS = 24 * 60 * 60_000;
const RETRY_AFTER_SECONDS = [5, 30];
const MAX_RETRY_AFTER_SECONDS = 120;
/** A page that leads to another spelling of itself more often than this is a loop. */
const MAX_RESPELLINGS = 3;

const ALL_KINDS = ["robots", "sitemap", "page"] as const;

const ROBOTS_UNREACHABLE =
  "The site's robots.txt could not be asked for, so nothing of the site may be read. Check that the site answers, then sync again.";
const NOTHING_READ = "Check the url and that the site lets robots read it, then sync again; what was read before stays in use.";

type FailureCode = Extract<CrawlProgress, { outcome: "failed" }>["code"];

/** One step's view of a crawl. */
interface Step {
  source: CrawlSource;
  crawl: CrawlRow;
  frontier: Frontier;
  nowMs: number;
}

/** Crawls sites and indexes their pages, in bounded steps that the caller asks for. All state is in storage. */
export class SiteCrawl {
  constructor(
    private readonly index: IndexStore,
    private readonly pages: PageStore,
  ) {}

  /**
   * Takes what was fetched and says what is next. The same results twice change nothing.
   * @param pauseMs the least pause between two requests to the site.
   */
  step(source: CrawlSource, results: readonly PageResult[], pauseMs: number, nowMs: number): CrawlProgress {
    return this.pages.write(() => {
      const crawl = this.currentCrawl(source, nowMs);
      const step = { source, crawl, frontier: new Frontier(this.pages, source, crawl), nowMs };
      for (const result of results) this.take(step, result);
      if (crawl.phase === "crawling") {
        const next = this.nextPages(step);
        if (next) return { done: false, ...next, pauseMs: Math.max(pauseMs, step.frontier.delayInSeconds * 1000), counts: this.countsOf(crawl) };
        const failure = this.failureOf(step);
        if (failure) return this.end(crawl, { outcome: "failed", ...failure });
        this.pages.updateCrawl(source.id, { phase: "indexing" });
      }
      if (indexSomePages(this.index, this.pages, crawl)) return { done: false, fetch: [], pauseMs: 0, waitMs: 0, counts: this.countsOf(crawl) };
      switchPages(this.index, this.pages, crawl);
      return this.end(crawl, { outcome: "ready", chunksCount: this.index.countLive(source.id).chunks });
    });
  }

  /** Removes all that is known of a source's pages. */
  remove(sourceId: string): void {
    if (!this.index.isEmpty) this.pages.write(() => this.pages.removeSource(sourceId));
  }

  /** The crawl that runs, or the next one. */
  private currentCrawl(source: CrawlSource, nowMs: number): CrawlRow {
    const known = this.pages.findCrawl(source.id);
    if (known && known.phase !== "done" && nowMs - known.startedAtMs < STALE_MS) return known;
    const building = this.index.findGeneration(source.id, "building");
    if (building) this.index.deleteGeneration(building);
    const start = normalizeUrl(source.url)?.url ?? source.url;
    const crawl = this.pages.beginCrawl(source.id, new URL(start).host, nowMs);
    new Frontier(this.pages, source, crawl).addRoots(start);
    return crawl;
  }

  // --- What was fetched ---

  private take(step: Step, result: PageResult): void {
    const page = this.pages.findPage(step.source.id, result.id);
    // Taken already: by another run of the caller, or by this one before it died.
    if (page?.state !== "waiting") return;
    switch (result.outcome) {
      case "robots":
        step.frontier.useRobots(page.url, result.text);
        return this.pages.updatePage(page.id, { state: "skipped" });
      case "sitemap":
        for (const url of result.sitemaps) step.frontier.addSitemap(url);
        for (const url of result.urls) step.frontier.addPage(url, 1);
        return this.pages.updatePage(page.id, { state: "skipped" });
      case "page":
        return this.takePage(step, page, result);
      case "not_modified":
        return this.takeUnchanged(step, page);
      case "redirect":
        return this.takeRedirect(step, page, result.to);
      case "skipped":
        return this.pages.updatePage(page.id, { state: "skipped", reason: result.reason });
      case "failed":
        return this.takeFailure(step, page, result);
    }
  }

  private takePage(step: Step, page: PageRow & { blocks: string | null }, read: ReadPage): void {
    const { source, crawl, frontier } = step;
    const isSite = source.type === "website";
    const links = read.links.flatMap((url) => frontier.addPage(url, page.depth + 1) ?? []);
    const canonical = read.canonicalUrl === null ? undefined : normalizeUrl(read.canonicalUrl);
    const skip = (reason: string) => this.pages.updatePage(page.id, { state: "skipped", reason, links: JSON.stringify(links) });
    if (isSite && read.noindex) return skip("noindex");
    if (isSite && canonical && canonical.key !== normalizeUrl(page.url)?.key) {
      const other = frontier.addPage(canonical.url, page.depth);
      if (other !== undefined && other !== page.id) return this.pages.updatePage(page.id, { state: "alias", reason: "canonical" });
    }
    if (read.text.trim() === "") return skip("empty");
    if (this.pages.isDuplicate(source.id, crawl.run, page.id, read.hash)) return skip("duplicate");
    const isUnchanged = page.hash === read.hash && page.documentId !== null;
    const { hash, etag, lastModified } = read;
    if (!isUnchanged) {
      if (page.blocks !== null) this.pages.countBlocks(source.id, JSON.parse(page.blocks) as string[], -1);
      this.pages.countBlocks(source.id, read.blocks, 1);
      this.pages.putText(page.id, read.title, read.text);
    }
    const changes = { hash, etag, lastModified, reason: null, links: JSON.stringify(links), blocks: JSON.stringify(read.blocks) };
    this.pages.updatePage(page.id, { ...changes, state: isUnchanged ? "unchanged" : "fetched" });
  }

  private takeUnchanged({ frontier }: Step, page: PageRow): void {
    for (const { url } of this.pages.listLinks(page.id)) frontier.addPage(url, page.depth + 1);
    this.pages.updatePage(page.id, { state: page.documentId === null ? "skipped" : "unchanged", reason: null });
  }

  private takeRedirect({ frontier }: Step, page: PageRow, to: string): void {
    const attempts = page.attempts + 1;
    if (normalizeUrl(to)?.key === normalizeUrl(page.url)?.key && to !== page.url && attempts <= MAX_RESPELLINGS) {
      return this.pages.updatePage(page.id, { url: to, attempts });
    }
    const target = frontier.follow(page, to);
    if (target === page.id) return this.pages.updatePage(page.id, { state: "failed", reason: "redirect_loop" });
    this.pages.updatePage(page.id, target === undefined ? { state: "skipped", reason: "other_host" } : { state: "alias", reason: "redirect" });
  }

  private takeFailure(step: Step, page: PageRow, failure: PageResult & { outcome: "failed" }): void {
    const { reason, isTransient, retryAfterSeconds } = failure;
    const waitSeconds = RETRY_AFTER_SECONDS[page.attempts];
    if (isTransient && waitSeconds !== undefined) {
      const seconds = Math.min(Math.max(waitSeconds, retryAfterSeconds ?? 0), MAX_RETRY_AFTER_SECONDS);
      const notBeforeMs = step.nowMs + seconds * 1000;
      // A site that says it is asked too much is left alone, not only this page.
      if (retryAfterSeconds !== null) this.pages.updateCrawl(step.source.id, { nextFetchAtMs: notBeforeMs });
      return this.pages.updatePage(page.id, { attempts: page.attempts + 1, notBeforeMs });
    }
    const isKept = isTransient && page.documentId !== null;
    this.pages.updatePage(page.id, { state: isKept ? "kept" : "failed", reason });
  }

  // --- What is next ---

  /** Pages to fetch, or how long to wait for them; undefined when the crawl has what it wants or all that there is. */
  private nextPages({ source, crawl, nowMs }: Step): { fetch: PageToFetch[]; waitMs: number } | undefined {
    // What robots may read is asked before anything is read.
    const kinds = isWithoutRules(source, crawl) ? ["robots" as const] : ALL_KINDS;
    const read = this.pages.countPages(source.id, crawl.run).indexed;
    const nextAtMs = this.pages.nextWaitingAtMs(source.id, kinds);
    if (read >= source.maxPages || nextAtMs === undefined) return undefined;
    const waitMs = Math.max(0, nextAtMs - nowMs, this.pages.findCrawl(source.id)!.nextFetchAtMs - nowMs);
    if (waitMs > 0) return { fetch: [], waitMs };
    const waiting = this.pages.listWaiting(source.id, kinds, nowMs, Math.min(PAGES_PER_STEP, source.maxPages - read));
    return { fetch: waiting.map(({ id, url, kind, etag, lastModified }) => ({ id, url, kind, etag, lastModified })), waitMs: 0 };
  }

  private failureOf({ source, crawl }: Step) {
    if (isWithoutRules(source, crawl)) return { code: "robots_unreachable" as const, message: ROBOTS_UNREACHABLE };
    if (this.pages.hasRead(source.id, crawl.run)) return undefined;
    const reason = this.pages.findFirstReason(source.id, crawl.run);
    return { code: "nothing_read" as const, message: `No page could be read${reason ? ` (${reason})` : ""}. ${NOTHING_READ}` };
  }

  private end(crawl: CrawlRow, end: { outcome: "ready"; chunksCount: number } | { outcome: "failed"; code: FailureCode; message: string }) {
    this.pages.updateCrawl(crawl.sourceId, { phase: "done" });
    return { done: true as const, ...end, counts: this.countsOf(crawl) };
  }

  private countsOf({ sourceId, run }: CrawlRow): PageCounts {
    return this.pages.countPages(sourceId, run);
  }
}

function isWithoutRules({ type }: CrawlSource, { robots }: CrawlRow): boolean {
  return type === "website" && robots === null;
}
