import type { PageCounts, PageKind } from "./protocol.ts";
import type { Binding, CrawlTables } from "./tables.ts";

/**
 * Where a page stands in its crawl: to be fetched; read, with its text waiting to be indexed; indexed; the same as when it
 * was last read; failed for now, with what was read before kept; failed; not taken, for a reason; a name of another page.
 */
export type PageState = "waiting" | "fetched" | "indexed" | "unchanged" | "kept" | "failed" | "skipped" | "alias";

/** A page of a site, from one crawl to the next. */
export interface PageRow {
  id: number;
  key: string;
  url: string;
  kind: PageKind;
  /** Links between the start and here. */
  depth: number;
  state: PageState;
  reason: string | null;
  /** The state in which the crawl before left it, and why. */
  lastState: PageState | null;
  lastReason: string | null;
  /** Fetches in this crawl that failed. */
  attempts: number;
  /** Redirects on the way here. */
  hops: number;
  /** How often it was handed out without a result. */
  handedOut: number;
  /** Before it is tried again, Unix milliseconds. */
  notBeforeMs: number;
  etag: string | null;
  lastModified: string | null;
  /** Of what was read last. */
  hash: string | null;
  /** What is in use of it. */
  documentId: number | null;
  /** What this crawl has built of it. */
  builtId: number | null;
  /** JSON: the identifiers of the pages that it leads to. */
  links: string | null;
  /** JSON: the fingerprints that are counted for it. */
  blocks: string | null;
}

/** Each of them as a column. */
const COLUMN_OF: Record<keyof PageRow, string> = {
  id: "id",
  key: "page_key",
  url: "url",
  kind: "kind",
  depth: "depth",
  state: "state",
  reason: "reason",
  lastState: "last_state",
  lastReason: "last_reason",
  attempts: "attempts",
  hops: "hops",
  handedOut: "handed_out",
  notBeforeMs: "not_before",
  etag: "etag",
  lastModified: "last_modified",
  hash: "hash",
  documentId: "document_id",
  builtId: "built_id",
  links: "links",
  blocks: "blocks",
};
const COLUMNS = Object.entries(COLUMN_OF)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(", ");

const WAITING = "source_id = ? AND state = 'waiting'";

/** Every statement on the pages of an agent's sites while they are crawled. `run` is the number of the sync. */
export class PageStore {
  constructor(private readonly tables: CrawlTables) {}

  /** Prepares for the next run: nothing waits, and what was read but not brought into use is to be read again. */
  prepare(sourceId: string): void {
    this.tables.run(
      `UPDATE pages SET hash = NULL, etag = NULL, last_modified = NULL, built_id = NULL
        WHERE source_id = ? AND state IN ('fetched', 'indexed') AND built_id IS NOT document_id OR source_id = ? AND state = 'fetched'`,
      sourceId,
      sourceId,
    );
    this.tables.run(`UPDATE pages SET state = 'alias' WHERE ${WAITING}`, sourceId);
  }

  /** Notes a page that this run has found, to be fetched. One that it has found before stays as it is. */
  findOrAdd(sourceId: string, run: number, page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops">): number {
    return this.put(sourceId, run, { ...page, state: "waiting", reason: null });
  }

  /** Notes a page that is not to be fetched. */
  addSkipped(sourceId: string, run: number, page: Pick<PageRow, "key" | "url" | "depth">, reason: string): number {
    return this.put(sourceId, run, { ...page, kind: "page", hops: 0, state: "skipped", reason });
  }

  /** A page that was read keeps the spelling of its address that led there. */
  private put(sourceId: string, run: number, page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops" | "state" | "reason">): number {
    const { key, url, kind, depth, hops, state, reason } = page;
    this.tables.run(
      `INSERT INTO pages (source_id, page_key, url, kind, run, depth, hops, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (source_id, page_key) DO UPDATE SET run = excluded.run, url = iif(document_id IS NULL, excluded.url, url),
          depth = excluded.depth, hops = excluded.hops, last_state = state, last_reason = reason, state = excluded.state,
          reason = excluded.reason, attempts = 0, handed_out = 0, not_before = 0 WHERE run < excluded.run`,
      sourceId,
      key,
      url,
      kind,
      run,
      depth,
      hops,
      state,
      reason,
    );
    return this.tables.all<{ id: number }>("SELECT id FROM pages WHERE source_id = ? AND page_key = ?", sourceId, key)[0]!.id;
  }

  find(sourceId: string, id: number): PageRow | undefined {
    return this.tables.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE source_id = ? AND id = ?`, sourceId, id)[0];
  }

  /** The identifiers of those of these pages that this run has found. */
  findFound(sourceId: string, run: number, keys: readonly string[]): Map<string, number> {
    const query = `SELECT page_key AS key, id FROM pages WHERE source_id = ? AND run = ? AND page_key IN (SELECT value FROM json_each(?))`;
    const rows = this.tables.all<{ key: string; id: number }>(query, sourceId, run, JSON.stringify(keys));
    return new Map(rows.map(({ key, id }) => [key, id]));
  }

  update(id: number, changes: Partial<Omit<PageRow, "id" | "key" | "kind">>): void {
    const given = Object.entries(changes) as [keyof PageRow, Binding][];
    const set = given.map(([name]) => `${COLUMN_OF[name]} = ?`).join(", ");
    this.tables.run(`UPDATE pages SET ${set} WHERE id = ?`, ...given.map(([, value]) => value), id);
  }

  /** The addresses of the pages that a page led to when it was last read. */
  listLinked(links: string | null): string[] {
    if (links === null) return [];
    const query = "SELECT url FROM pages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id";
    return this.tables.all<{ url: string }>(query, links).map(({ url }) => url);
  }

  // --- What waits ---

  /** The page that comes first, whether it may be fetched yet or not. */
  findFirstWaiting(sourceId: string): PageRow | undefined {
    return this.tables.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE ${WAITING} ORDER BY depth, id LIMIT 1`, sourceId)[0];
  }

  /** The next pages that may be fetched now, the nearest to the start first. */
  listDue(sourceId: string, nowMs: number, limit: number): PageRow[] {
    const query = `SELECT ${COLUMNS} FROM pages WHERE ${WAITING} AND not_before <= ? ORDER BY depth, id LIMIT ?`;
    return this.tables.all(query, sourceId, nowMs, limit);
  }

  /** When the first of the waiting pages may be fetched. */
  nextDueAtMs(sourceId: string): number {
    return this.tables.all<{ atMs: number }>(`SELECT min(not_before) AS atMs FROM pages WHERE ${WAITING}`, sourceId)[0]!.atMs;
  }

  noteHandedOut(ids: readonly number[]): void {
    this.tables.run("UPDATE pages SET handed_out = handed_out + 1 WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** Pages that were handed out and not asked for are as they were before. */
  takeBack(sourceId: string, ids: readonly number[]): void {
    const query = `UPDATE pages SET handed_out = handed_out - 1
      WHERE ${WAITING} AND handed_out > 0 AND id IN (SELECT value FROM json_each(?))`;
    this.tables.run(query, sourceId, JSON.stringify(ids));
  }

  /** Whatever waits is not fetched in this run. */
  skipWaiting(sourceId: string, reason: string): void {
    this.tables.run(`UPDATE pages SET state = iif(kind = 'page', 'skipped', 'failed'), reason = ? WHERE ${WAITING}`, reason, sourceId);
  }

  /** Whatever waits fails for now. */
  failWaiting(sourceId: string, reason: string): void {
    const query = `UPDATE pages SET state = iif(document_id IS NULL, 'failed', 'kept'), reason = ? WHERE ${WAITING}`;
    this.tables.run(query, reason, sourceId);
  }

  // --- What there is ---

  /** Whether another page that this run has read says the very same. */
  isDuplicate(sourceId: string, run: number, id: number, hash: string): boolean {
    const query = `SELECT 1 FROM pages WHERE source_id = ? AND hash = ? AND run = ? AND id <> ? AND state IN ('fetched', 'unchanged') LIMIT 1`;
    return this.tables.all(query, sourceId, hash, run, id).length > 0;
  }

  /** How many this run has found: those that are or were to be fetched, those that robots.txt forbids, and maps. */
  countFound(sourceId: string, run: number): { open: number; forbidden: number; sitemaps: number } {
    return this.tables.all<{ open: number; forbidden: number; sitemaps: number }>(
      `SELECT count(*) FILTER (WHERE kind = 'page' AND reason IS NOT 'robots') AS open, count(*) FILTER (WHERE reason = 'robots') AS forbidden,
          count(*) FILTER (WHERE kind = 'sitemap') AS sitemaps
        FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ?`,
      sourceId,
      run,
    )[0]!;
  }

  countPages(sourceId: string, run: number): PageCounts {
    return this.tables.all<PageCounts>(
      `SELECT count(*) FILTER (WHERE state <> 'alias') AS found,
          count(*) FILTER (WHERE state IN ('fetched', 'indexed', 'unchanged')) AS indexed,
          count(*) FILTER (WHERE state IN ('failed', 'kept')) AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped
        FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'page'`,
      sourceId,
      run,
    )[0]!;
  }

  /** Why the page of a kind that is nearest to the start was not read. */
  findFirstReason(sourceId: string, run: number, kind: PageKind): string | null {
    const query = `SELECT reason FROM pages WHERE source_id = ? AND run = ? AND kind = ? AND state IN ('failed', 'skipped', 'kept')
      ORDER BY depth, id LIMIT 1`;
    return this.tables.all<{ reason: string | null }>(query, sourceId, run, kind)[0]?.reason ?? null;
  }
}

/** A page that was read and waits to be indexed. */
export interface UnindexedPage {
  id: number;
  url: string;
  hash: string;
  title: string;
  text: string;
  blocks: string[];
  /** Its document, once a part of it is indexed. */
  builtId: number | null;
}

/** Every statement on the texts of pages that wait to be indexed, and on how many pages share which blocks. */
export class PageTexts {
  constructor(private readonly tables: CrawlTables) {}

  put(pageId: number, title: string, text: string): void {
    this.tables.run("INSERT OR REPLACE INTO page_texts (page_id, title, text) VALUES (?, ?, ?)", pageId, title, text);
  }

  drop(pageId: number): void {
    this.tables.run("DELETE FROM page_texts WHERE page_id = ?", pageId);
  }

  /** The next page that waits to be indexed. */
  findUnindexed(sourceId: string): UnindexedPage | undefined {
    const query = `SELECT p.id, p.url, p.hash, p.blocks, p.built_id AS builtId, t.title, t.text FROM pages p JOIN page_texts t ON t.page_id = p.id
      WHERE p.source_id = ? AND p.state = 'fetched' ORDER BY p.id LIMIT 1`;
    const [row] = this.tables.all<Omit<UnindexedPage, "blocks"> & { blocks: string }>(query, sourceId);
    return row && { ...row, blocks: JSON.parse(row.blocks) as string[] };
  }

  /** Counts a page's blocks, or takes them back. */
  countBlocks(sourceId: string, blocks: readonly string[], change: 1 | -1): void {
    this.tables.run(
      `INSERT INTO page_blocks (source_id, block, pages) SELECT ?, value, ? FROM json_each(?) WHERE true
        ON CONFLICT (source_id, block) DO UPDATE SET pages = pages + excluded.pages`,
      sourceId,
      change,
      JSON.stringify(blocks),
    );
  }

  /** On how many pages each of these blocks stands. */
  countHolding(sourceId: string, blocks: readonly string[]): Map<string, number> {
    const query = "SELECT block, pages FROM page_blocks WHERE source_id = ? AND block IN (SELECT value FROM json_each(?))";
    const rows = this.tables.all<{ block: string; pages: number }>(query, sourceId, JSON.stringify(blocks));
    return new Map(rows.map(({ block, pages }) => [block, pages]));
  }

  dropUnheldBlocks(sourceId: string): void {
    this.tables.run("DELETE FROM page_blocks WHERE source_id = ? AND pages <= 0", sourceId);
  }

  removeSource(sourceId: string): void {
    this.dropAll(sourceId);
    this.tables.run("DELETE FROM page_blocks WHERE source_id = ?", sourceId);
  }

  /** Drops the texts that wait. */
  dropAll(sourceId: string): void {
    this.tables.run("DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ?)", sourceId);
  }
}
