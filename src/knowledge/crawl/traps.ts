import { fnv1a } from "../../platform/text.ts";
import type { CrawlStore } from "./crawl-store.ts";
import type { TextSketch } from "./sketch.ts";
import { pageKey } from "./urls.ts";
import { type Variable, variablesOf } from "./variables.ts";

/*
 * Recognises endless parts of sites: calendars, session identifiers, combinations of filters. A variable of URLs is a trap when many
 * pages in a row that differ from others only in this variable have no new text. Of the pages that differ only in a trap, one is read.
 */

/** The number of pages in a row without new text that makes a variable a trap. */
const PATIENCE = 24;
/** The number for a variable that is a page number. It is larger, because pages of a list may repeat texts and still link to new pages. */
const PATIENCE_WITH_LISTS = 120;
/** Once a crawl has read PATIENCE pages without new text, a variable is a trap after one, plus one for each 10 of its pages with new text. */
const NEW_PAGES_PER_PATIENCE = 10;
/** A text is new if this share of its shingles is, or this number of them: a page may consist mostly of menus. */
const NEW_SHARE = 0.2;
const NEW_SHINGLES = 10;
/** The number of pages of a variable that may be found beyond the first ones, for each of its pages with new text. */
const FOUND_PER_NEW = 5;

const FOUND = 1;
const READ = 2;

/** A page of its own, a variant of other pages that is read unless a variable is a trap, or a page that is left out. */
export type UrlKind = "page" | "variant" | "endless";

/** The counts of a crawl for the variables of its URLs, which are normalised. */
export class Traps {
  private counts = new Map<string, number>();
  private readonly changed = new Map<string, number>();

  constructor(private readonly store: Pick<CrawlStore, "readCounts" | "saveCounts">) {}

  /**
   * Returns the kinds of new URLs, and counts them as found.
   * @param most the number of variants in one variable that may be found before any of them is read.
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

  /** Returns for each of these waiting variants whether it has turned out to be endless. */
  areEndless(urls: readonly string[]): boolean[] {
    return this.load(urls).map(({ variables }) => variables.some((variable) => this.isTrap(variable) && this.isRead(variable)));
  }

  /** Counts a page that was read for each variable in which it differs from pages that were read before. */
  notePage(url: string, { shingles, oneOf }: TextSketch): void {
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

  /** Counts a page that is unchanged since the last crawl as read. Its text is not known here. */
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

  private load(urls: readonly string[], others: readonly string[] = []): PageKeys[] {
    const pages = urls.map((url): PageKeys => {
      const variables = variablesOf(url).map((variable) => ({
        ...variable,
        name: fingerprintOf(variable.name),
        rest: fingerprintOf(variable.rest),
      }));
      return { variables, keys: [fingerprintOf(pageKey(url)), ...variables.map(({ rest }) => rest)].map(pageCount) };
    });
    const keys = pages.flatMap((page) => [...page.keys, ...page.variables.flatMap((variable) => Object.values(countsOf(variable)))]);
    this.counts = this.store.readCounts([...new Set([...keys, ...others, WASTED])]);
    this.changed.clear();
    return pages;
  }

  private save(): void {
    this.store.saveCounts(this.changed);
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

/** A URL's variables with the fingerprints of their texts, and the keys under which the URL and its variants are marked as found or read. */
interface PageKeys {
  variables: Variable[];
  keys: string[];
}

/** The key for the number of pages of the crawl without new text. */
const WASTED = "wasted";

/**
 * Returns a short text that stands for a long one in the keys of counts, since a page with long links has thousands of keys. It consists of
 * two checksums, which two texts are most unlikely to have in common.
 */
function fingerprintOf(text: string): string {
  const once = fnv1a(text);
  return `${once.toString(36)}.${fnv1a(text, once).toString(36)}`;
}

/** The keys of a variable's counts: variants found, variants with new text, and variants in a row without. */
function countsOf({ name }: Variable) {
  return { found: `found ${name}`, fresh: `new ${name}`, same: `same ${name}` };
}

function pageCount(keyOrRest: string): string {
  return `page ${keyOrRest}`;
}
