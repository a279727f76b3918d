import type { Binding, IndexStore } from "../indexing/store.ts";
import type { PageCounts, PageKind } from "./protocol.ts";

/**
 * A page in its crawl: `waiting` to be fetched; `fetched`, with its text waiting to be indexed; `indexed`; `unchanged` since the last
 * crawl; `kept` from the last crawl, since it failed now; `failed`; `skipped` for a reason; an `alias` of another page.
 */
export type PageState = "waiting" | "fetched" | "indexed" | "unchanged" | "kept" | "failed" | "skipped" | "alias";

/** The reason of a page that waits, but is dropped where it turns out to be one of an endless number. */
export const VARIANT = "variant";
/** The reason of a page that was dropped so. */
export const ENDLESS = "endless";

/** A page of a site, from one crawl to the next. */
export interface PageRow {
  id: number;
  key: string;
  url: string;
  kind: PageKind;
  /** Links between the start page and this one. */
  depth: number;
  state: PageState;
  reason: string | null;
  /** State and reason at the end of the last crawl. */
  lastState: PageState | null;
  lastReason: string | null;
  /** Fetches in this crawl that failed. */
  attempts: number;
  /** Redirects that led here. */
  hops: number;
  /** How often it was leased for fetching without a result. */
  leases: number;
  /** When it may be fetched, Unix milliseconds. */
  notBeforeMs: number;
  etag: string | null;
  lastModified: string | null;
  /** Of the content read last. */
  hash: string | null;
  /** Its document in the live generation. */
  documentId: number | null;
  /** Its document in the generation that this crawl builds. */
  builtId: number | null;
  /** JSON: the identifiers of the pages that it links to. */
  links: string | null;
  /** JSON: the fingerprints of its blocks that are counted. */
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
  /** Its document, once some of its chunks are indexed. */
  builtId: number | null;
}
/** A page as the last crawl left it, or as the running one has it. */
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

const WAITING = "source_id = ? AND state = 'waiting'";

/** Queries on the pages of an agent's sites. The column `run` is the number of the sync that found a page last. */
export class PageStore {
  constructor(private readonly storage: IndexStore) {}

  /** Prepares for the next sync: nothing waits, and pages whose content was never committed are to be read again. */
  resetPages(sourceId: string): void {
    this.storage.run(
      `UPDATE pages SET hash = NULL, etag = NULL, last_modified = NULL, built_id = NULL
        WHERE source_id = ? AND state IN ('fetched', 'indexed') AND built_id IS NOT document_id OR source_id = ? AND state = 'fetched'`,
      sourceId,
      sourceId,
    );
    this.storage.run(`UPDATE pages SET state = 'alias' WHERE ${WAITING}`, sourceId);
  }

  /** Adds a page to be fetched. One that this sync has found already stays as it is. */
  findOrAdd(sourceId: string, syncNumber: number, page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops" | "reason">): number {
    return this.put(sourceId, syncNumber, { ...page, state: "waiting" });
  }

  /** Adds a page that is not to be fetched. */
  addSkipped(sourceId: string, syncNumber: number, page: Pick<PageRow, "key" | "url" | "depth">, reason: string): number {
    return this.put(sourceId, syncNumber, { ...page, kind: "page", hops: 0, state: "skipped", reason });
  }

  /** A page in use keeps the URL under which it was read. */
  private put(
    sourceId: string,
    syncNumber: number,
    page: Pick<PageRow, "key" | "url" | "kind" | "depth" | "hops" | "state" | "reason">,
  ): number {
    const { key, url, kind, depth, hops, state, reason } = page;
    this.storage.run(
      `INSERT INTO pages (source_id, page_key, url, kind, run, depth, hops, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (source_id, page_key) DO UPDATE SET run = excluded.run, url = iif(document_id IS NULL, excluded.url, url),
          depth = excluded.depth, hops = excluded.hops, last_state = state, last_reason = reason, state = excluded.state,
          reason = excluded.reason, attempts = 0, handed_out = 0, not_before = 0 WHERE run < excluded.run`,
      sourceId,
      key,
      url,
      kind,
      syncNumber,
      depth,
      hops,
      state,
      reason,
    );
    return this.storage.all<{ id: number }>("SELECT id FROM pages WHERE source_id = ? AND page_key = ?", sourceId, key)[0]!.id;
  }

  find(sourceId: string, id: number): PageRow | undefined {
    return this.storage.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE source_id = ? AND id = ?`, sourceId, id)[0];
  }

  /** The identifiers, by key, of those pages that this sync has found. */
  findIdsByKey(sourceId: string, syncNumber: number, keys: readonly string[]): Map<string, number> {
    const query = `SELECT page_key AS key, id FROM pages WHERE source_id = ? AND run = ? AND page_key IN (SELECT value FROM json_each(?))`;
    const rows = this.storage.all<{ key: string; id: number }>(query, sourceId, syncNumber, JSON.stringify(keys));
    return new Map(rows.map(({ key, id }) => [key, id]));
  }

  update(id: number, changes: Partial<Omit<PageRow, "id" | "key" | "kind">>): void {
    const given = Object.entries(changes) as [keyof PageRow, Binding][];
    const set = given.map(([name]) => `${COLUMN_OF[name]} = ?`).join(", ");
    this.storage.run(`UPDATE pages SET ${set} WHERE id = ?`, ...given.map(([, value]) => value), id);
  }

  /** The URLs that a page linked to when it was last read. */
  listLinkedUrls(links: string | null): string[] {
    if (links === null) return [];
    const query = "SELECT url FROM pages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id";
    return this.storage.all<{ url: string }>(query, links).map(({ url }) => url);
  }

  // --- The queue ---

  /** The first waiting page, whether it may be fetched yet or not. */
  findFirstWaiting(sourceId: string): PageRow | undefined {
    return this.storage.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE ${WAITING} ORDER BY depth, id LIMIT 1`, sourceId)[0];
  }

  /** The next pages that may be fetched now, the nearest to the start first. */
  listDue(sourceId: string, nowMs: number, limit: number): PageRow[] {
    const query = `SELECT ${COLUMNS} FROM pages WHERE ${WAITING} AND not_before <= ? ORDER BY depth, id LIMIT ?`;
    return this.storage.all(query, sourceId, nowMs, limit);
  }

  /** When the first of the waiting pages may be fetched. */
  nextDueAtMs(sourceId: string): number {
    return this.storage.all<{ atMs: number }>(`SELECT min(not_before) AS atMs FROM pages WHERE ${WAITING}`, sourceId)[0]!.atMs;
  }

  leasePages(ids: readonly number[]): void {
    this.storage.run("UPDATE pages SET handed_out = handed_out + 1 WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** Takes back the lease of pages that were not fetched. */
  releasePages(sourceId: string, ids: readonly number[]): void {
    const query = `UPDATE pages SET handed_out = handed_out - 1
      WHERE ${WAITING} AND handed_out > 0 AND id IN (SELECT value FROM json_each(?))`;
    this.storage.run(query, sourceId, JSON.stringify(ids));
  }

  /** Skips all waiting pages; robots.txt and sitemaps fail. */
  skipWaiting(sourceId: string, reason: string): void {
    this.storage.run(`UPDATE pages SET state = iif(kind = 'page', 'skipped', 'failed'), reason = ? WHERE ${WAITING}`, reason, sourceId);
  }

  /** Skips the waiting pages that are not in use. */
  skipNew(sourceId: string, reason: string): void {
    const query = `UPDATE pages SET state = 'skipped', reason = ? WHERE ${WAITING} AND kind = 'page' AND document_id IS NULL`;
    this.storage.run(query, reason, sourceId);
  }

  /** Fails all waiting pages; those in use are kept. */
  failWaiting(sourceId: string, reason: string): void {
    const query = `UPDATE pages SET state = iif(document_id IS NULL, 'failed', 'kept'), reason = ? WHERE ${WAITING}`;
    this.storage.run(query, reason, sourceId);
  }

  // --- Duplicates and counts ---

  /** Whether another page that this sync has read has the same content. */
  isDuplicate(sourceId: string, syncNumber: number, id: number, hash: string): boolean {
    const query = `SELECT 1 FROM pages WHERE source_id = ? AND hash = ? AND run = ? AND id <> ? AND state IN ('fetched', 'unchanged') LIMIT 1`;
    return this.storage.all(query, sourceId, hash, syncNumber, id).length > 0;
  }

  /** How many this sync has found: pages, pages that were dropped as endless, pages that robots.txt forbids, and sitemaps. */
  countFound(sourceId: string, syncNumber: number): { open: number; endless: number; forbidden: number; sitemaps: number } {
    return this.storage.all<{ open: number; endless: number; forbidden: number; sitemaps: number }>(
      `SELECT count(*) FILTER (WHERE kind = 'page' AND (reason IS NULL OR reason NOT IN ('robots', '${ENDLESS}'))) AS open,
          count(*) FILTER (WHERE reason = '${ENDLESS}') AS endless, count(*) FILTER (WHERE reason = 'robots') AS forbidden,
          count(*) FILTER (WHERE kind = 'sitemap') AS sitemaps
        FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ?`,
      sourceId,
      syncNumber,
    )[0]!;
  }

  countPages(sourceId: string, syncNumber: number): PageCounts {
    return this.storage.all<PageCounts>(
      `SELECT count(*) FILTER (WHERE state <> 'alias') AS found,
          count(*) FILTER (WHERE state IN ('fetched', 'indexed', 'unchanged')) AS indexed,
          count(*) FILTER (WHERE state IN ('failed', 'kept')) AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped
        FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'page'`,
      sourceId,
      syncNumber,
    )[0]!;
  }

  /** The bytes of a source's text: of pages that wait to be indexed, and of those in use that this sync does not drop. */
  countTextBytes(sourceId: string, syncNumber: number): number {
    const query = `SELECT coalesce(sum(coalesce(octet_length(t.text), d.text_bytes)), 0) AS bytes
      FROM pages p LEFT JOIN page_texts t ON t.page_id = p.id LEFT JOIN documents d ON d.id = p.document_id
      WHERE p.source_id = ? AND NOT (p.run = ? AND p.state IN ('failed', 'skipped', 'alias'))`;
    return this.storage.all<{ bytes: number }>(query, sourceId, syncNumber)[0]!.bytes;
  }

  /** Whether this sync has a page with this reason. */
  hasReason(sourceId: string, syncNumber: number, reason: string): boolean {
    const query = `SELECT 1 FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'page'
      AND state IN ('skipped', 'kept') AND reason = ? LIMIT 1`;
    return this.storage.all(query, sourceId, syncNumber, reason).length > 0;
  }

  /** Why the first page of a kind that was not read was not. */
  findFirstReason(sourceId: string, syncNumber: number, kind: PageKind): string | null {
    const query = `SELECT reason FROM pages WHERE source_id = ? AND run = ? AND kind = ? AND state IN ('failed', 'skipped', 'kept')
      ORDER BY depth, id LIMIT 1`;
    return this.storage.all<{ reason: string | null }>(query, sourceId, syncNumber, kind)[0]?.reason ?? null;
  }

  // --- Texts that wait to be indexed, and how many pages share which blocks ---

  putText(pageId: number, title: string, text: string): void {
    this.storage.run("INSERT OR REPLACE INTO page_texts (page_id, title, text) VALUES (?, ?, ?)", pageId, title, text);
  }

  deleteText(pageId: number): void {
    this.storage.run("DELETE FROM page_texts WHERE page_id = ?", pageId);
  }

  /** The next page that waits to be indexed. */
  findUnindexed(sourceId: string): UnindexedPage | undefined {
    const query = `SELECT p.id, p.url, p.hash, p.blocks, p.built_id AS builtId, t.title, t.text FROM pages p JOIN page_texts t ON t.page_id = p.id
      WHERE p.source_id = ? AND p.state = 'fetched' ORDER BY p.id LIMIT 1`;
    const [row] = this.storage.all<Omit<UnindexedPage, "blocks"> & { blocks: string }>(query, sourceId);
    return row && { ...row, blocks: JSON.parse(row.blocks) as string[] };
  }

  /** Adds a page's blocks to the counts, or subtracts them. */
  countBlocks(sourceId: string, blocks: readonly string[], change: 1 | -1): void {
    this.storage.run(
      `INSERT INTO page_blocks (source_id, block, pages) SELECT ?, value, ? FROM json_each(?) WHERE true
        ON CONFLICT (source_id, block) DO UPDATE SET pages = pages + excluded.pages`,
      sourceId,
      change,
      JSON.stringify(blocks),
    );
  }

  /** How many pages have each of these blocks. */
  countPagesPerBlock(sourceId: string, blocks: readonly string[]): Map<string, number> {
    const query = "SELECT block, pages FROM page_blocks WHERE source_id = ? AND block IN (SELECT value FROM json_each(?))";
    const rows = this.storage.all<{ block: string; pages: number }>(query, sourceId, JSON.stringify(blocks));
    return new Map(rows.map(({ block, pages }) => [block, pages]));
  }

  deleteUnusedBlocks(sourceId: string): void {
    this.storage.run("DELETE FROM page_blocks WHERE source_id = ? AND pages <= 0", sourceId);
  }

  deleteTexts(sourceId: string): void {
    this.storage.run("DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ?)", sourceId);
  }

  // --- Commit ---

  /** Keeps pages in use that this sync has not reached; they count as failed. */
  keepUncrawled(sourceId: string, syncNumber: number, reason: string): void {
    const query = `UPDATE pages SET run = ?, state = 'kept', reason = ? WHERE source_id = ? AND run < ? AND kind = 'page' AND document_id IS NOT NULL`;
    this.storage.run(query, syncNumber, reason, sourceId, syncNumber);
  }

  /** Whether a sitemap failed with a transient failure. */
  hasFailedSitemap(sourceId: string, syncNumber: number): boolean {
    const query = `SELECT 1 FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'sitemap' AND state IN ('kept', 'waiting') LIMIT 1`;
    return this.storage.all(query, sourceId, syncNumber).length > 0;
  }

  /** Whether the live generation has exactly the pages that this sync found. */
  isUnchanged(sourceId: string, syncNumber: number): boolean {
    const indexed =
      "EXISTS (SELECT 1 FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'page' AND state = 'indexed')";
    const stale = `EXISTS (SELECT 1 FROM documents d WHERE d.source_id = ? AND NOT EXISTS (
      SELECT 1 FROM pages p WHERE p.document_id = d.id AND p.run = ? AND p.state IN ('unchanged', 'kept')))`;
    return (
      this.storage.all<{ same: number }>(`SELECT NOT ${indexed} AND NOT ${stale} AS same`, sourceId, syncNumber, sourceId, syncNumber)[0]!
        .same === 1
    );
  }

  /** Makes the new documents those of their pages, and marks unchanged ones as seen in the generation. */
  commit(sourceId: string, syncNumber: number, generationId: number): void {
    const ofRun = "source_id = ? AND run = ? AND kind = 'page'";
    const kept = `SELECT document_id FROM pages INDEXED BY pages_run WHERE ${ofRun} AND state IN ('unchanged', 'kept') AND document_id IS NOT NULL`;
    this.storage.run(`UPDATE documents SET seen_in = ? WHERE id IN (${kept})`, generationId, sourceId, syncNumber);
    this.storage.run(`UPDATE pages SET document_id = built_id WHERE ${ofRun} AND state = 'indexed'`, sourceId, syncNumber);
    this.storage.run(
      `UPDATE pages SET document_id = NULL WHERE ${ofRun} AND state IN ('failed', 'skipped', 'alias')`,
      sourceId,
      syncNumber,
    );
  }

  /** Sets the URLs under which documents are cited to those of their pages. */
  updateDocumentUrls(sourceId: string, syncNumber: number): void {
    this.storage.run(
      `UPDATE documents SET url = p.url FROM pages p WHERE p.document_id = documents.id AND p.source_id = ? AND p.run = ? AND p.url <> documents.url`,
      sourceId,
      syncNumber,
    );
  }

  /** Returns and clears the blocks of pages that are no longer in use, which are to be subtracted from the counts. */
  clearUnusedBlocks(sourceId: string, syncNumber: number): string[][] {
    const unused = "source_id = ? AND blocks IS NOT NULL AND (run < ? OR state IN ('failed', 'skipped', 'alias'))";
    const rows = this.storage.all<{ blocks: string }>(`SELECT blocks FROM pages WHERE ${unused}`, sourceId, syncNumber);
    this.storage.run(`UPDATE pages SET blocks = NULL WHERE ${unused}`, sourceId, syncNumber);
    return rows.map(({ blocks }) => JSON.parse(blocks) as string[]);
  }

  /** Removes pages that this sync did not find. */
  deleteGone(sourceId: string, syncNumber: number): void {
    this.storage.run(
      "DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ? AND run < ?)",
      sourceId,
      syncNumber,
    );
    this.storage.run("DELETE FROM pages WHERE source_id = ? AND run < ?", sourceId, syncNumber);
  }

  /** Lists a source's pages in the order in which they were found; `states` null means all. */
  list(sourceId: string, states: readonly PageState[] | null, { limit, offset }: { limit: number; offset: number }) {
    if (this.storage.isEmpty) return { pages: [], total: 0 };
    const where = "source_id = ? AND kind = 'page' AND state <> 'alias' AND (? IS NULL OR state IN (SELECT value FROM json_each(?)))";
    const wanted = states === null ? null : JSON.stringify(states);
    const { total } = this.storage.all<{ total: number }>(
      `SELECT count(*) AS total FROM pages WHERE ${where}`,
      sourceId,
      wanted,
      wanted,
    )[0]!;
    const rows = this.storage.all<Omit<ListedPage, "inUse"> & { inUse: number }>(
      `SELECT p.url, d.title, p.state, iif(p.state = 'waiting', NULL, p.reason) AS reason, d.id IS NOT NULL AS inUse
        FROM (SELECT * FROM pages WHERE ${where} ORDER BY id LIMIT ? OFFSET ?) p LEFT JOIN documents d ON d.id = p.document_id ORDER BY p.id`,
      sourceId,
      wanted,
      wanted,
      limit,
      offset,
    );
    return { pages: rows.map((row) => ({ ...row, inUse: row.inUse === 1 })), total };
  }

  removeSource(sourceId: string): void {
    this.deleteTexts(sourceId);
    this.storage.run("DELETE FROM pages WHERE source_id = ?", sourceId);
    this.storage.run("DELETE FROM page_blocks WHERE source_id = ?", sourceId);
  }
}
