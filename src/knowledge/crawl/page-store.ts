import type { Binding, IndexStore } from "../indexing/store.ts";
import type { CrawlSource, PageCounts, PageKind } from "./protocol.ts";

/**
 * A page in its crawl: `waiting` to be fetched; `fetched`, with its text waiting to be indexed; `indexed`; `unchanged` since the last
 * crawl; `kept` from the last crawl, since it failed now; `failed`; `skipped` for a reason; an `alias` of another page.
 */
export type PageState = "waiting" | "fetched" | "indexed" | "unchanged" | "kept" | "failed" | "skipped" | "alias";

/** The reason of a waiting page that is dropped if it turns out to be one of an endless number. */
export const VARIANT = "variant";
/** The reason of a page that was dropped as one of an endless number. */
export const ENDLESS = "endless";

/** A page of a site, from one crawl to the next. */
export interface PageRow {
  id: number;
  key: string;
  url: string;
  kind: PageKind;
  /** The number of links between the start page and this one. */
  depth: number;
  state: PageState;
  reason: string | null;
  /** The state and reason at the end of the last crawl. */
  lastState: PageState | null;
  lastReason: string | null;
  /** The number of fetches that failed in this crawl. */
  attempts: number;
  /** The number of redirects that led here. */
  hops: number;
  /** How often the page was leased for fetching without a result. */
  leases: number;
  /** The earliest time of the next fetch, in Unix milliseconds. */
  notBeforeMs: number;
  etag: string | null;
  lastModified: string | null;
  /** The hash of the content that was read last. */
  hash: string | null;
  /** The page's document in the live generation. */
  documentId: number | null;
  /** The page's document in the generation that this crawl builds. */
  builtId: number | null;
  /** The identifiers of the linked pages, as JSON. */
  links: string | null;
  /** The fingerprints of the page's blocks that are counted, as JSON. */
  blocks: string | null;
}

/** A fetched page that waits to be indexed. */
export interface UnindexedPage {
  id: number;
  url: string;
  hash: string;
  title: string;
  text: string;
  blocks: string[];
  /** The page's document, once some of its chunks are indexed. */
  builtId: number | null;
}

/** A page in its state at the end of the last crawl, or in the running one. */
export interface ListedPage {
  url: string;
  title: string | null;
  state: PageState;
  reason: string | null;
  /** Whether the agent answers from it. */
  inUse: boolean;
}

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
  leases: "handed_out",
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

/** The numbers of URLs that a sync has found. */
export interface FoundCounts {
  /** Pages, without those that are endless or forbidden. */
  open: number;
  endless: number;
  /** Pages that robots.txt forbids. */
  forbidden: number;
  sitemaps: number;
}

const WAITING = "source_id = ?1 AND state = 'waiting'";
const OF_SYNC = "source_id = ?1 AND run = ?2";
const PAGES_OF_SYNC = `${OF_SYNC} AND kind = 'page'`;
/** Pages that the live generation does not use after this sync. */
const UNUSED = "source_id = ?1 AND (run < ?2 OR state IN ('failed', 'skipped', 'alias'))";

/** Queries on the pages of one source in one sync. The column `run` holds the number of the sync that found a page last. */
export class PageStore {
  constructor(
    private readonly index: IndexStore,
    private readonly source: Pick<CrawlSource, "id" | "syncNumber">,
  ) {}

  /** Prepares for the next sync: no page waits, and pages whose last content was never committed are read again. */
  reset(): void {
    this.deleteTexts("true");
    this.run(
      `UPDATE pages SET hash = NULL, etag = NULL, last_modified = NULL, built_id = NULL
        WHERE source_id = ?1 AND (state = 'fetched' OR state = 'indexed' AND built_id IS NOT document_id
          OR state IN ('skipped', 'alias') AND document_id IS NOT NULL)`,
    );
    // After the import of an export that was made during a sync, pages may refer to documents that the export does not contain.
    this.run(
      `UPDATE pages SET document_id = NULL, hash = NULL, etag = NULL, last_modified = NULL
        WHERE source_id = ?1 AND document_id IS NOT NULL AND document_id NOT IN (SELECT id FROM documents WHERE source_id = ?1)`,
    );
    this.run(`UPDATE pages SET state = 'alias' WHERE ${WAITING}`);
  }

  /** Adds a page, to be fetched or skipped. A page that this sync has found already does not change. */
  findOrAdd(page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops" | "state" | "reason">): number {
    const { key, url, kind, depth, hops, state, reason } = page;
    // A page in use keeps the URL under which it was read.
    this.runInSync(
      `INSERT INTO pages (source_id, run, page_key, url, kind, depth, hops, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (source_id, page_key) DO UPDATE SET run = excluded.run, url = iif(document_id IS NULL, excluded.url, url),
          depth = excluded.depth, hops = excluded.hops, last_state = state, last_reason = reason, state = excluded.state,
          reason = excluded.reason, attempts = 0, handed_out = 0, not_before = 0 WHERE run < excluded.run`,
      key,
      url,
      kind,
      depth,
      hops,
      state,
      reason,
    );
    return this.all<{ id: number }>("SELECT id FROM pages WHERE source_id = ?1 AND page_key = ?2", key)[0]!.id;
  }

  find(id: number): PageRow | undefined {
    return this.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE source_id = ?1 AND id = ?2`, id)[0];
  }

  /** The identifiers, by key, of those pages that this sync has found. */
  findIdsByKey(keys: readonly string[]): Map<string, number> {
    const query = `SELECT page_key AS key, id FROM pages WHERE ${OF_SYNC} AND page_key IN (SELECT value FROM json_each(?3))`;
    const rows = piecesOf(keys).flatMap((piece) => this.allInSync<{ key: string; id: number }>(query, JSON.stringify(piece)));
    return new Map(rows.map(({ key, id }) => [key, id]));
  }

  update(id: number, changes: Partial<Omit<PageRow, "id" | "key" | "kind">>): void {
    const given = Object.entries(changes) as [keyof PageRow, Binding][];
    const set = given.map(([name]) => `${COLUMN_OF[name]} = ?`).join(", ");
    this.index.run(`UPDATE pages SET ${set} WHERE id = ?`, ...given.map(([, value]) => value), id);
  }

  /** The URLs that a page linked to when it was last read. */
  listLinkedUrls({ links }: Pick<PageRow, "links">): string[] {
    if (links === null) return [];
    const query = "SELECT url FROM pages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id";
    return this.index.all<{ url: string }>(query, links).map(({ url }) => url);
  }

  // --- The queue ---

  /** The first waiting page, whether it may be fetched yet or not. */
  findFirstWaiting(): PageRow | undefined {
    return this.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE ${WAITING} ORDER BY depth, id LIMIT 1`)[0];
  }

  /** The next pages that may be fetched now, the nearest to the start page first. */
  listDue(nowMs: number, limit: number): PageRow[] {
    return this.all(`SELECT ${COLUMNS} FROM pages WHERE ${WAITING} AND not_before <= ?2 ORDER BY depth, id LIMIT ?3`, nowMs, limit);
  }

  /** The earliest time at which a waiting page may be fetched. */
  nextDueAtMs(): number {
    return this.all<{ atMs: number }>(`SELECT min(not_before) AS atMs FROM pages WHERE ${WAITING}`)[0]!.atMs;
  }

  lease(ids: readonly number[]): void {
    this.index.run("UPDATE pages SET handed_out = handed_out + 1 WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** Ends the lease of pages that were not fetched. */
  release(ids: readonly number[]): void {
    const query = `UPDATE pages SET handed_out = handed_out - 1
      WHERE ${WAITING} AND handed_out > 0 AND id IN (SELECT value FROM json_each(?2))`;
    this.run(query, JSON.stringify(ids));
  }

  /** Skips all waiting pages; robots.txt and sitemaps fail. */
  skipWaiting(reason: string): void {
    this.run(`UPDATE pages SET state = iif(kind = 'page', 'skipped', 'failed'), reason = ?2 WHERE ${WAITING}`, reason);
  }

  /** Skips the waiting pages that are not in use. */
  skipNew(reason: string): void {
    this.run(`UPDATE pages SET state = 'skipped', reason = ?2 WHERE ${WAITING} AND kind = 'page' AND document_id IS NULL`, reason);
  }

  /** Fails all waiting pages; those in use are kept. */
  failWaiting(reason: string): void {
    this.run(`UPDATE pages SET state = iif(document_id IS NULL, 'failed', 'kept'), reason = ?2 WHERE ${WAITING}`, reason);
  }

  // --- Duplicates and counts ---

  /** Whether another page that this sync has read has the same content. */
  isDuplicate(id: number, hash: string): boolean {
    return this.exists(`pages WHERE ${OF_SYNC} AND hash = ?3 AND id <> ?4 AND state IN ('fetched', 'unchanged')`, hash, id);
  }

  countFound(): FoundCounts {
    return this.allInSync<FoundCounts>(
      `SELECT count(*) FILTER (WHERE kind = 'page' AND (reason IS NULL OR reason NOT IN ('robots', '${ENDLESS}'))) AS open,
          count(*) FILTER (WHERE reason = '${ENDLESS}') AS endless, count(*) FILTER (WHERE reason = 'robots') AS forbidden,
          count(*) FILTER (WHERE kind = 'sitemap') AS sitemaps
        FROM pages INDEXED BY pages_run WHERE ${OF_SYNC}`,
    )[0]!;
  }

  countPages(): PageCounts {
    return this.allInSync<PageCounts>(
      `SELECT count(*) FILTER (WHERE state <> 'alias') AS found,
          count(*) FILTER (WHERE state IN ('fetched', 'indexed', 'unchanged')) AS indexed,
          count(*) FILTER (WHERE state IN ('failed', 'kept')) AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped
        FROM pages INDEXED BY pages_run WHERE ${PAGES_OF_SYNC}`,
    )[0]!;
  }

  /** The bytes of the source's text: of pages that wait to be indexed, and of pages in use that this sync does not drop. */
  countTextBytes(): number {
    const query = `SELECT coalesce(sum(coalesce(octet_length(t.text), d.text_bytes)), 0) AS bytes
      FROM pages p LEFT JOIN page_texts t ON t.page_id = p.id LEFT JOIN documents d ON d.id = p.document_id
      WHERE p.source_id = ?1 AND NOT (p.run = ?2 AND p.state IN ('failed', 'skipped', 'alias'))`;
    return this.allInSync<{ bytes: number }>(query)[0]!.bytes;
  }

  /** Whether this sync left out a page for this reason. */
  hasReason(reason: string): boolean {
    return this.exists(`pages INDEXED BY pages_run WHERE ${PAGES_OF_SYNC} AND state IN ('skipped', 'kept') AND reason = ?3`, reason);
  }

  /** The reason of the first page of a kind that could not be read. */
  findFirstReason(kind: PageKind): string | null {
    const query = `SELECT reason FROM pages WHERE ${OF_SYNC} AND kind = ?3 AND state IN ('failed', 'skipped', 'kept')
      ORDER BY depth, id LIMIT 1`;
    return this.allInSync<{ reason: string | null }>(query, kind)[0]?.reason ?? null;
  }

  // --- Texts that wait to be indexed, and the number of pages that share a block ---

  putText(pageId: number, title: string, text: string): void {
    this.index.run("INSERT OR REPLACE INTO page_texts (page_id, title, text) VALUES (?, ?, ?)", pageId, title, text);
  }

  deleteText(pageId: number): void {
    this.index.run("DELETE FROM page_texts WHERE page_id = ?", pageId);
  }

  /** The next page that waits to be indexed. */
  findUnindexed(): UnindexedPage | undefined {
    const query = `SELECT p.id, p.url, p.hash, p.blocks, p.built_id AS builtId, t.title, t.text FROM pages p JOIN page_texts t ON t.page_id = p.id
      WHERE p.source_id = ?1 AND p.state = 'fetched' ORDER BY p.id LIMIT 1`;
    const [row] = this.all<Omit<UnindexedPage, "blocks"> & { blocks: string }>(query);
    return row && { ...row, blocks: JSON.parse(row.blocks) as string[] };
  }

  /**
   * Adds a page's blocks to the counts, or subtracts them.
   * @param blocks their fingerprints, as JSON.
   */
  countBlocks(blocks: string, change: 1 | -1): void {
    this.run(
      `INSERT INTO page_blocks (source_id, block, pages) SELECT ?1, value, ?2 FROM json_each(?3) WHERE true
        ON CONFLICT (source_id, block) DO UPDATE SET pages = pages + excluded.pages`,
      change,
      blocks,
    );
  }

  /** The number of pages that have each of these blocks. */
  countPagesPerBlock(blocks: readonly string[]): Map<string, number> {
    const query = "SELECT block, pages FROM page_blocks WHERE source_id = ?1 AND block IN (SELECT value FROM json_each(?2))";
    const rows = this.all<{ block: string; pages: number }>(query, JSON.stringify(blocks));
    return new Map(rows.map(({ block, pages }) => [block, pages]));
  }

  // --- Commit ---

  /** Keeps pages in use that this sync has not reached; they count as failed. */
  keepUncrawled(reason: string): void {
    const set = "UPDATE pages SET run = ?2, state = 'kept', reason = ?3";
    this.runInSync(`${set} WHERE source_id = ?1 AND run < ?2 AND kind = 'page' AND document_id IS NOT NULL`, reason);
  }

  /** Whether a sitemap could not be read because of a transient failure. */
  hasFailedSitemap(): boolean {
    return this.exists(`pages INDEXED BY pages_run WHERE ${OF_SYNC} AND kind = 'sitemap' AND state IN ('kept', 'waiting')`);
  }

  /** Whether the live generation has exactly the pages that this sync found. */
  isUnchanged(): boolean {
    const hasIndexed = this.exists(`pages INDEXED BY pages_run WHERE ${PAGES_OF_SYNC} AND state = 'indexed'`);
    const kept = "SELECT 1 FROM pages p WHERE p.document_id = d.id AND p.run = ?2 AND p.state IN ('unchanged', 'kept')";
    return !hasIndexed && !this.exists(`documents d WHERE d.source_id = ?1 AND NOT EXISTS (${kept})`);
  }

  /** Makes the new documents those of their pages, and marks unchanged ones as seen in the generation. */
  commit(generationId: number): void {
    const kept = `SELECT document_id FROM pages INDEXED BY pages_run
      WHERE ${PAGES_OF_SYNC} AND state IN ('unchanged', 'kept') AND document_id IS NOT NULL`;
    this.runInSync(`UPDATE documents SET seen_in = ?3 WHERE id IN (${kept})`, generationId);
    this.runInSync(`UPDATE pages SET document_id = built_id WHERE ${PAGES_OF_SYNC} AND state = 'indexed'`);
    this.runInSync(`UPDATE pages SET document_id = NULL WHERE ${PAGES_OF_SYNC} AND state IN ('failed', 'skipped', 'alias')`);
  }

  /** Updates the URLs under which documents are cited, and removes the pages that this sync did not find. */
  finish(): void {
    this.runInSync(
      `UPDATE documents SET url = p.url FROM pages p
        WHERE p.document_id = documents.id AND p.source_id = ?1 AND p.run = ?2 AND p.url <> documents.url`,
    );
    this.runInSync(
      `INSERT INTO page_blocks (source_id, block, pages)
        SELECT ?1, b.value, -count(*) FROM pages, json_each(pages.blocks) b WHERE ${UNUSED} GROUP BY b.value
        ON CONFLICT (source_id, block) DO UPDATE SET pages = pages + excluded.pages`,
    );
    this.runInSync(`UPDATE pages SET blocks = NULL WHERE ${UNUSED} AND blocks IS NOT NULL`);
    this.run("DELETE FROM page_blocks WHERE source_id = ?1 AND pages <= 0");
    this.deleteTexts(`run < ${this.source.syncNumber}`);
    this.runInSync("DELETE FROM pages WHERE source_id = ?1 AND run < ?2");
  }

  private deleteTexts(where: string): void {
    this.run(`DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ?1 AND ${where})`);
  }

  // --- Statements whose parameter ?1 is the source; in a sync, ?2 is its number ---

  private run(query: string, ...others: Binding[]): void {
    this.index.run(query, this.source.id, ...others);
  }

  private runInSync(query: string, ...others: Binding[]): void {
    this.run(query, this.source.syncNumber, ...others);
  }

  private all<Row>(query: string, ...others: Binding[]): Row[] {
    return this.index.all(query, this.source.id, ...others);
  }

  private allInSync<Row>(query: string, ...others: Binding[]): Row[] {
    return this.all(query, this.source.syncNumber, ...others);
  }

  private exists(from: string, ...others: Binding[]): boolean {
    return this.allInSync(`SELECT 1 FROM ${from} LIMIT 1`, ...others).length > 0;
  }
}

/** Lists a source's pages in the order in which they were found; `states` null means all. */
export function listPages(
  index: IndexStore,
  sourceId: string,
  states: readonly PageState[] | null,
  { limit, offset }: { limit: number; offset: number },
): { pages: ListedPage[]; total: number } {
  if (index.isEmpty) return { pages: [], total: 0 };
  const where = "source_id = ?1 AND kind = 'page' AND state <> 'alias' AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2)))";
  const wanted = states === null ? null : JSON.stringify(states);
  const [count] = index.all<{ total: number }>(`SELECT count(*) AS total FROM pages WHERE ${where}`, sourceId, wanted);
  const query = `SELECT p.url, d.title, p.state, iif(p.state = 'waiting', NULL, p.reason) AS reason, d.id IS NOT NULL AS inUse
    FROM (SELECT * FROM pages WHERE ${where} ORDER BY id LIMIT ?3 OFFSET ?4) p LEFT JOIN documents d ON d.id = p.document_id ORDER BY p.id`;
  const rows = index.all<Omit<ListedPage, "inUse"> & { inUse: number }>(query, sourceId, wanted, limit, offset);
  return { pages: rows.map((row) => ({ ...row, inUse: row.inUse === 1 })), total: count!.total };
}

/** The most keys in one query. SQLite takes values of 2 MB, and a key has up to 2,000 characters, of which JSON may escape each one. */
const KEYS_PER_QUERY = 250;

/** Splits keys, or rows with a key each, among queries. */
export function piecesOf<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / KEYS_PER_QUERY);
  return Array.from({ length: count }, (_, at) => items.slice(at * KEYS_PER_QUERY, (at + 1) * KEYS_PER_QUERY));
}
