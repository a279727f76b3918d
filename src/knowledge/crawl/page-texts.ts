import type { CrawlTables } from "./crawl-tables.ts";

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
