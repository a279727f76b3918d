import type { IndexStore } from "../indexing/store.ts";
import { CrawlStore } from "./crawl-store.ts";
import { PageStore } from "./page-store.ts";

/** Version 1. The tables are created by the first write. */
const SCHEMA = `
CREATE TABLE crawls (
  source_id TEXT PRIMARY KEY, sync_number INTEGER NOT NULL, phase TEXT NOT NULL, origin TEXT NOT NULL, robots TEXT,
  failures_in_a_row INTEGER NOT NULL DEFAULT 0, result TEXT) WITHOUT ROWID;
CREATE TABLE hosts (host TEXT PRIMARY KEY, next_fetch_at INTEGER NOT NULL, held_by TEXT, held_until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE variant_groups (
  source_id TEXT NOT NULL, group_key TEXT NOT NULL, run INTEGER NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY (source_id, group_key)) WITHOUT ROWID;
CREATE TABLE pages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_id TEXT NOT NULL, page_key TEXT NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL,
  run INTEGER NOT NULL, depth INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, last_state TEXT, last_reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0, hops INTEGER NOT NULL DEFAULT 0, handed_out INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, etag TEXT, last_modified TEXT, hash TEXT, document_id INTEGER, built_id INTEGER,
  links TEXT, blocks TEXT, UNIQUE (source_id, page_key));
CREATE INDEX pages_waiting ON pages (source_id, depth, id) WHERE state = 'waiting';
CREATE INDEX pages_unindexed ON pages (source_id, id) WHERE state = 'fetched';
CREATE INDEX pages_run ON pages (source_id, run, kind, state, reason);
CREATE INDEX pages_hash ON pages (source_id, hash) WHERE hash IS NOT NULL;
CREATE INDEX pages_document ON pages (document_id) WHERE document_id IS NOT NULL;
CREATE TABLE page_texts (page_id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE page_blocks (
  source_id TEXT NOT NULL, block TEXT NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY (source_id, block)) WITHOUT ROWID;
`;

export type Binding = string | number | null;

/** What crawls keep in an agent's object, beside its index. Only `write` may be used before the tables exist. */
export class CrawlStorage {
  readonly crawls = new CrawlStore(this);
  readonly pages = new PageStore(this);

  constructor(readonly index: IndexStore) {}

  get exist(): boolean {
    return this.index.hasTable("crawls");
  }

  /** Runs a write as one transaction, and creates the tables for the first one. */
  write<T>(work: () => T): T {
    return this.index.write(() => {
      if (!this.exist) this.index.sql.exec(SCHEMA);
      return work();
    });
  }

  run(query: string, ...bindings: Binding[]): void {
    this.index.sql.exec(query, ...bindings);
  }

  all<Row>(query: string, ...bindings: Binding[]): Row[] {
    return this.index.sql.exec(query, ...bindings).toArray() as Row[];
  }

  /** Removes a source's crawl and pages. */
  removeSource(sourceId: string): void {
    if (!this.exist) return;
    this.write(() => {
      this.pages.removeSource(sourceId);
      this.crawls.removeSource(sourceId);
    });
  }
}
