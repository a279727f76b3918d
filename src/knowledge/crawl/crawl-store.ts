import type { IndexStore } from "../indexing/store.ts";
import { PageStore, piecesOf } from "./page-store.ts";
import type { CrawlEnd, CrawlSource } from "./protocol.ts";

/** The last crawl of a source; its row stays when the crawl ends. */
export interface CrawlRow {
  syncNumber: number;
  phase: "crawling" | "indexing" | "done";
  /** The scheme and host of the crawled site. */
  origin: string;
  /** The text of robots.txt; null until it is read. */
  robots: string | null;
  /** The number of transient failures since the last success. */
  failuresInARow: number;
}

/** Queries on the crawl of one source in one sync, on the pauses and leases of hosts, and on the counts of a crawl. */
export class CrawlStore {
  readonly pages: PageStore;

  constructor(
    readonly index: IndexStore,
    readonly source: CrawlSource,
  ) {
    this.pages = new PageStore(index, source);
  }

  /** The last crawl of the source, which may be that of an earlier sync. */
  find(): CrawlRow | undefined {
    if (this.index.isEmpty) return undefined;
    const query = `SELECT sync_number AS syncNumber, phase, origin, robots, failures_in_a_row AS failuresInARow
      FROM crawls WHERE source_id = ?`;
    return this.index.all<CrawlRow>(query, this.source.id)[0];
  }

  /** Starts the crawl of this sync in place of the one before. */
  start(origin: string): CrawlRow {
    const { id, syncNumber } = this.source;
    this.index.run(
      "INSERT OR REPLACE INTO crawls (source_id, sync_number, phase, origin) VALUES (?, ?, 'crawling', ?)",
      id,
      syncNumber,
      origin,
    );
    return { syncNumber, phase: "crawling", origin, robots: null, failuresInARow: 0 };
  }

  /** Stores a crawl's changed row. */
  save({ phase, origin, robots, failuresInARow }: CrawlRow): void {
    const query = "UPDATE crawls SET phase = ?, origin = ?, robots = ?, failures_in_a_row = ? WHERE source_id = ?";
    this.index.run(query, phase, origin, robots, failuresInARow, this.source.id);
  }

  /** Stores how the crawl ended, for a caller that dies before recording it and asks again; the counts are no longer needed. */
  finish(end: CrawlEnd): void {
    this.index.run("UPDATE crawls SET phase = 'done', result = ? WHERE source_id = ?", JSON.stringify(end), this.source.id);
    this.index.run("DELETE FROM variant_groups WHERE source_id = ?", this.source.id);
  }

  /** The outcome of a crawl that is done. */
  readEnd(): CrawlEnd {
    const [row] = this.index.all<{ result: string }>("SELECT result FROM crawls WHERE source_id = ?", this.source.id);
    return JSON.parse(row!.result) as CrawlEnd;
  }

  // --- Hosts ---

  /** The time from which this source may fetch from a host, in Unix milliseconds: not while another source has its lease. */
  nextFetchAtMs(host: string): number {
    const query = "SELECT iif(held_by <> ?, max(next_fetch_at, held_until), next_fetch_at) AS atMs FROM hosts WHERE host = ?";
    return this.index.all<{ atMs: number }>(query, this.source.id, host)[0]?.atMs ?? 0;
  }

  /** Leases a host to this source until a time, or until it is released. */
  leaseHost(host: string, untilMs: number): void {
    this.index.run(
      `INSERT INTO hosts (host, next_fetch_at, held_by, held_until) VALUES (?, 0, ?, ?)
        ON CONFLICT (host) DO UPDATE SET held_by = excluded.held_by, held_until = excluded.held_until`,
      host,
      this.source.id,
      untilMs,
    );
  }

  releaseHost(host: string): void {
    this.index.run("UPDATE hosts SET held_by = NULL WHERE host = ? AND held_by = ?", host, this.source.id);
  }

  /** Lets no source fetch from a host before a time. */
  pauseHost(host: string, untilMs: number): void {
    this.index.run(
      `INSERT INTO hosts (host, next_fetch_at, held_until) VALUES (?, ?, 0)
        ON CONFLICT (host) DO UPDATE SET next_fetch_at = max(next_fetch_at, excluded.next_fetch_at)`,
      host,
      untilMs,
    );
  }

  /** Removes hosts that are neither paused nor leased. */
  deleteIdleHosts(nowMs: number): void {
    this.index.run("DELETE FROM hosts WHERE next_fetch_at < ?1 AND (held_by IS NULL OR held_until < ?1)", nowMs);
  }

  // --- Counts of a crawl, by which traps are recognised ---

  readCounts(keys: readonly string[]): Map<string, number> {
    const query = `SELECT group_key AS key, pages AS count FROM variant_groups
      WHERE source_id = ? AND run = ? AND group_key IN (SELECT value FROM json_each(?))`;
    const { id, syncNumber } = this.source;
    const rows = piecesOf(keys).flatMap((piece) =>
      this.index.all<{ key: string; count: number }>(query, id, syncNumber, JSON.stringify(piece)),
    );
    return new Map(rows.map(({ key, count }) => [key, count]));
  }

  saveCounts(counts: ReadonlyMap<string, number>): void {
    const query = `INSERT OR REPLACE INTO variant_groups (source_id, group_key, run, pages)
      SELECT ?, value ->> 0, ?, value ->> 1 FROM json_each(?)`;
    for (const piece of piecesOf([...counts])) this.index.run(query, this.source.id, this.source.syncNumber, JSON.stringify(piece));
  }
}

/** Removes a source's crawl and pages. */
export function deleteCrawl(index: IndexStore, sourceId: string): void {
  index.run("DELETE FROM page_texts WHERE page_id IN (SELECT id FROM pages WHERE source_id = ?)", sourceId);
  for (const table of ["pages", "page_blocks", "variant_groups", "crawls"]) {
    index.run(`DELETE FROM ${table} WHERE source_id = ?`, sourceId);
  }
  index.run("UPDATE hosts SET held_by = NULL WHERE held_by = ?", sourceId);
}
