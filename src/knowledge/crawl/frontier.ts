import type { CrawlRow } from "./crawl-store.ts";
import type { PageRow } from "./page-store.ts";
import type { CrawlSource } from "./protocol.ts";
import { parseRobots, type RobotsRules } from "./robots.ts";
import type { CrawlStores } from "./stores.ts";
import { isOfSite, normalisedUrl, onSite, pageKey, reasonToSkip, siteOf, variantGroup } from "./urls.ts";

/** How many pages are noted for each that may be read, since some turn out to be none: an endless site ends here. */
const FOUND_PER_PAGE = 5;
const MIN_FOUND = 1_000;
/** Pages that robots.txt forbids are listed as skipped, up to so many. */
const MAX_FORBIDDEN = 1_000;
const MAX_SITEMAPS = 100;
/** More redirects in a row than this lead nowhere. */
const MAX_HOPS = 10;

/** What is asked for in which order: robots.txt, the start, the maps of the site, and then what these lead to. */
const ROBOTS_DEPTH = -1;
export const START_DEPTH = 0;
const SITEMAP_DEPTH = 1;
const FIRST_LINK_DEPTH = 2;

/** Where a page leads that redirects. */
export type Followed = { id: number } | { reason: string };

/** How pages were found. */
interface Found {
  depth: number;
  hops?: number;
  /** Whether a map of the site names them. */
  isListed?: boolean;
}

/** What a crawl knows to be there: it decides which addresses belong to it. */
export class Frontier {
  private readonly found: { open: number; forbidden: number; sitemaps: number };
  private rules: RobotsRules | undefined;

  constructor(
    private readonly stores: CrawlStores,
    private readonly source: CrawlSource,
    private readonly crawl: CrawlRow,
  ) {
    this.found = stores.pages.countFound(source.id, source.syncNumber);
    if (crawl.robots !== null) this.rules = rulesOf(crawl.origin, crawl.robots);
  }

  /** The pause between requests that the site asks for. */
  get delayInSeconds(): number {
    return this.rules?.delayInSeconds ?? 0;
  }

  /** The addresses that a crawl begins with. Takes a normalised URL. */
  addRoots(startUrl: string): void {
    if (this.source.type === "website") this.addRobots();
    this.add({ key: pageKey(startUrl), url: startUrl, kind: "page", depth: START_DEPTH, hops: 0 });
  }

  /** The site's rules: from now on they hold, and its maps are known. */
  useRobots(text: string): void {
    this.crawl.robots = text;
    this.rules = rulesOf(this.crawl.origin, text);
    const first = this.stores.pages.findFirstWaiting(this.source.id);
    if (first?.kind === "page" && !this.rules.isAllowed(first.url))
      this.stores.pages.update(first.id, { state: "skipped", reason: "robots" });
    const named = this.rules.sitemaps;
    for (const sitemap of named.length > 0 ? named : [new URL("/sitemap.xml", this.crawl.origin).href]) this.addSitemap(sitemap);
  }

  /** A map of the site, where it is the site's own. */
  addSitemap(written: string): void {
    const url = normalisedUrl(written);
    if (url === null || !isOfSite(url, this.crawl) || this.found.sitemaps >= MAX_SITEMAPS) return;
    this.found.sitemaps++;
    this.add({ key: `sitemap:${pageKey(url)}`, url, kind: "sitemap", depth: SITEMAP_DEPTH, hops: 0 });
  }

  /**
   * Pages that are named somewhere. What is not the site's, is no page or may have no end is not followed.
   * @returns the identifiers of those that are pages of the crawl.
   */
  addPages(written: readonly string[], { depth, hops = 0, isListed = false }: Found): number[] {
    if (this.source.type !== "website") return [];
    const urls = new Map<string, string>();
    for (const each of written) {
      const url = normalisedUrl(each);
      if (url === null || !isOfSite(url, this.crawl)) continue;
      const key = pageKey(url);
      if (!urls.has(key)) urls.set(key, onSite(url, this.crawl));
    }
    const known = this.stores.pages.findFound(this.source.id, this.source.syncNumber, [...urls.keys()]);
    return [...urls].flatMap(([key, url]) => known.get(key) ?? this.admit({ key, url, kind: "page", depth, hops }, isListed) ?? []);
  }

  /** What a page or a map leads to. */
  addLinks({ kind, depth }: Pick<PageRow, "kind" | "depth">, urls: readonly string[]): number[] {
    return this.addPages(urls, { depth: Math.max(FIRST_LINK_DEPTH, depth + 1), isListed: kind === "sitemap" });
  }

  /** Where a page redirects to: a page of the site; from the start also one elsewhere, where the site then is. */
  follow(page: PageRow, to: string): Followed {
    const url = normalisedUrl(to);
    const hops = page.hops + 1;
    if (url === null) return { reason: "bad_redirect" };
    if (hops > MAX_HOPS) return { reason: "too_many_redirects" };
    if (pageKey(url) === page.key) return this.respell(page, url, hops);
    if (page.depth === START_DEPTH && !isOfSite(url, this.crawl)) return this.moveTo(url, hops);
    if (page.depth === START_DEPTH) this.settleAt(url);
    const [id] = this.addPages([url], { depth: page.depth, hops });
    if (id !== undefined) return { id };
    return { reason: isOfSite(url, this.crawl) ? "not_a_page" : "other_host" };
  }

  /** The same page under another spelling of its address: that one is asked for then. */
  private respell(page: PageRow, url: string, hops: number): Followed {
    if (url === page.url) return { reason: "redirect_loop" };
    if (page.depth === START_DEPTH) this.settleAt(url);
    this.stores.pages.update(page.id, { url, hops, handedOut: 0 });
    return { id: page.id };
  }

  /** The site is asked with the scheme and the `www.` with which its start answers. */
  private settleAt(url: string): void {
    if (!isOfSite(url, this.crawl)) return;
    this.crawl.origin = siteOf(url).origin;
    if (this.crawl.robots !== null) this.rules = rulesOf(this.crawl.origin, this.crawl.robots);
  }

  /** The site lives on another host than it was said to. Its own rules hold there. */
  private moveTo(url: string, hops: number): Followed {
    const key = pageKey(url);
    if (this.stores.pages.findFound(this.source.id, this.source.syncNumber, [key]).has(key)) return { reason: "redirect_loop" };
    this.stores.pages.skipWaiting(this.source.id, "other_host");
    this.crawl.origin = siteOf(url).origin;
    this.crawl.robots = null;
    this.rules = undefined;
    this.addRobots();
    return { id: this.add({ key, url, kind: "page", depth: START_DEPTH, hops }) };
  }

  private addRobots(): void {
    const url = new URL("/robots.txt", this.crawl.origin).href;
    this.add({ key: `robots:${url}`, url, kind: "robots", depth: ROBOTS_DEPTH, hops: 0 });
  }

  private admit(page: Parameters<typeof this.add>[0], isListed: boolean): number | undefined {
    if (reasonToSkip(page.url, page.depth) !== null) return undefined;
    const { id, syncNumber, maxPages } = this.source;
    if (this.rules?.isAllowed(page.url) === false) {
      if (this.found.forbidden >= MAX_FORBIDDEN) return undefined;
      this.found.forbidden++;
      return this.stores.pages.addSkipped(id, syncNumber, page, "robots");
    }
    if (this.found.open >= Math.max(MIN_FOUND, FOUND_PER_PAGE * maxPages)) return undefined;
    // What a map names is listed, and so not without end.
    const group = isListed ? null : variantGroup(page.url);
    if (group && !this.stores.crawls.takeOfGroup(id, syncNumber, group)) return undefined;
    return this.add(page);
  }

  private add(page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops">): number {
    if (page.kind === "page") this.found.open++;
    return this.stores.pages.findOrAdd(this.source.id, this.source.syncNumber, page);
  }
}

let remembered: { origin: string; text: string; rules: RobotsRules } | undefined;

/** Reading the rules costs more than asking them: those of the last crawl are kept. */
function rulesOf(origin: string, text: string): RobotsRules {
  if (remembered?.origin !== origin || remembered.text !== text) {
    remembered = { origin, text, rules: parseRobots(new URL("/robots.txt", origin).href, text) };
  }
  return remembered.rules;
}
