import { parseRobots, type RobotsRules } from "./crawl/robots.ts";
import { isTrap, normalizeUrl } from "./crawl/url.ts";
import type { CrawlSource } from "./crawl-protocol.ts";
import type { CrawlRow, PageKind, PageStore } from "./page-store.ts";

/** Deeper pages than this are a loop that no other guard has seen. */
const MAX_DEPTH = 30;
/** How many pages are noted for each that may be read: an endless site ends here. */
const FOUND_PER_PAGE = 5;
const MIN_FOUND = 1_000;
const MAX_SITEMAPS = 100;
/** Robots first, then the maps of the site, then its pages. */
const ROBOTS_DEPTH = -2;
const SITEMAP_DEPTH = -1;
const START_DEPTH = 0;

/** What a crawl knows to be there: it decides which addresses belong to it. */
export class Frontier {
  private found: number;
  private rules: RobotsRules | undefined;

  constructor(
    private readonly pages: PageStore,
    private readonly source: CrawlSource,
    private readonly crawl: CrawlRow,
  ) {
    this.found = pages.countFound(source.id, crawl.run);
    this.rules = crawl.robots === null ? undefined : rulesOf(crawl.robots);
  }

  /** The pause that the site asks for. */
  get delayInSeconds(): number {
    return this.rules?.delayInSeconds ?? 0;
  }

  /** The addresses that a crawl begins with. */
  addRoots(startUrl: string): void {
    if (this.source.type === "website") this.add("robots", new URL("/robots.txt", startUrl).href, ROBOTS_DEPTH);
    this.add("page", startUrl, START_DEPTH);
  }

  /** The site's rules: from now on they hold, and its maps are known. */
  useRobots(url: string, text: string): void {
    this.crawl.robots = JSON.stringify({ url, text });
    this.pages.updateCrawl(this.source.id, { robots: this.crawl.robots });
    this.rules = rulesOf(this.crawl.robots);
    const named = this.rules.sitemaps;
    for (const sitemap of named.length > 0 ? named : [new URL("/sitemap.xml", url).href]) this.addSitemap(sitemap);
    for (const { id, url: known } of this.pages.listWaiting(this.source.id, Infinity, MIN_FOUND)) {
      if (this.isPage(known) && !this.rules.isAllowed(known)) this.pages.updatePage(id, { state: "skipped", reason: "robots" });
    }
  }

  /** A map of the site, where it is the site's own. */
  addSitemap(url: string): void {
    if (this.isOurs(url) && this.pages.countKind(this.source.id, this.crawl.run, "sitemap") < MAX_SITEMAPS) this.add("sitemap", url, SITEMAP_DEPTH);
  }

  /**
   * A page that another names. One that is not the site's, or that no robot may read, is not followed.
   * @returns its identifier, if it is a page of the crawl.
   */
  addPage(url: string, depth: number): number | undefined {
    const normal = normalizeUrl(url);
    if (this.source.type !== "website" || !normal || !this.isOurs(normal.url) || depth > MAX_DEPTH || isTrap(normal.url)) return undefined;
    if (this.found >= Math.max(MIN_FOUND, FOUND_PER_PAGE * this.source.maxPages)) return undefined;
    const isAllowed = this.rules?.isAllowed(normal.url) ?? true;
    return this.add("page", normal.url, depth, isAllowed ? undefined : "robots");
  }

  /** Where a page leads: on the same site, or anywhere from the start, which then is the site. */
  follow(page: { url: string; depth: number; kind: PageKind }, to: string): number | undefined {
    const normal = normalizeUrl(to);
    if (!normal) return undefined;
    if (this.source.type === "url") return this.add("page", normal.url, START_DEPTH);
    if (page.depth === START_DEPTH && page.kind === "page" && !this.isOurs(normal.url)) this.moveTo(normal.url);
    if (page.kind === "page") return this.addPage(normal.url, page.depth);
    return this.isOurs(normal.url) ? this.add(page.kind, to, page.depth) : undefined;
  }

  /** The site lives elsewhere than it was said to, as example.com does at www.example.com. */
  private moveTo(url: string): void {
    this.crawl.host = new URL(url).host;
    this.crawl.robots = null;
    this.rules = undefined;
    this.pages.updateCrawl(this.source.id, { host: this.crawl.host, robots: null });
    this.addRoots(url);
  }

  private add(kind: PageKind, url: string, depth: number, skippedFor?: string): number {
    this.found++;
    const key = kind === "page" ? normalizeUrl(url)!.key : `${kind}:${url}`;
    return this.pages.findOrAdd(this.source.id, this.crawl.run, { key, url, kind, depth, ...(skippedFor && { skippedFor }) });
  }

  private isOurs(url: string): boolean {
    return URL.canParse(url) && new URL(url).host === this.crawl.host;
  }

  private isPage(url: string): boolean {
    return new URL(url).pathname !== "/robots.txt";
  }
}

let remembered: { robots: string; rules: RobotsRules } | undefined;

/** Reading the rules costs more than asking them: those of the crawl that runs are kept. */
function rulesOf(robots: string): RobotsRules {
  if (remembered?.robots !== robots) {
    const { url, text } = JSON.parse(robots) as { url: string; text: string };
    remembered = { robots, rules: parseRobots(url, text) };
  }
  return remembered.rules;
}
