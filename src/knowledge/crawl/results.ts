import { PIPELINE_VERSION } from "../ingest.ts";
import type { CrawlRow } from "./crawl-store.ts";
import type { Frontier } from "./frontier.ts";
import { normalisedUrl, pageKey } from "./page-url.ts";
import type { PageRow, PageState } from "./page-store.ts";
import type { CrawlSource, FetchFailure, PageResult, ReadPage, SitemapPart } from "./protocol.ts";
import type { CrawlStores } from "./stores.ts";

/** A page that failed in a way that may pass is tried again after so long. */
const RETRY_AFTER_SECONDS = [5, 30];
/** A site that wants to be left alone for longer is asked again all the same, once its crawl would else wait for ever. */
const MAX_RETRY_AFTER_SECONDS = 3_600;
/** A page that was in hand so often when the reader died is not read: it may be why. */
export const MAX_HANDED_OUT = 4;
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
export function isWorthAsking({ documentId, hash, lastReason }: PageRow): boolean {
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
