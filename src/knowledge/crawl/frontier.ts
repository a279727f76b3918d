import type { CrawlRow, CrawlStore } from "./crawl-store.ts";
import { type FoundCounts, type PageRow, type PageStore, VARIANT } from "./page-store.ts";
import type { CrawlSource } from "./protocol.ts";
import { parseRobots, type RobotsRules } from "./robots.ts";
import type { Traps } from "./traps.ts";
import { isOfSite, normalisedUrl, onSite, pageKey, reasonToSkip } from "./urls.ts";

/** URLs stored per page of the limit, since some are skipped or fail; a bound for endless sites. */
const FOUND_PER_PAGE = 5;
const MIN_FOUND = 1_000;
/** How many times the limit of URLs may be dropped as endless before they take the room of others. */
const ROOM_AGAIN = 2;
/** The share of all URLs that may differ in one variable before any of these is read. */
const VARIANTS_SHARE = 1 / 4;
/** The most pages that are listed as forbidden by robots.txt. */
const MAX_FORBIDDEN = 1_000;
const MAX_SITEMAPS = 100;
const MAX_HOPS = 10;
/** The reason of pages that are of another host than the crawl. */
export const OTHER_HOST = "other_host";

/** The order of fetching: robots.txt, the start page, sitemaps, then links by their depth. */
const ROBOTS_DEPTH = -1;
export const START_DEPTH = 0;
const SITEMAP_DEPTH = 1;
const FIRST_LINK_DEPTH = 2;

/** The page that a redirect leads to, or the reason why it leads to none. */
export type RedirectTarget = { id: number } | { reason: string };

interface Found {
  depth: number;
  hops?: number;
  /** Whether a sitemap lists the pages. */
  inSitemap?: boolean;
}

/** Decides which URLs belong to a crawl, and adds them to its queue. */
export class Frontier {
  private readonly pages: PageStore;
  private readonly source: CrawlSource;
  private readonly found: FoundCounts;
  private rules: RobotsRules | undefined;

  constructor(
    { pages, source }: CrawlStore,
    private readonly crawl: CrawlRow,
    private readonly traps: Traps,
  ) {
    this.pages = pages;
    this.source = source;
    this.found = pages.countFound();
    if (crawl.robots !== null) this.rules = rulesOf(crawl.origin, crawl.robots);
  }

  /** The Crawl-delay of robots.txt. */
  get delayInSeconds(): number {
    return this.rules?.delayInSeconds ?? 0;
  }

  /**
   * Adds the first URLs of a crawl.
   * @param startUrl is normalised.
   */
  addRoots(startUrl: string): void {
    if (this.source.type === "website") this.addRobots();
    this.add({ key: pageKey(startUrl), url: startUrl, kind: "page", depth: START_DEPTH, hops: 0 });
  }

  /** Applies a robots.txt that was fetched, and adds its sitemaps. */
  useRobots(text: string): void {
    this.crawl.robots = text;
    this.rules = rulesOf(this.crawl.origin, text);
    const first = this.pages.findFirstWaiting();
    if (first?.kind === "page" && !this.rules.isAllowed(first.url)) this.pages.update(first.id, { state: "skipped", reason: "robots" });
    const named = this.rules.sitemaps;
    for (const sitemap of named.length > 0 ? named : [new URL("/sitemap.xml", this.crawl.origin).href]) this.addSitemap(sitemap);
  }

  /** Adds a sitemap if it is on the site. */
  addSitemap(href: string): void {
    const url = normalisedUrl(href);
    if (url === null || !isOfSite(url, this.crawl.origin) || this.found.sitemaps >= MAX_SITEMAPS) return;
    this.found.sitemaps++;
    const id = this.add({ key: `sitemap:${pageKey(url)}`, url, kind: "sitemap", depth: SITEMAP_DEPTH, hops: 0 });
    // A crawl that comes back to a host reads its sitemaps after all.
    if (this.pages.find(id)?.reason === OTHER_HOST) this.pages.update(id, { state: "waiting", reason: null, leases: 0 });
  }

  /**
   * Adds pages of the site, except those that hold no text or look endless.
   * @returns the identifiers of the pages that belong to the crawl, whether they are new or not.
   */
  addPages(href: readonly string[], { depth, hops = 0, inSitemap = false }: Found): number[] {
    if (this.source.type !== "website") return [];
    const urls = new Map<string, string>();
    for (const each of href) {
      const url = normalisedUrl(each);
      if (url === null || !isOfSite(url, this.crawl.origin)) continue;
      const key = pageKey(url);
      if (!urls.has(key)) urls.set(key, onSite(url, this.crawl.origin));
    }
    const known = this.pages.findIdsByKey([...urls.keys()]);
    const unknown = [...urls].filter(([key, url]) => !known.has(key) && reasonToSkip(url) === null).slice(0, this.room);
    // A sitemap is finite, so its pages are in no trap.
    const kinds = inSitemap
      ? []
      : this.traps.admit(
          unknown.map(([, url]) => url),
          VARIANTS_SHARE * this.mostFound,
        );
    const added = unknown.flatMap(([key, url], at) => {
      const kind = kinds[at] ?? "page";
      return kind === "endless" ? [] : (this.addUnlessForbidden({ key, url, depth, hops }, kind) ?? []);
    });
    return [...known.values(), ...added];
  }

  /** Adds the pages that a page or a sitemap links to. */
  addLinks({ kind, depth }: Pick<PageRow, "kind" | "depth">, urls: readonly string[]): number[] {
    return this.addPages(urls, { depth: Math.max(FIRST_LINK_DEPTH, depth + 1), inSitemap: kind === "sitemap" });
  }

  /** Follows a redirect to a page of the site; from the start page also to another host, where the crawl then continues. */
  follow(page: PageRow, to: string): RedirectTarget {
    const url = normalisedUrl(to);
    const hops = page.hops + 1;
    if (url === null) return { reason: "bad_redirect" };
    if (hops > MAX_HOPS) return { reason: "too_many_redirects" };
    if (pageKey(url) === page.key) return this.followSamePage(page, url, hops);
    if (page.depth === START_DEPTH && !isOfSite(url, this.crawl.origin)) return this.moveToHost(url, hops);
    if (page.depth === START_DEPTH) this.useOriginOf(url);
    const [id] = this.addPages([url], { depth: page.depth, hops });
    if (id !== undefined) return { id };
    return { reason: isOfSite(url, this.crawl.origin) ? "not_a_page" : OTHER_HOST };
  }

  /** Follows a redirect to another URL of the same page, under which it is then fetched. */
  private followSamePage(page: PageRow, url: string, hops: number): RedirectTarget {
    if (url === page.url) return { reason: "redirect_loop" };
    if (page.depth === START_DEPTH) this.useOriginOf(url);
    if (this.rules?.isAllowed(onSite(url, this.crawl.origin)) === false) return { reason: "robots" };
    this.pages.update(page.id, { url, hops, leases: 0 });
    return { id: page.id };
  }

  /** Fetches the site under the scheme and the host, with or without `www.`, to which its start page redirects. */
  private useOriginOf(url: string): void {
    if (!isOfSite(url, this.crawl.origin)) return;
    this.crawl.origin = new URL(url).origin;
    if (this.crawl.robots !== null) this.rules = rulesOf(this.crawl.origin, this.crawl.robots);
  }

  /** Continues the crawl on another host, with that host's robots.txt. */
  private moveToHost(url: string, hops: number): RedirectTarget {
    const key = pageKey(url);
    if (this.pages.findIdsByKey([key]).has(key)) return { reason: "redirect_loop" };
    this.pages.skipWaiting(OTHER_HOST);
    this.crawl.origin = new URL(url).origin;
    this.crawl.robots = null;
    this.rules = undefined;
    this.addRobots();
    return { id: this.add({ key, url, kind: "page", depth: START_DEPTH, hops }) };
  }

  private addRobots(): void {
    const url = new URL("/robots.txt", this.crawl.origin).href;
    const id = this.add({ key: `robots:${url}`, url, kind: "robots", depth: ROBOTS_DEPTH, hops: 0 });
    // A crawl that comes back to a host reads its rules again.
    this.pages.update(id, { state: "waiting", leases: 0 });
  }

  private addUnlessForbidden(page: Pick<PageRow, "key" | "url" | "depth" | "hops">, kind: "page" | "variant"): number | undefined {
    if (this.rules?.isAllowed(page.url) === false) {
      if (this.found.forbidden >= MAX_FORBIDDEN) return undefined;
      this.found.forbidden++;
      return this.pages.findOrAdd({ ...page, kind: "page", state: "skipped", reason: "robots" });
    }
    return this.add({ ...page, kind: "page" }, kind === "variant" ? VARIANT : null);
  }

  /** How many more URLs may be stored. */
  private get room(): number {
    const { open, endless } = this.found;
    return Math.max(0, this.mostFound - open - Math.max(0, endless - ROOM_AGAIN * this.mostFound));
  }

  private get mostFound(): number {
    return Math.max(MIN_FOUND, FOUND_PER_PAGE * this.source.maxPages);
  }

  private add(page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops">, reason: string | null = null): number {
    if (page.kind === "page") this.found.open++;
    return this.pages.findOrAdd({ ...page, state: "waiting", reason });
  }
}

let cached: { origin: string; text: string; rules: RobotsRules } | undefined;

/** Parses the rules of a robots.txt. Parsing costs more than a check, so the rules of the last crawl are cached. */
function rulesOf(origin: string, text: string): RobotsRules {
  if (cached?.origin !== origin || cached.text !== text) {
    cached = { origin, text, rules: parseRobots(new URL("/robots.txt", origin).href, text) };
  }
  return cached.rules;
}
