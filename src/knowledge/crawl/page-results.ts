import { utf8Length } from "../../platform/text.ts";
import { OTHER_HOST } from "./frontier.ts";
import { type PageRow, type PageState, type PageStore } from "./page-store.ts";
import type { FetchFailure, PageContent, PageResult, SitemapPart } from "./protocol.ts";
import type { StepContext } from "./site-crawl.ts";
import { normalisedUrl, pageKey } from "./urls.ts";

/** The reason of a page that was not added because the agent has as much text as it may. */
export const OVER_LIMIT = "knowledge_limit";
/** Reasons for skipping a page that hold as long as it is not modified. A `noindex` does not, since it may stand in a header. */
export const LASTING_REASONS: ReadonlySet<string> = new Set(["canonical", "empty"]);
/** Delays before the retries of a page whose failure is transient. */
const RETRY_AFTER_SECONDS = [5, 30];
/** A longer Retry-After is cut to this, so that no crawl waits for ever. */
const MAX_RETRY_AFTER_SECONDS = 3_600;
/** States in which a page may replace another that names it as canonical. */
const CANONICAL_STATES = new Set<PageState>(["waiting", "fetched", "unchanged"]);
/** Redirects to a page that the crawl may not read are no failures. */
const SKIPPED_REDIRECTS = new Set([OTHER_HOST, "robots"]);
/** The limit is longer than any chain of redirects that the frontier follows. */
const MAX_CHAIN = 20;

/** Applies the results of fetches to the stored pages. Applying one twice changes nothing. */
export class PageResults {
  private readonly pages: PageStore;
  /** The bytes of the agent's text, once they were counted. */
  private textBytes: number | undefined;

  constructor(private readonly context: StepContext) {
    this.pages = context.store.pages;
  }

  apply(result: PageResult): void {
    const { crawl, frontier } = this.context;
    const page = this.pages.find(result.id);
    // The result was applied already, by another run, or by this one before it was interrupted.
    if (page?.state !== "waiting") return;
    crawl.failuresInARow = result.outcome === "failed" && result.isTransient ? crawl.failuresInARow + 1 : 0;
    switch (result.outcome) {
      case "robots":
        this.pages.update(page.id, { state: "alias" });
        return frontier.useRobots(result.text);
      case "sitemap":
        return this.applySitemap(page, result);
      case "page":
        return this.applyPage(page, result);
      case "not_modified":
        return this.applyUnmodified(page, result.noindex);
      case "redirect":
        return this.applyRedirect(page, result.to);
      case "skipped":
        // The validators are those of an earlier content.
        this.pages.update(page.id, { etag: null, lastModified: null });
        return this.finish(page, "skipped", result.reason);
      case "failed":
        return this.applyFailure(page, result);
    }
  }

  private applySitemap(page: PageRow, { urls, sitemaps, isLast }: SitemapPart): void {
    const { frontier } = this.context;
    for (const url of sitemaps) frontier.addSitemap(url);
    frontier.addLinks(page, urls);
    if (isLast) this.pages.update(page.id, { state: "alias" });
  }

  private applyPage(page: PageRow, read: PageContent): void {
    const { store, frontier, traps } = this.context;
    const isSite = store.source.type === "website";
    const { hash, etag, lastModified } = read;
    if (isSite) traps.notePage(page.url, read.sketch);
    const links = frontier.addLinks(page, read.links);
    const canonical = isSite && !read.noindex ? this.canonicalOf(page, read) : undefined;
    if (canonical !== undefined) links.push(canonical);
    this.pages.update(page.id, { hash, etag, lastModified, links: JSON.stringify(links) });
    if (isSite && read.noindex) return this.finish(page, "skipped", "noindex");
    if (canonical !== undefined) return this.finish(page, "alias", "canonical");
    if (read.text.trim() === "") return this.finish(page, "skipped", "empty");
    if (this.pages.isDuplicate(page.id, hash)) return this.finish(page, "skipped", "duplicate");
    if (page.hash === hash && page.documentId !== null) return this.finish(page, "unchanged", null);
    if (!this.hasRoom(page, read)) return this.finishOverLimit(page);
    const blocks = JSON.stringify(read.blocks);
    if (page.blocks !== null) this.pages.countBlocks(page.blocks, -1);
    this.pages.countBlocks(blocks, 1);
    this.pages.putText(page.id, read.title, read.text);
    this.pages.update(page.id, { state: "fetched", reason: null, builtId: null, blocks });
  }

  /** Whether a page's text fits under the limit, in place of its earlier text. If so, it counts from now on. */
  private hasRoom({ documentId }: PageRow, { text }: PageContent): boolean {
    const { index, source } = this.context.store;
    const growth = utf8Length(text) - (documentId === null ? 0 : index.sizeOfDocument(documentId).textBytes);
    // The database is larger than the texts in it, so that most agents need no count.
    if (growth <= 0 || index.sql.databaseSize + growth <= source.maxBytes) return true;
    this.textBytes ??= index.textBytesBeside(source.id) + this.pages.countTextBytes();
    if (this.textBytes + growth > source.maxBytes) return false;
    this.textBytes += growth;
    return true;
  }

  /** Keeps the text of a page in use that was read before; the next sync reads the page again without validators. */
  private finishOverLimit(page: PageRow): void {
    this.pages.update(page.id, { hash: page.hash, etag: null, lastModified: null });
    this.finish(page, page.documentId === null ? "skipped" : "kept", OVER_LIMIT);
  }

  /** The page that this one names as canonical, if it can be read. */
  private canonicalOf(page: PageRow, { canonicalUrl }: PageContent): number | undefined {
    const url = canonicalUrl === null ? null : normalisedUrl(canonicalUrl);
    if (url === null || pageKey(url) === page.key) return undefined;
    const [id] = this.context.frontier.addPages([url], page);
    const other = id === undefined ? undefined : this.pages.find(id);
    return other && CANONICAL_STATES.has(other.state) ? other.id : undefined;
  }

  private applyUnmodified(page: PageRow, noindex: boolean): void {
    const { store, frontier, traps } = this.context;
    traps.noteUnchanged(page.url);
    frontier.addLinks(page, this.pages.listLinkedUrls(page));
    if (store.source.type === "website" && noindex) return this.finish(page, "skipped", "noindex");
    if (page.documentId === null) return this.finish(page, page.lastState ?? "skipped", page.lastReason);
    const isDuplicate = this.pages.isDuplicate(page.id, page.hash!);
    this.finish(page, isDuplicate ? "skipped" : "unchanged", isDuplicate ? "duplicate" : null);
  }

  private applyRedirect(page: PageRow, to: string): void {
    const followed = this.context.frontier.follow(page, to);
    if ("reason" in followed) return this.finish(page, SKIPPED_REDIRECTS.has(followed.reason) ? "skipped" : "failed", followed.reason);
    if (followed.id === page.id) return;
    if (this.redirectsTo(followed.id, page.id)) return this.finish(page, "failed", "redirect_loop");
    this.pages.update(page.id, { links: JSON.stringify([followed.id]) });
    this.finish(page, "alias", "redirect");
  }

  /** Whether a chain of redirects leads from one page to another. */
  private redirectsTo(from: number, to: number): boolean {
    let id = from;
    for (let hop = 0; hop < MAX_CHAIN; hop++) {
      const page = this.pages.find(id);
      if (page?.state !== "alias" || page.reason !== "redirect" || page.links === null) return false;
      [id = 0] = JSON.parse(page.links) as number[];
      if (id === to) return true;
    }
    return false;
  }

  private applyFailure(page: PageRow, { reason, isTransient, retryAfterSeconds }: FetchFailure): void {
    const { store, host, frontier, nowMs } = this.context;
    const waitSeconds = RETRY_AFTER_SECONDS[page.attempts];
    const seconds = Math.min(Math.max(waitSeconds ?? 0, retryAfterSeconds ?? 0), MAX_RETRY_AFTER_SECONDS);
    // Retry-After holds for the host, not only for this page.
    if (retryAfterSeconds !== null) store.pauseHost(host, nowMs + seconds * 1000);
    if (isTransient && waitSeconds !== undefined) {
      return this.pages.update(page.id, { attempts: page.attempts + 1, leases: 0, notBeforeMs: nowMs + seconds * 1000 });
    }
    if (!isTransient) return this.finish(page, "failed", reason);
    // The pages that it linked to last time are still crawled.
    frontier.addLinks(page, this.pages.listLinkedUrls(page));
    const isKept = page.documentId !== null || page.kind === "sitemap";
    this.finish(page, isKept ? "kept" : "failed", reason);
  }

  private finish({ id }: PageRow, state: PageState, reason: string | null): void {
    // A duplicate may be the only copy next time, so it is fetched without validators then.
    const dropped = reason === "duplicate" ? { etag: null, lastModified: null } : {};
    this.pages.update(id, { state, reason, ...dropped });
  }
}
