import { utf8Length } from "../../platform/text.ts";
import { PIPELINE_VERSION } from "../indexing/ingest.ts";
import type { CrawlRow, CrawlStorage } from "./crawl-store.ts";
import { Frontier, START_DEPTH } from "./frontier.ts";
import { PageIndexing } from "./page-indexing.ts";
import { ENDLESS, type PageRow, type PageState, VARIANT } from "./page-store.ts";
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
  type PageContent,
  type SitemapPart,
} from "./protocol.ts";
import { Traps } from "./traps.ts";
import { normalisedUrl, pageKey, siteOf } from "./urls.ts";

/** Pages of one fetch batch: an RPC for each page would cost more than fetching it. */
const BATCH_SIZE = 8;
/** Dropping so many pages takes a few milliseconds. */
const DROPPED_PER_STEP = 200;
/** After so many failures in a row the site counts as down, and the rest is not fetched. */
const MAX_FAILURES_IN_A_ROW = 12;
/** Within one fetch, for robots.txt, sitemaps and single pages. Redirects of a site's pages come back as results. */
const MAX_REDIRECTS = 10;

const ROBOTS_UNREACHABLE =
  "Check that the site answers at that address, then sync again; until its robots.txt answers, nothing of a site may be read.";
const NOTHING_READ = "Check the url, and that the site lets robots read it, then sync again. What was read before stays in use.";

const KNOWLEDGE_LIMIT =
  "The agent has as much knowledge as the plan includes, so that no page could be added. Delete sources or ask for a larger plan, then sync again.";
/** Why a page was not added: the agent has as much text as it may. */
const OVER_LIMIT = "knowledge_limit";

type Failure = Pick<Extract<CrawlEnd, { outcome: "failed" }>, "code" | "message">;

/** Crawls sites and indexes their pages in bounded steps; the caller fetches between them. All state is in storage. */
export class SiteCrawl {
  private readonly results: PageResults;
  private readonly indexing: PageIndexing;

  constructor(private readonly storage: CrawlStorage) {
    this.results = new PageResults(storage);
    this.indexing = new PageIndexing(storage);
  }

  /** Applies the results of one batch and returns the next; undefined when the source was removed. Idempotent. */
  step(source: CrawlSource, step: CrawlStep): CrawlProgress | undefined {
    const known = this.storage.crawls.find(source.id);
    const isKnown = known?.syncNumber === source.syncNumber;
    if (!isKnown && (!step.isFirst || (known && known.syncNumber > source.syncNumber))) return undefined;
    if (isKnown && known.phase === "done") return this.storage.crawls.readEnd(source.id);
    return this.storage.index.write(() => this.proceed(source, isKnown ? known : this.start(source), step));
  }

  private start(source: CrawlSource): CrawlRow {
    const { index, crawls, pages } = this.storage;
    const building = index.findGeneration(source.id, "building");
    if (building) index.deleteGeneration(building);
    pages.deleteTexts(source.id);
    pages.resetPages(source.id);
    const start = normalisedUrl(source.url) ?? source.url;
    const crawl = crawls.start(source.id, source.syncNumber, siteOf(start).origin);
    new Frontier(this.storage, source, crawl, new Traps(this.storage, source)).addRoots(start);
    return crawl;
  }

  private proceed(source: CrawlSource, crawl: CrawlRow, { results, unfetched, isLast, pauseMs, nowMs }: CrawlStep): CrawlProgress {
    if (crawl.phase === "crawling") {
      const traps = new Traps(this.storage, source);
      const frontier = new Frontier(this.storage, source, crawl, traps);
      const context: StepContext = { source, crawl, frontier, traps, host: hostOf(crawl), nowMs };
      for (const result of results) this.results.apply(context, result);
      if (unfetched.length > 0) this.storage.pages.releasePages(source.id, unfetched);
      const pause = Math.max(pauseMs, context.frontier.delayInSeconds * 1000);
      this.releaseHost(context, results.length > 0 ? pause : 0);
      this.stopIfUnavailable(context);
      this.addNoneIfFull(context);
      const next = this.nextBatch(context, pause, isLast);
      this.storage.crawls.save(crawl);
      if (next) return { done: false, ...next, pauseMs: pause, counts: this.countsOf(source) };
      const failure = this.closeFrontier(context);
      if (failure) return this.fail(source, failure);
      crawl.phase = "indexing";
      this.storage.crawls.save(crawl);
    }
    if (this.indexing.step(source)) return { done: false, fetch: [], waitMs: 0, pauseMs: 0, counts: this.countsOf(source) };
    this.indexing.switchLive(source);
    this.storage.crawls.deleteIdleHosts(nowMs);
    return this.end(source, {
      done: true,
      outcome: "ready",
      counts: this.countsOf(source),
      chunksCount: this.storage.index.countLive(source.id).chunks,
    });
  }

  private releaseHost({ source, host, nowMs }: StepContext, pauseMs: number): void {
    this.storage.crawls.releaseHost(host, source.id);
    if (pauseMs > 0) this.storage.crawls.pauseHost(host, nowMs + pauseMs);
  }

  /** Ends a crawl whose site stopped responding; pages that were in use stay in use. */
  private stopIfUnavailable({ source, crawl }: StepContext): void {
    if (crawl.failuresInARow < MAX_FAILURES_IN_A_ROW) return;
    this.storage.pages.failWaiting(source.id, "site_unavailable");
    this.storage.pages.keepUncrawled(source.id, source.syncNumber, "site_unavailable");
  }

  /** Once a page found no room, only pages in use are read, since they may have changed. */
  private addNoneIfFull({ source }: StepContext): void {
    const { pages } = this.storage;
    if (pages.hasReason(source.id, source.syncNumber, OVER_LIMIT)) pages.skipNew(source.id, OVER_LIMIT);
  }

  // --- The next batch ---

  /** What to fetch, or how long to wait; undefined when nothing is left or the page limit is reached. */
  private nextBatch(context: StepContext, pauseMs: number, isLast: boolean): { fetch: PageToFetch[]; waitMs: number } | undefined {
    const { source, nowMs } = context;
    if (this.dropEndless(context)) return { fetch: [], waitMs: 0 };
    const first = this.storage.pages.findFirstWaiting(source.id);
    const left = source.maxPages - this.countsOf(source).indexed;
    if (!first || left <= 0 || (first.kind !== "robots" && needsRobots(context))) return undefined;
    // The rules and the site's final origin are needed before anything else is fetched. A page that was leased before is fetched alone, since it may be what ended the fetcher.
    const isSingle = first.kind === "robots" || (first.kind === "page" && first.depth === START_DEPTH) || first.leases > 0;
    const limit = pauseMs > LONG_WAIT_MS ? 1 : Math.min(BATCH_SIZE, left);
    const due = isSingle ? [first].filter((page) => page.notBeforeMs <= nowMs) : this.storage.pages.listDue(source.id, nowMs, limit);
    const dueAtMs = due.length > 0 ? 0 : isSingle ? first.notBeforeMs : this.storage.pages.nextDueAtMs(source.id);
    const waitMs = Math.max(0, Math.max(dueAtMs, this.storage.crawls.nextFetchAtMs(context.host, source.id)) - nowMs);
    if (due.length === 0 || waitMs > LONG_WAIT_MS || isLast) return { fetch: [], waitMs };
    return { fetch: this.leaseBatch(context, due, waitMs, pauseMs), waitMs };
  }

  /**
   * Drops those of the next pages that turned out to be endless.
   * @returns whether there were any; then there may be more.
   */
  private dropEndless({ source, traps, nowMs }: StepContext): boolean {
    const { pages } = this.storage;
    const endlessAmong = (limit: number): PageRow[] => {
      const variants = pages.listDue(source.id, nowMs, limit).filter(({ reason }) => reason === VARIANT);
      const areEndless = variants.length === 0 ? [] : traps.areEndless(variants.map(({ url }) => url));
      return variants.filter((_, at) => areEndless[at]);
    };
    if (endlessAmong(BATCH_SIZE).length === 0) return false;
    for (const { id } of endlessAmong(DROPPED_PER_STEP)) pages.update(id, { state: "alias", reason: ENDLESS });
    return true;
  }

  private leaseBatch({ source, host, nowMs }: StepContext, due: PageRow[], waitMs: number, pauseMs: number): PageToFetch[] {
    for (const page of due) if (page.leases >= MAX_LEASES) this.results.failUnreadable(page);
    const batch = due.filter((page) => page.leases < MAX_LEASES);
    this.storage.pages.leasePages(batch.map(({ id }) => id));
    // If the fetcher dies, other crawls of this host continue when its lease expires.
    this.storage.crawls.leaseHost(host, source.id, nowMs + waitMs + batch.length * (pauseMs + PAGE_TIMEOUT_MS));
    return batch.map((page) => {
      const { id, url, kind } = page;
      const validators = canRevalidate(page) ? { etag: page.etag, lastModified: page.lastModified } : { etag: null, lastModified: null };
      return { id, url, kind, ...validators, maxRedirects: kind === "page" && source.type === "website" ? 0 : MAX_REDIRECTS };
    });
  }

  // --- The end ---

  /** Skips what still waits. Returns why the crawl failed, if it did. */
  private closeFrontier(context: StepContext): Failure | undefined {
    const { id, syncNumber } = context.source;
    const { pages } = this.storage;
    if (needsRobots(context)) {
      const reason = pages.findFirstReason(id, syncNumber, "robots");
      return { code: "robots_unreachable", message: `The site's robots.txt could not be read${because(reason)}. ${ROBOTS_UNREACHABLE}` };
    }
    pages.skipWaiting(id, "max_pages");
    if (this.countsOf(context.source).indexed === 0) {
      if (pages.hasReason(id, syncNumber, OVER_LIMIT)) return { code: "knowledge_limit", message: KNOWLEDGE_LIMIT };
      const reason = pages.findFirstReason(id, syncNumber, "page");
      return { code: "nothing_read", message: `No page could be read${because(reason)}. ${NOTHING_READ}` };
    }
    if (pages.hasFailedSitemap(id, syncNumber)) pages.keepUncrawled(id, syncNumber, "sitemap_unreachable");
    return undefined;
  }

  private fail(source: CrawlSource, failure: Failure): CrawlEnd {
    const live = this.storage.index.countLive(source.id);
    const counts = { ...this.countsOf(source), indexed: live.pages };
    return this.end(source, { done: true, outcome: "failed", ...failure, counts, chunksCount: live.chunks });
  }

  private end(source: CrawlSource, end: CrawlEnd): CrawlEnd {
    this.storage.crawls.finish(source.id, end);
    return end;
  }

  private countsOf({ id, syncNumber }: CrawlSource) {
    return this.storage.pages.countPages(id, syncNumber);
  }
}

function needsRobots({ source, crawl }: StepContext): boolean {
  return source.type === "website" && crawl.robots === null;
}

function because(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}

/** The host that politeness is kept for: with and without `www.` is one. */
function hostOf({ origin }: CrawlRow): string {
  return new URL(origin).host.replace(/^www\./, "");
}

/** Delays before the retries of a page whose failure is transient. */
const RETRY_AFTER_SECONDS = [5, 30];
/** A longer Retry-After is cut to this, so that no crawl waits for ever. */
const MAX_RETRY_AFTER_SECONDS = 3_600;
/** A page that was leased so often without a result fails: it may be what ends the fetcher. */
const MAX_LEASES = 4;
/** Reasons for skipping a page that hold as long as it is not modified. */
const LASTING_REASONS = new Set(["noindex", "canonical", "empty"]);
/** States in which a page may replace another that names it as canonical. */
const CANONICAL_STATES = new Set<PageState>(["waiting", "fetched", "unchanged"]);
/** Longer than any chain of redirects that the frontier follows. */
const MAX_CHAIN = 20;

/** What one step works with. */
export interface StepContext {
  source: CrawlSource;
  crawl: CrawlRow;
  frontier: Frontier;
  traps: Traps;
  host: string;
  nowMs: number;
  /** How much text the agent has, once it was counted. */
  textBytes?: number;
}

/** Whether a conditional request may be sent: what was read last time is in use, or its reason for being skipped holds. */
function canRevalidate({ documentId, hash, lastReason }: PageRow): boolean {
  if (!hash?.startsWith(`${PIPELINE_VERSION}:`)) return false;
  return documentId !== null || (lastReason !== null && LASTING_REASONS.has(lastReason));
}

/** Applies the results of fetches to the stored pages. Applying one twice changes nothing. */
export class PageResults {
  constructor(private readonly storage: CrawlStorage) {}

  apply(context: StepContext, result: PageResult): void {
    const page = this.storage.pages.find(context.source.id, result.id);
    // Applied already, by another run or by this one before it died.
    if (page?.state !== "waiting") return;
    if (result.outcome === "failed" && result.isTransient) context.crawl.failuresInARow++;
    else context.crawl.failuresInARow = 0;
    switch (result.outcome) {
      case "robots":
        this.storage.pages.update(page.id, { state: "alias" });
        return context.frontier.useRobots(result.text);
      case "sitemap":
        return this.applySitemap(context, page, result);
      case "page":
        return this.applyPage(context, page, result);
      case "not_modified":
        return this.applyUnmodified(context, page);
      case "redirect":
        return this.applyRedirect(context, page, result.to);
      case "skipped":
        return this.finish(page, "skipped", result.reason);
      case "failed":
        return this.applyFailure(context, page, result);
    }
  }

  failUnreadable(page: PageRow): void {
    this.finish(page, "failed", "not_readable");
  }

  private applySitemap({ frontier }: StepContext, page: PageRow, { urls, sitemaps, isLast }: SitemapPart): void {
    for (const url of sitemaps) frontier.addSitemap(url);
    frontier.addLinks(page, urls);
    if (isLast) this.storage.pages.update(page.id, { state: "alias" });
  }

  private applyPage(context: StepContext, page: PageRow, read: PageContent): void {
    const { source, frontier } = context;
    const isSite = source.type === "website";
    const { hash, etag, lastModified } = read;
    if (isSite) context.traps.learn(page.url, read.sketch);
    const links = frontier.addLinks(page, read.links);
    const canonical = isSite && !read.noindex ? this.canonicalOf(context, page, read) : undefined;
    if (canonical !== undefined) links.push(canonical);
    this.storage.pages.update(page.id, { hash, etag, lastModified, links: JSON.stringify(links) });
    if (isSite && read.noindex) return this.finish(page, "skipped", "noindex");
    if (canonical !== undefined) return this.finish(page, "alias", "canonical");
    if (read.text.trim() === "") return this.finish(page, "skipped", "empty");
    if (this.storage.pages.isDuplicate(source.id, source.syncNumber, page.id, hash)) return this.finish(page, "skipped", "duplicate");
    if (page.hash === hash && page.documentId !== null) return this.finish(page, "unchanged", null);
    if (!this.hasRoom(context, page, read)) return this.finishOverLimit(page);
    if (page.blocks !== null) this.storage.pages.countBlocks(source.id, JSON.parse(page.blocks) as string[], -1);
    this.storage.pages.countBlocks(source.id, read.blocks, 1);
    this.storage.pages.putText(page.id, read.title, read.text);
    this.storage.pages.update(page.id, { state: "fetched", reason: null, builtId: null, blocks: JSON.stringify(read.blocks) });
  }

  /** Whether a page's text fits under the limit, in place of what was read of the page before. If so, it counts from now on. */
  private hasRoom(context: StepContext, { documentId }: PageRow, { text }: PageContent): boolean {
    const { id, syncNumber, maxBytes } = context.source;
    const { index, pages } = this.storage;
    const growth = utf8Length(text) - (documentId === null ? 0 : index.bytesOfDocument(documentId));
    // All that is stored is more than the texts: most agents need no count.
    if (growth <= 0 || index.sql.databaseSize + growth <= maxBytes) return true;
    context.textBytes ??= index.textBytesBeside(id) + pages.countTextBytes(id, syncNumber);
    if (context.textBytes + growth > maxBytes) return false;
    context.textBytes += growth;
    return true;
  }

  /** What was read of a page in use before stays; the next sync reads the page again, whatever its validators say. */
  private finishOverLimit(page: PageRow): void {
    this.storage.pages.update(page.id, { hash: page.hash, etag: null, lastModified: null });
    this.finish(page, page.documentId === null ? "skipped" : "kept", OVER_LIMIT);
  }

  /** The page that this one names as canonical, if it can be read. */
  private canonicalOf({ source, frontier }: StepContext, page: PageRow, { canonicalUrl }: PageContent): number | undefined {
    const url = canonicalUrl === null ? null : normalisedUrl(canonicalUrl);
    if (url === null || pageKey(url) === page.key) return undefined;
    const [id] = frontier.addPages([url], page);
    const other = id === undefined ? undefined : this.storage.pages.find(source.id, id);
    return other && CANONICAL_STATES.has(other.state) ? other.id : undefined;
  }

  private applyUnmodified({ source, frontier, traps }: StepContext, page: PageRow): void {
    traps.noteUnchanged(page.url);
    frontier.addLinks(page, this.storage.pages.listLinkedUrls(page.links));
    if (page.documentId === null) return this.finish(page, page.lastState ?? "skipped", page.lastReason);
    const isDuplicate = this.storage.pages.isDuplicate(source.id, source.syncNumber, page.id, page.hash!);
    this.finish(page, isDuplicate ? "skipped" : "unchanged", isDuplicate ? "duplicate" : null);
  }

  private applyRedirect(context: StepContext, page: PageRow, to: string): void {
    const followed = context.frontier.follow(page, to);
    if ("reason" in followed) return this.finish(page, followed.reason === "other_host" ? "skipped" : "failed", followed.reason);
    if (followed.id === page.id) return;
    if (this.redirectsTo(context.source.id, followed.id, page.id)) return this.finish(page, "failed", "redirect_loop");
    this.storage.pages.update(page.id, { links: JSON.stringify([followed.id]) });
    this.finish(page, "alias", "redirect");
  }

  /** Whether a chain of redirects leads from one page to another. */
  private redirectsTo(sourceId: string, from: number, to: number): boolean {
    let id = from;
    for (let hop = 0; hop < MAX_CHAIN; hop++) {
      const page = this.storage.pages.find(sourceId, id);
      if (page?.state !== "alias" || page.reason !== "redirect" || page.links === null) return false;
      [id = 0] = JSON.parse(page.links) as number[];
      if (id === to) return true;
    }
    return false;
  }

  private applyFailure(context: StepContext, page: PageRow, { reason, isTransient, retryAfterSeconds }: FetchFailure): void {
    const waitSeconds = RETRY_AFTER_SECONDS[page.attempts];
    const seconds = Math.min(Math.max(waitSeconds ?? 0, retryAfterSeconds ?? 0), MAX_RETRY_AFTER_SECONDS);
    // Retry-After holds for the host, not only for this page.
    if (retryAfterSeconds !== null) this.storage.crawls.pauseHost(context.host, context.nowMs + seconds * 1000);
    if (isTransient && waitSeconds !== undefined) {
      return this.storage.pages.update(page.id, { attempts: page.attempts + 1, leases: 0, notBeforeMs: context.nowMs + seconds * 1000 });
    }
    if (!isTransient) return this.finish(page, "failed", reason);
    // The pages that it linked to last time are still crawled.
    context.frontier.addLinks(page, this.storage.pages.listLinkedUrls(page.links));
    const isKept = page.documentId !== null || page.kind === "sitemap";
    this.finish(page, isKept ? "kept" : "failed", reason);
  }

  private finish({ id }: PageRow, state: PageState, reason: string | null): void {
    // A duplicate may be the only copy next time, so it is fetched without validators then.
    const dropped = reason === "duplicate" ? { etag: null, lastModified: null } : {};
    this.storage.pages.update(id, { state, reason, ...dropped });
  }
}
