import { DurableObject } from "cloudflare:workers";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type SearchText, toSearchTerm } from "./search-text.ts";

/** A lead as the index stores it. */
export interface IndexedLead extends SearchText {
  id: string;
  agentId: string;
  createdAtMs: number;
}

/** A search for leads: the text to find, the filters, and the page. */
export interface LeadQuery {
  q: string;
  agentId?: string | undefined;
  sinceMs?: number | undefined;
  limit: number;
  offset: number;
  /** Return only leads that follow this one in the list. */
  cursor?: { atMs: number; id: string } | undefined;
}

export interface LeadHits {
  /** One more than `limit` when there is another page. */
  ids: string[];
  /** Of the whole list, whatever the page. */
  total: number;
}

/** In the order of the list, so that a page of a common text reads only the newest leads. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS leads (
  created_at INTEGER NOT NULL, lead_id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, text TEXT NOT NULL, digits TEXT NOT NULL,
  PRIMARY KEY (created_at, lead_id)) WITHOUT ROWID;
`;

/** Converts an index of the former schema, which had full-text tables beside the entries. */
const FROM_ENTRIES = `
INSERT INTO leads SELECT created_at, lead_id, agent_id, text, digits FROM entries JOIN agents ON number = agent;
DROP TABLE trigrams;
DROP TABLE short_grams;
DROP TABLE entries;
DROP TABLE agents;
`;

const MATCHES = "(instr(text, ?1) OR instr(digits, ?2)) AND (?3 IS NULL OR agent_id = ?3) AND created_at >= ?4";
const PAGE = `SELECT lead_id AS id FROM leads WHERE ${MATCHES} AND (created_at, lead_id) < (?5, ?6)
  ORDER BY created_at DESC, lead_id DESC LIMIT ?7 OFFSET ?8`;
const TOTAL = `SELECT count(*) AS total FROM leads WHERE ${MATCHES}`;

/** How many totals are kept in memory. */
const MAX_TOTALS = 1_000;

/**
 * The lead search of one workspace. D1 holds the leads themselves. A search scans the workspace's texts, which takes about
 * 30 ms for 200,000 leads; an index of substrings would need several times the code and the storage. Every method is
 * idempotent.
 */
export class LeadIndex extends DurableObject<Env> {
  private readonly sql: SqlStorage;
  /** Totals of recent searches, so that further pages need not count again. Every change of the index clears them. */
  private readonly totals = new Map<string, number>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    if (this.hasTable("entries")) ctx.storage.transactionSync(() => this.sql.exec(SCHEMA + FROM_ENTRIES));
  }

  /** Adds leads. A lead never changes, so one that is already indexed stays as it is. */
  async put(leads: IndexedLead[]): Promise<void> {
    this.totals.clear();
    this.ctx.storage.transactionSync(() => {
      // Created with the first lead, so that a search leaves an empty object empty.
      this.sql.exec(SCHEMA);
      const insert = "INSERT OR IGNORE INTO leads (created_at, lead_id, agent_id, text, digits) VALUES (?, ?, ?, ?, ?)";
      for (const { createdAtMs, id, agentId, text, digits } of leads) this.sql.exec(insert, createdAtMs, id, agentId, text, digits);
    });
  }

  /** Removes leads. */
  async remove(leadIds: string[]): Promise<void> {
    this.totals.clear();
    if (this.hasTable("leads"))
      this.sql.exec("DELETE FROM leads WHERE lead_id IN (SELECT value FROM json_each(?))", JSON.stringify(leadIds));
  }

  /** Finds leads, newest first. */
  async search({ q, agentId, sinceMs = 0, limit, offset, cursor }: LeadQuery): Promise<LeadHits> {
    if (!this.hasTable("leads")) return { ids: [], total: 0 };
    const { text, digits } = toSearchTerm(q);
    const filter = [text, digits, agentId ?? null, sinceMs];
    const { atMs, id } = cursor ?? { atMs: Number.MAX_SAFE_INTEGER, id: "" };
    const ids = this.sql.exec<{ id: string }>(PAGE, ...filter, atMs, id, limit + 1, offset).toArray();
    const isWholeList = !cursor && offset === 0 && ids.length <= limit;
    return { ids: ids.map((row) => row.id), total: isWholeList ? ids.length : this.count(filter) };
  }

  /** Removes everything, with its workspace. */
  async erase(): Promise<void> {
    this.totals.clear();
    await this.ctx.storage.deleteAll();
  }

  private count(filter: SqlStorageValue[]): number {
    const key = JSON.stringify(filter);
    const known = this.totals.get(key);
    if (known !== undefined) return known;
    const { total } = this.sql.exec<{ total: number }>(TOTAL, ...filter).one();
    if (this.totals.size >= MAX_TOTALS) this.totals.clear();
    this.totals.set(key, total);
    return total;
  }

  private hasTable(name: string): boolean {
    return this.sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).toArray().length > 0;
  }
}

/** The object that searches a workspace's leads. */
export function leadIndexOf(env: Env, meter: Meter, workspaceId: string): DurableObjectStub<LeadIndex> {
  meter.countObjectHop();
  return env.LEADS.getByName(workspaceId);
}
