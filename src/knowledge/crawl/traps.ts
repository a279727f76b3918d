import type { CrawlStorage } from "./crawl-store.ts";
import type { CrawlSource } from "./protocol.ts";
import type { TextSketch } from "./sketch.ts";
import { pageKey } from "./urls.ts";
import { type Variable, variablesOf } from "./variables.ts";

/*
 * Endless parts of sites: calendars, session identifiers, combinations of filters. A variable of URLs is a trap when many pages in a
 * row that differ from others only in it say nothing new; then of pages that differ only in it one is read.
 */

/** So many pages in a row may say nothing new before a variable is a trap. */
const PATIENCE = 24;
/** A list may show only what was read elsewhere, and yet lead to more. */
const PATIENCE_WITH_LISTS = 120;
/** A site that has spent its patience gets little for each further variable: more for one that brought new pages. */
const NEW_PAGES_PER_PATIENCE = 10;
/** A text is new by this share of its shingles, or by so many of them: a page may be mostly menus. */
const NEW_SHARE = 0.2;
const NEW_SHINGLES = 10;
/** The pages that may wait for each one of a variable that was new, beyond its first ones. */
const FOUND_PER_NEW = 5;

const FOUND = 1;
const READ = 2;

/** A URL of a crawl: a page of its own; a variant of others, to be read if its variables are no traps; or too many. */
export type UrlKind = "page" | "variant" | "endless";

/** What a crawl knows of the variables of its URLs, which are normalised. */
export class Traps {
  private counts = new Map<string, number>();
  private readonly changed = new Map<string, number>();

  constructor(
    private readonly storage: CrawlStorage,
    private readonly source: Pick<CrawlSource, "id" | "syncNumber">,
  ) {}

  /**
   * Says of each of some new URLs what it is, and counts it as found.
   * @param most how many variants in one variable are found before any of them was read.
   */
  admit(urls: readonly string[], most: number): UrlKind[] {
    const all = this.load(urls);
    const kinds = all.map(({ variables, keys }): UrlKind => {
      const varied = variables.filter(({ rest }) => this.countOf(pageCount(rest)) >= FOUND);
      const isEndless = varied.some((variable) => {
        const { found, fresh } = countsOf(variable);
        return this.isTrap(variable) || this.countOf(found) >= most + FOUND_PER_NEW * this.countOf(fresh);
      });
      if (isEndless) return "endless";
      for (const variable of varied) this.add(countsOf(variable).found, 1);
      for (const key of keys) if (this.countOf(key) === 0) this.set(key, FOUND);
      return varied.length > 0 ? "variant" : "page";
    });
    this.save();
    return kinds;
  }

  /** Whether each of some variants that wait has turned out to be one of too many. */
  areEndless(urls: readonly string[]): boolean[] {
    return this.load(urls).map(({ variables }) => variables.some((variable) => this.isTrap(variable) && this.isRead(variable)));
  }

  /** Learns from a page that was read whether those variables matter in which it differs from pages that were read before. */
  learn(url: string, { shingles, oneOf }: TextSketch): void {
    const seen = shingles.map((shingle) => `text ${shingle}`);
    const [page] = this.load([url], seen);
    const unseen = seen.filter((key) => this.countOf(key) === 0);
    const isNew = unseen.length > seen.length * NEW_SHARE || (unseen.length > 1 && unseen.length * oneOf >= NEW_SHINGLES);
    const varied = page!.variables.filter((variable) => this.isRead(variable));
    for (const variable of varied) {
      const { fresh, same } = countsOf(variable);
      if (isNew) this.add(fresh, 1);
      this.set(same, isNew ? 0 : this.countOf(same) + 1);
    }
    if (!isNew && varied.some(({ isPageNumber }) => !isPageNumber)) this.add(WASTED, 1);
    for (const key of [...unseen, ...page!.keys]) this.set(key, READ);
    this.save();
  }

  /** Notes a page that is unchanged since the last crawl, whose text is not at hand. */
  noteUnchanged(url: string): void {
    const [page] = this.load([url]);
    for (const key of page!.keys) this.set(key, READ);
    this.save();
  }

  private isTrap(variable: Variable): boolean {
    return this.countOf(countsOf(variable).same) >= this.patienceWith(variable);
  }

  private patienceWith(variable: Variable): number {
    if (variable.isPageNumber) return PATIENCE_WITH_LISTS;
    if (this.countOf(WASTED) < PATIENCE) return PATIENCE;
    return Math.min(PATIENCE, 1 + Math.floor(this.countOf(countsOf(variable).fresh) / NEW_PAGES_PER_PATIENCE));
  }

  private isRead({ rest }: Variable): boolean {
    return this.countOf(pageCount(rest)) === READ;
  }

  // --- Counts ---

  private load(urls: readonly string[], others: readonly string[] = []): PageCounts[] {
    const pages = urls.map((url): PageCounts => {
      const variables = variablesOf(url);
      return { variables, keys: [pageKey(url), ...variables.map(({ rest }) => rest)].map(pageCount) };
    });
    const keys = pages.flatMap((page) => [...page.keys, ...page.variables.flatMap((variable) => Object.values(countsOf(variable)))]);
    this.counts = this.storage.crawls.readCounts(this.source, [...new Set([...keys, ...others, WASTED])]);
    this.changed.clear();
    return pages;
  }

  private save(): void {
    this.storage.crawls.saveCounts(this.source, this.changed);
  }

  private countOf(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  private add(key: string, more: number): void {
    this.set(key, this.countOf(key) + more);
  }

  private set(key: string, count: number): void {
    if (this.countOf(key) === count) return;
    this.counts.set(key, count);
    this.changed.set(key, count);
  }
}

/** A URL's variables, and the keys of the counts that say whether it, or one that differs in one of them, was found or read. */
interface PageCounts {
  variables: Variable[];
  keys: string[];
}

/** How many pages of the crawl said nothing new. */
const WASTED = "wasted";

/** The keys of a variable's counts: variants found, variants that said something new, and those in a row that did not. */
function countsOf({ name }: Variable) {
  return { found: `found ${name}`, fresh: `new ${name}`, same: `same ${name}` };
}

function pageCount(keyOrRest: string): string {
  return `page ${keyOrRest}`;
}
