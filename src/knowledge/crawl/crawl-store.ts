import type { IndexStore } from "../indexing/store.ts";
import { PageStore } from "./page-store.ts";
import type { CrawlEnd, CrawlSource } from "./protocol.ts";

/** The stores of an agent's object, as a crawl uses them. */
export class CrawlStorage {
  readonly crawls: CrawlStore;
  readonly pages: PageStore;

  constructor(readonly index: IndexStore) {
    this.crawls = new CrawlStore(index);
    this.pages = new PageStore(index);
  }

  /** Removes a source's crawl and pages. */
  removeSource(sourceId: string): void {
    if (this.index.isEmpty) return;
    this.index.write(() => {
      this.pages.removeSource(sourceId);
      this.crawls.removeSource(sourceId);
    });
  }
}

/** The last crawl of a source; its row stays when the crawl ends. */
export interface CrawlRow {
  sourceId: string;
  syncNumber: number;
  phase: "crawling" | "indexing" | "done";
  /** Scheme and host that the crawl stays on. */
  origin: string;
  /** The text of robots.txt; null until it was read. */
  robots: string | null;
  /** Transient failures since the last success. */
  failuresInARow: number;
}

/** Queries on crawls, on the pauses and leases of hosts, and on the counts of a crawl. */
export class CrawlStore {
  constructor(private readonly storage: IndexStore) {}

  find(sourceId: string): CrawlRow | undefined {
    if (this.storage.isEmpty) return undefined;
    const query = `SELECT source_id AS sourceId, sync_number AS syncNumber, phase, origin, robots, failures_in_a_row AS failuresInARow
      FROM crawls WHERE source_id = ?`;
    return this.storage.all<CrawlRow>(query, sourceId)[0];
  }

  /** Starts the crawl of a sync in place of the one before. */
  start(sourceId: string, syncNumber: number, origin: string): CrawlRow {
    this.storage.run(
      "INSERT OR REPLACE INTO crawls (source_id, sync_number, phase, origin) VALUES (?, ?, 'crawling', ?)",
      sourceId,
      syncNumber,
      origin,
    );
    return { sourceId, syncNumber, phase: "crawling", origin, robots: null, failuresInARow: 0 };
  }

  /** Stores a crawl's changed row. */
  save({ sourceId, phase, origin, robots, failuresInARow }: CrawlRow): void {
    const query = "UPDATE crawls SET phase = ?, origin = ?, robots = ?, failures_in_a_row = ? WHERE source_id = ?";
    this.storage.run(query, phase, origin, robots, failuresInARow, sourceId);
  }

  /** Stores how a crawl ended, for a caller that dies before recording it and asks again; its counts are no longer needed. */
  finish(sourceId: string, end: CrawlEnd): void {
    this.storage.run("UPDATE crawls SET phase = 'done', result = ? WHERE source_id = ?", JSON.stringify(end), sourceId);
    this.storage.run("DELETE FROM variant_groups WHERE source_id = ?", sourceId);
  }

  /** How a crawl that is done ended. */
  readEnd(sourceId: string): CrawlEnd {
    const { result } = this.storage.all<{ result: string }>("SELECT result FROM crawls WHERE source_id = ?", sourceId)[0]!;
    return JSON.parse(result) as CrawlEnd;
  }

  // --- Hosts ---

  /** When this source may fetch from a host: not while another source has its lease. Unix milliseconds. */
  nextFetchAtMs(host: string, sourceId: string): number {
    const query = "SELECT next_fetch_at AS nextAtMs, held_by AS heldBy, held_until AS heldUntilMs FROM hosts WHERE host = ?";
    const [row] = this.storage.all<{ nextAtMs: number; heldBy: string | null; heldUntilMs: number }>(query, host);
    if (!row) return 0;
    const isLeasedByOther = row.heldBy !== null && row.heldBy !== sourceId;
    return isLeasedByOther ? Math.max(row.nextAtMs, row.heldUntilMs) : row.nextAtMs;
  }

  /** Leases a host to this source until a time, or until it is released. */
  leaseHost(host: string, sourceId: string, untilMs: number): void {
    this.storage.run(
      `INSERT INTO hosts (host, next_fetch_at, held_by, held_until) VALUES (?, 0, ?, ?)
        ON CONFLICT (host) DO UPDATE SET held_by = excluded.held_by, held_until = excluded.held_until`,
      host,
      sourceId,
      untilMs,
    );
  }

  releaseHost(host: string, sourceId: string): void {
    this.storage.run("UPDATE hosts SET held_by = NULL WHERE host = ? AND held_by = ?", host, sourceId);
  }

  /** Lets no source fetch from a host before a time. */
  pauseHost(host: string, untilMs: number): void {
    this.storage.run(
      `INSERT INTO hosts (host, next_fetch_at, held_until) VALUES (?, ?, 0)
        ON CONFLICT (host) DO UPDATE SET next_fetch_at = max(next_fetch_at, excluded.next_fetch_at)`,
      host,
      untilMs,
    );
  }

  // --- Counts of a crawl, in which traps are recognised ---

  readCounts({ id, syncNumber }: Pick<CrawlSource, "id" | "syncNumber">, keys: readonly string[]): Map<string, number> {
    const query = `SELECT group_key AS key, pages AS count FROM variant_groups
      WHERE source_id = ? AND run = ? AND group_key IN (SELECT value FROM json_each(?))`;
    const rows = this.storage.all<{ key: string; count: number }>(query, id, syncNumber, JSON.stringify(keys));
    return new Map(rows.map(({ key, count }) => [key, count]));
  }

  saveCounts({ id, syncNumber }: Pick<CrawlSource, "id" | "syncNumber">, counts: ReadonlyMap<string, number>): void {
    const query = `INSERT OR REPLACE INTO variant_groups (source_id, group_key, run, pages)
      SELECT ?, value ->> 0, ?, value ->> 1 FROM json_each(?)`;
    this.storage.run(query, id, syncNumber, JSON.stringify([...counts]));
  }

  removeSource(sourceId: string): void {
    for (const table of ["variant_groups", "crawls"]) this.storage.run(`DELETE FROM ${table} WHERE source_id = ?`, sourceId);
    this.storage.run("UPDATE hosts SET held_by = NULL WHERE held_by = ?", sourceId);
  }

  /** Removes hosts that are neither paused nor leased. */
  deleteIdleHosts(nowMs: number): void {
    this.storage.run("DELETE FROM hosts WHERE next_fetch_at < ? AND (held_by IS NULL OR held_until < ?)", nowMs, nowMs);
  }
}
