import type { CrawlTables } from "./crawl-tables.ts";
import type { CrawlEnd } from "./protocol.ts";

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
