import type { IndexStore } from "./index-store.ts";

/** What is fetched of a site. */
export type PageKind = "robots" | "sitemap" | "page";

/**
 * Where a page stands in its crawl: to be fetched; read, with its text waiting to be indexed; indexed; the same as when it
 * was last read; failed for now, with what was read before kept; failed; not taken, for a reason; a name of another page.
 */
export type PageState = "waiting" | "fetched" | "indexed" | "unchanged" | "kept" | "failed" | "skipped" | "alias";

/** A page of a site, from one crawl to the next. */
export interface PageRow {
  id: number;
  url: string;
  kind: PageKind;
  /** Links between the start and here. */
  depth: number;
  state: PageState;
  reason: string | null;
  attempts: number;
  /** Before it is tried again, Unix milliseconds. */
  notBeforeMs: number;
  etag: string | null;
  lastModified: string | null;
  /** Of what was read last. */
  hash: string | null;
  /** What the live index has of it. */
  documentId: number | null;
}

/** A crawl of one source; its row stays when it is over, for the next one. */
export interface CrawlRow {
  sourceId: string;
  run: number;
  phase: "crawling" | "indexing" | "done";
  /** `host[:port]` that the crawl stays on. */
  host: string;
  startedAtMs: number;
  /** The robots.txt; null until it was asked for. */
  robots: string | null;
  /** When the host may be asked again, Unix milliseconds. */
  nextFetchAtMs: number;
}

export interface PageCounts {
  found: number;
  indexed: number;
  failed: number;
  skipped: number;
}

/** A page that was read and waits to be indexed. */
export interface UnindexedPage {
  id: number;
  url: string;
  hash: string;
  title: string;
  text: string;
  blocks: string[];
}

/** Version 1 of the tables of crawls. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS crawls (
  source_id TEXT PRIMARY KEY, run INTEGER NOT NULL, phase TEXT NOT NULL, host TEXT NOT NULL, started_at INTEGER NOT NULL,
  robots TEXT, next_fetch_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_id TEXT NOT NULL, page_key TEXT NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL,
  run INTEGER NOT NULL, depth INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, attempts INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, etag TEXT, last_modified TEXT, hash TEXT, document_id INTEGER, built_id INTEGER, links TEXT, blocks TEXT,
  UNIQUE (source_id, page_key));
CREATE INDEX IF NOT EXISTS pages_waiting ON pages (source_id, depth, id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS pages_state ON pages (source_id, state, id);
CREATE INDEX IF NOT EXISTS pages_hash ON pages (source_id, hash);
CREATE TABLE IF NOT EXISTS page_texts (page_id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS page_blocks (source_id TEXT NOT NULL, block TEXT NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY (source_id, block))
  WITHOUT ROWID;
`;

const COLUMNS = `id, url, kind, depth, state, reason, attempts, not_before AS notBeforeMs, etag, last_modified AS lastModified, hash,
  document_id AS documentId`;

type Binding = string | number | null;

/** Every statement that keeps the pages of an agent's sites, beside what is indexed of them. */
export class PageStore {
  private exists: boolean;

  constructor(private readonly index: IndexStore) {
    this.exists = this.readExists();
  }

  /** Runs a write as one transaction, in tables that exist. */
  write<T>(work: () => T): T {
    return this.index.write(() => {
      if (!this.exists) this.index.sql.exec(SCHEMA);
      const result = work();
      this.exists = true;
      return result;
    });
  }

  forget(): void {
    this.exists = false;
  }

  // --- Crawls ---

  findCrawl(sourceId: string): CrawlRow | undefined {
    if (!this.exists) return undefined;
    return this.all<CrawlRow>(
      `SELECT source_id AS sourceId, run, phase, host, started_at AS startedAtMs, robots, next_fetch_at AS nextFetchAtMs
        FROM crawls WHERE source_id = ?`,
      sourceId,
    )[0];
  }

  /** Begins the next crawl of a source: what is known of its pages waits to be found again. */
  beginCrawl(sourceId: string, host: string, nowMs: number): CrawlRow {
    this.run(
      `INSERT INTO crawls (source_id, run, phase, host, started_at) VALUES (?, 1, 'crawling', ?, ?)
        ON CONFLICT (source_id) DO UPDATE SET run = run + 1, phase = 'crawling', host = excluded.host, started_at = excluded.started_at,
          robots = NULL`,
      sourceId,
      host,
      nowMs,
    );
    // What a crawl that was broken off has read but not brought into use is read again.
    this.run(
      `UPDATE pages SET hash = NULL, etag = NULL, last_modified = NULL, built_id = NULL WHERE source_id = ? AND state IN ('fetched', 'indexed')
        AND built_id IS NOT document_id`,
      sourceId,
    );
    this.run("UPDATE pages SET state = 'alias' WHERE source_id = ? AND state = 'waiting'", sourceId);
    return this.findCrawl(sourceId)!;
  }

  updateCrawl(sourceId: string, changes: Partial<Pick<CrawlRow, "phase" | "host" | "robots" | "nextFetchAtMs">>): void {
    const names = { phase: "phase", host: "host", robots: "robots", nextFetchAtMs: "next_fetch_at" } as const;
    for (const [name, value] of Object.entries(changes)) {
      this.run(`UPDATE crawls SET ${names[name as keyof typeof names]} = ? WHERE source_id = ?`, value, sourceId);
    }
  }

  // --- Pages ---

  /** Notes a page that this run has found; one that it knows already stays as it is. */
  findOrAdd(sourceId: string, run: number, page: { key: string; url: string; kind: PageKind; depth: number; skippedFor?: string }): number {
    const { key, url, kind, depth, skippedFor } = page;
    const state = skippedFor === undefined ? "waiting" : "skipped";
    const values = [sourceId, key, url, kind, run, depth, state, skippedFor ?? null];
    this.run(
      `INSERT INTO pages (source_id, page_key, url, kind, run, depth, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (source_id, page_key) DO UPDATE SET run = excluded.run, url = excluded.url, kind = excluded.kind, depth = excluded.depth,
          state = excluded.state, reason = excluded.reason, attempts = 0, not_before = 0 WHERE run < excluded.run`,
      ...values,
    );
    return this.one<{ id: number }>("SELECT id FROM pages WHERE source_id = ? AND page_key = ?", sourceId, key).id;
  }

  findPage(sourceId: string, id: number): (PageRow & { run: number; blocks: string | null }) | undefined {
    return this.all<PageRow & { run: number; blocks: string | null }>(
      `SELECT ${COLUMNS}, run, blocks FROM pages WHERE source_id = ? AND id = ?`,
      sourceId,
      id,
    )[0];
  }

  /** The next pages to fetch, the nearest to the start first. */
  listWaiting(sourceId: string, kinds: readonly PageKind[], nowMs: number, limit: number): PageRow[] {
    return this.all(
      `SELECT ${COLUMNS} FROM pages WHERE source_id = ? AND state = 'waiting' AND kind IN (SELECT value FROM json_each(?)) AND not_before <= ?
        ORDER BY depth, id LIMIT ?`,
      sourceId,
      JSON.stringify(kinds),
      nowMs,
      limit,
    );
  }

  /** When the first of the waiting pages may be fetched; undefined when none waits. */
  nextWaitingAtMs(sourceId: string, kinds: readonly PageKind[]): number | undefined {
    const query = `SELECT min(not_before) AS atMs FROM pages WHERE source_id = ? AND state = 'waiting'
      AND kind IN (SELECT value FROM json_each(?))`;
    return this.one<{ atMs: number | null }>(query, sourceId, JSON.stringify(kinds)).atMs ?? undefined;
  }

  updatePage(id: number, changes: Partial<Omit<PageRow, "id" | "kind">> & { links?: string; blocks?: string; builtId?: number }): void {
    const names: Record<string, string> = { notBeforeMs: "not_before", lastModified: "last_modified", documentId: "document_id", builtId: "built_id" };
    const given = Object.entries(changes);
    const set = given.map(([name]) => `${names[name] ?? name} = ?`).join(", ");
    this.run(`UPDATE pages SET ${set} WHERE id = ?`, ...given.map(([, value]) => value as Binding), id);
  }

  /** The pages that a page linked to when it was last read. */
  listLinks(id: number): { key: string; url: string }[] {
    const ids = "SELECT value FROM json_each((SELECT links FROM pages WHERE id = ?))";
    return this.all(`SELECT page_key AS key, url FROM pages WHERE id IN (${ids}) ORDER BY id`, id);
  }

  /** Whether another page that this run has read says the very same. */
  isDuplicate(sourceId: string, run: number, id: number, hash: string): boolean {
    const query = `SELECT 1 FROM pages WHERE source_id = ? AND hash = ? AND run = ? AND id <> ? AND state IN ('fetched', 'indexed', 'unchanged') LIMIT 1`;
    return this.all(query, sourceId, hash, run, id).length > 0;
  }

  /** How many pages this run has found, whatever became of them. */
  countFound(sourceId: string, run: number): number {
    return this.one<{ count: number }>("SELECT count(*) AS count FROM pages WHERE source_id = ? AND run = ?", sourceId, run).count;
  }

  /** How many of a kind this run has found. */
  countKind(sourceId: string, run: number, kind: PageKind): number {
    const query = "SELECT count(*) AS count FROM pages WHERE source_id = ? AND run = ? AND kind = ?";
    return this.one<{ count: number }>(query, sourceId, run, kind).count;
  }

  /** Whether this run has read a page. */
  hasRead(sourceId: string, run: number): boolean {
    const query = "SELECT 1 FROM pages WHERE source_id = ? AND run = ? AND state IN ('fetched', 'unchanged') LIMIT 1";
    return this.all(query, sourceId, run).length > 0;
  }

  /** Why the first page of this run, the start, was not read. */
  findFirstReason(sourceId: string, run: number): string | null {
    const query = "SELECT reason FROM pages WHERE source_id = ? AND run = ? AND kind = 'page' AND reason IS NOT NULL ORDER BY depth, id LIMIT 1";
    return this.all<{ reason: string }>(query, sourceId, run)[0]?.reason ?? null;
  }

  countPages(sourceId: string, run: number): PageCounts {
    return this.one<Record<keyof PageCounts, number>>(
      `SELECT count(*) FILTER (WHERE state <> 'alias') AS found,
          count(*) FILTER (WHERE state IN ('fetched', 'indexed', 'unchanged', 'kept')) AS indexed,
          count(*) FILTER (WHERE state IN ('failed', 'kept')) AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped
        FROM pages WHERE source_id = ? AND run = ? AND kind = 'page'`,
      sourceId,
      run,
    );
  }

  /** One page of the list of a source's pages, as the last crawl found them. */
  listPages(sourceId: string, states: readonly PageState[], { limit, offset }: { limit: number; offset: number }) {
    if (!this.exists) return { pages: [], total: 0 };
    const where = "source_id = ? AND kind = 'page' AND state IN (SELECT value FROM json_each(?))";
    const values = [sourceId, JSON.stringify(states)];
    const { total } = this.one<{ total: number }>(`SELECT count(*) AS total FROM pages WHERE ${where}`, ...values);
    const pages = this.all<PageRow>(`SELECT ${COLUMNS} FROM pages WHERE ${where} ORDER BY id LIMIT ? OFFSET ?`, ...values, limit, offset);
    return { pages, total };
  }

  // --- Texts and blocks ---

  putText(pageId: number, title: string, text: string): void {
    this.run("INSERT OR REPLACE INTO page_texts (page_id, title, text) VALUES (?, ?, ?)", pageId, title, text);
  }

  /** The next page whose text waits to be indexed. */
  findUnindexed(sourceId: string): UnindexedPage | undefined {
    const query = `SELECT p.id, p.url, p.hash, p.blocks, t.title, t.text FROM pages p JOIN page_texts t ON t.page_id = p.id
      WHERE p.source_id = ? AND p.state = 'fetched' ORDER BY p.id LIMIT 1`;
    const [row] = this.all<Omit<UnindexedPage, "blocks"> & { blocks: string }>(query, sourceId);
    return row && { ...row, blocks: JSON.parse(row.blocks) as string[] };
  }

  dropText(pageId: number): void {
    this.run("DELETE FROM page_texts WHERE page_id = ?", pageId);
  }

  /** Counts a page's blocks, or takes them back. */
  countBlocks(sourceId: string, blocks: readonly string[], change: 1 | -1): void {
    this.run(
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
    const rows = this.all<{ block: string; pages: number }>(query, sourceId, JSON.stringify(blocks));
    return new Map(rows.map(({ block, pages }) => [block, pages]));
  }

  // --- The end of a crawl ---

  /** Pages that this run has not found any more go. */
  dropLost(sourceId: string, run: number): void {
    const lost = "SELECT id FROM pages WHERE source_id = ? AND run < ?";
    for (const { blocks } of this.all<{ blocks: string | null }>("SELECT blocks FROM pages WHERE source_id = ? AND run < ?", sourceId, run)) {
      if (blocks !== null) this.countBlocks(sourceId, JSON.parse(blocks) as string[], -1);
    }
    this.run(`DELETE FROM page_texts WHERE page_id IN (${lost})`, sourceId, run);
    this.run("DELETE FROM pages WHERE source_id = ? AND run < ?", sourceId, run);
    this.run("DELETE FROM page_blocks WHERE source_id = ? AND pages <= 0", sourceId);
  }

  /** Brings what this run read and kept into a generation: documents that stay as they were are seen in it too. */
  adopt(sourceId: string, run: number, generationId: number): void {
    this.run(
      `UPDATE documents SET seen_in = ? WHERE id IN (
        SELECT document_id FROM pages WHERE source_id = ? AND run = ? AND state IN ('unchanged', 'kept') AND document_id IS NOT NULL)`,
      generationId,
      sourceId,
      run,
    );
    this.run("UPDATE pages SET document_id = built_id WHERE source_id = ? AND run = ? AND state = 'indexed'", sourceId, run);
    this.run("UPDATE pages SET document_id = NULL WHERE source_id = ? AND run = ? AND state IN ('failed', 'skipped', 'alias')", sourceId, run);
  }

  /** Whether what the last run brought into use is just what this one found. */
  isSame(sourceId: string, run: number): boolean {
    const kept = "SELECT document_id FROM pages WHERE source_id = ? AND run = ? AND state IN ('unchanged', 'kept')";
    const isIndexed = "EXISTS (SELECT 1 FROM pages WHERE source_id = ? AND run = ? AND state = 'indexed')";
    const isStale = `EXISTS (SELECT 1 FROM documents WHERE source_id = ? AND id NOT IN (${kept} AND document_id IS NOT NULL))`;
    return this.one<{ same: number }>(`SELECT NOT ${isIndexed} AND NOT ${isStale} AS same`, sourceId, run, sourceId, sourceId, run).same === 1;
  }

  removeSource(sourceId: string): void {
    if (!this.exists) return;
    this.run("DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ?)", sourceId);
    for (const table of ["pages", "page_blocks", "crawls"]) this.run(`DELETE FROM ${table} WHERE source_id = ?`, sourceId);
  }

  private run(query: string, ...bindings: Binding[]): void {
    this.index.sql.exec(query, ...bindings);
  }

  private all<Row>(query: string, ...bindings: Binding[]): Row[] {
    return this.index.sql.exec(query, ...bindings).toArray() as Row[];
  }

  private one<Row>(query: string, ...bindings: Binding[]): Row {
    return this.all<Row>(query, ...bindings)[0]!;
  }

  private readExists(): boolean {
    return this.index.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'crawls'").toArray().length > 0;
  }
}
