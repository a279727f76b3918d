import type { CrawlTables } from "./crawl-tables.ts";
import type { PageState } from "./page-store.ts";

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
