import type { PageState } from "./page-store.ts";
import type { CrawlEnd } from "./protocol.ts";
import type { CrawlTables } from "./tables.ts";

/** The last crawl of a source; its row stays when it is over. */
export interface CrawlRow {
  sourceId: string;
  syncNumber: number;
  phase: "crawling" | "indexing" | "done";
  /** Scheme and host that the crawl stays on. */
  origin: string;
  /** The text of robots.txt; null until it was read. */
  robots: string | null;
  /** How many fetches in a row failed in a way that may pass. */
  failuresInARow: number;
}

/** Every statement on crawls, on the hosts that they ask and on the groups of pages that may have no end. */
export class CrawlStore {
  constructor(private readonly tables: CrawlTables) {}

  find(sourceId: string): CrawlRow | undefined {
    if (!this.tables.exist) return undefined;
    const query = `SELECT source_id AS sourceId, sync_number AS syncNumber, phase, origin, robots, failures_in_a_row AS failuresInARow
      FROM crawls WHERE source_id = ?`;
    return this.tables.all<CrawlRow>(query, sourceId)[0];
  }

  /** Begins a sync's crawl, in the place of the one before. */
  begin(sourceId: string, syncNumber: number, origin: string): CrawlRow {
    this.tables.run(
      "INSERT OR REPLACE INTO crawls (source_id, sync_number, phase, origin) VALUES (?, ?, 'crawling', ?)",
      sourceId,
      syncNumber,
      origin,
    );
    return { sourceId, syncNumber, phase: "crawling", origin, robots: null, failuresInARow: 0 };
  }

  /** Keeps a crawl's row as it now is. */
  save({ sourceId, phase, origin, robots, failuresInARow }: CrawlRow): void {
    const query = "UPDATE crawls SET phase = ?, origin = ?, robots = ?, failures_in_a_row = ? WHERE source_id = ?";
    this.tables.run(query, phase, origin, robots, failuresInARow, sourceId);
  }

  /** Stores how a crawl ended, for a caller that dies before recording it and asks again. */
  finish(sourceId: string, end: CrawlEnd): void {
    this.tables.run("UPDATE crawls SET phase = 'done', result = ? WHERE source_id = ?", JSON.stringify(end), sourceId);
  }

  /** How a crawl that is done ended. */
  readEnd(sourceId: string): CrawlEnd {
    const { result } = this.tables.all<{ result: string }>("SELECT result FROM crawls WHERE source_id = ?", sourceId)[0]!;
    return JSON.parse(result) as CrawlEnd;
  }

  // --- Hosts ---

  /** When this source may ask a host: not while another source does. Unix milliseconds. */
  nextFetchAtMs(host: string, sourceId: string): number {
    const query = "SELECT next_fetch_at AS nextAtMs, held_by AS heldBy, held_until AS heldUntilMs FROM hosts WHERE host = ?";
    const [row] = this.tables.all<{ nextAtMs: number; heldBy: string | null; heldUntilMs: number }>(query, host);
    if (!row) return 0;
    const isOthers = row.heldBy !== null && row.heldBy !== sourceId;
    return isOthers ? Math.max(row.nextAtMs, row.heldUntilMs) : row.nextAtMs;
  }

  /** Reserves a host for this source until a time, or until it is released. */
  holdHost(host: string, sourceId: string, untilMs: number): void {
    this.tables.run(
      `INSERT INTO hosts (host, next_fetch_at, held_by, held_until) VALUES (?, 0, ?, ?)
        ON CONFLICT (host) DO UPDATE SET held_by = excluded.held_by, held_until = excluded.held_until`,
      host,
      sourceId,
      untilMs,
    );
  }

  releaseHost(host: string, sourceId: string): void {
    this.tables.run("UPDATE hosts SET held_by = NULL WHERE host = ? AND held_by = ?", host, sourceId);
  }

  /** Lets no source ask a host before a time. */
  restHost(host: string, untilMs: number): void {
    this.tables.run(
      `INSERT INTO hosts (host, next_fetch_at, held_until) VALUES (?, ?, 0)
        ON CONFLICT (host) DO UPDATE SET next_fetch_at = max(next_fetch_at, excluded.next_fetch_at)`,
      host,
      untilMs,
    );
  }

  // --- Groups of pages that may have no end ---

  /** Counts one more page of a group, unless this run has `most` of them already. */
  takeOfGroup(sourceId: string, run: number, { key, most }: { key: string; most: number }): boolean {
    const query = "SELECT pages FROM variant_groups WHERE source_id = ? AND group_key = ? AND run = ?";
    const taken = this.tables.all<{ pages: number }>(query, sourceId, key, run)[0]?.pages ?? 0;
    if (taken >= most) return false;
    const put = "INSERT OR REPLACE INTO variant_groups (source_id, group_key, run, pages) VALUES (?, ?, ?, ?)";
    this.tables.run(put, sourceId, key, run, taken + 1);
    return true;
  }

  /** Removes the groups of earlier runs. */
  dropGroups(sourceId: string, beforeRun: number): void {
    this.tables.run("DELETE FROM variant_groups WHERE source_id = ? AND run < ?", sourceId, beforeRun);
  }

  removeSource(sourceId: string): void {
    for (const table of ["variant_groups", "crawls"]) this.tables.run(`DELETE FROM ${table} WHERE source_id = ?`, sourceId);
    this.tables.run("UPDATE hosts SET held_by = NULL WHERE held_by = ?", sourceId);
  }

  /** Removes hosts that are neither paused nor reserved. */
  dropHosts(nowMs: number): void {
    this.tables.run("DELETE FROM hosts WHERE next_fetch_at < ? AND (held_by IS NULL OR held_until < ?)", nowMs, nowMs);
  }
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

/** Every statement at the end of a crawl, when what it found comes into use, and the list of what it found. */
export class SettleStore {
  constructor(private readonly tables: CrawlTables) {}

  /** Pages in use that this run could not look for stay, and count as failed. */
  keepUnfound(sourceId: string, run: number, reason: string): void {
    const query = `UPDATE pages SET run = ?, state = 'kept', reason = ? WHERE source_id = ? AND run < ? AND kind = 'page' AND document_id IS NOT NULL`;
    this.tables.run(query, run, reason, sourceId, run);
  }

  /** Whether a map of the site could not be read for now. */
  hasBrokenMap(sourceId: string, run: number): boolean {
    const query = `SELECT 1 FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'sitemap' AND state IN ('kept', 'waiting') LIMIT 1`;
    return this.tables.all(query, sourceId, run).length > 0;
  }

  /** Whether the live generation holds exactly what this run found. */
  isSame(sourceId: string, run: number): boolean {
    const indexed =
      "EXISTS (SELECT 1 FROM pages INDEXED BY pages_run WHERE source_id = ? AND run = ? AND kind = 'page' AND state = 'indexed')";
    const stale = `EXISTS (SELECT 1 FROM documents d WHERE d.source_id = ? AND NOT EXISTS (
      SELECT 1 FROM pages p WHERE p.document_id = d.id AND p.run = ? AND p.state IN ('unchanged', 'kept')))`;
    return this.tables.all<{ same: number }>(`SELECT NOT ${indexed} AND NOT ${stale} AS same`, sourceId, run, sourceId, run)[0]!.same === 1;
  }

  /** Moves the documents that this run read into a generation; unchanged documents are marked as seen in it. */
  adopt(sourceId: string, run: number, generationId: number): void {
    const ofRun = "source_id = ? AND run = ? AND kind = 'page'";
    const stays = `SELECT document_id FROM pages INDEXED BY pages_run WHERE ${ofRun} AND state IN ('unchanged', 'kept') AND document_id IS NOT NULL`;
    this.tables.run(`UPDATE documents SET seen_in = ? WHERE id IN (${stays})`, generationId, sourceId, run);
    this.tables.run(`UPDATE pages SET document_id = built_id WHERE ${ofRun} AND state = 'indexed'`, sourceId, run);
    this.tables.run(`UPDATE pages SET document_id = NULL WHERE ${ofRun} AND state IN ('failed', 'skipped', 'alias')`, sourceId, run);
  }

  /** Updates the addresses under which documents are cited to where their pages are now. */
  moveDocuments(sourceId: string, run: number): void {
    this.tables.run(
      `UPDATE documents SET url = p.url FROM pages p WHERE p.document_id = documents.id AND p.source_id = ? AND p.run = ? AND p.url <> documents.url`,
      sourceId,
      run,
    );
  }

  /** The blocks of pages that are no longer in use, which are to be taken out of the counts. */
  takeUnusedBlocks(sourceId: string, run: number): string[][] {
    const unused = "source_id = ? AND blocks IS NOT NULL AND (run < ? OR state IN ('failed', 'skipped', 'alias'))";
    const rows = this.tables.all<{ blocks: string }>(`SELECT blocks FROM pages WHERE ${unused}`, sourceId, run);
    this.tables.run(`UPDATE pages SET blocks = NULL WHERE ${unused}`, sourceId, run);
    return rows.map(({ blocks }) => JSON.parse(blocks) as string[]);
  }

  /** Removes pages that this run did not find. */
  dropLost(sourceId: string, run: number): void {
    this.tables.run("DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ? AND run < ?)", sourceId, run);
    this.tables.run("DELETE FROM pages WHERE source_id = ? AND run < ?", sourceId, run);
  }

  removeSource(sourceId: string): void {
    this.tables.run("DELETE FROM pages WHERE source_id = ?", sourceId);
  }

  /** One page of the list of a source's pages, in the order in which they were found; `states` null means all. */
  list(sourceId: string, states: readonly PageState[] | null, { limit, offset }: { limit: number; offset: number }) {
    if (!this.tables.exist) return { pages: [], total: 0 };
    const where = "source_id = ? AND kind = 'page' AND state <> 'alias' AND (? IS NULL OR state IN (SELECT value FROM json_each(?)))";
    const wanted = states === null ? null : JSON.stringify(states);
    const { total } = this.tables.all<{ total: number }>(
      `SELECT count(*) AS total FROM pages WHERE ${where}`,
      sourceId,
      wanted,
      wanted,
    )[0]!;
    const rows = this.tables.all<Omit<ListedPage, "inUse"> & { inUse: number }>(
      `SELECT p.url, d.title, p.state, p.reason, d.id IS NOT NULL AS inUse
        FROM (SELECT * FROM pages WHERE ${where} ORDER BY id LIMIT ? OFFSET ?) p LEFT JOIN documents d ON d.id = p.document_id ORDER BY p.id`,
      sourceId,
      wanted,
      wanted,
      limit,
      offset,
    );
    return { pages: rows.map((row) => ({ ...row, inUse: row.inUse === 1 })), total };
  }
}
