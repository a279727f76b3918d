import { DurableObject } from "cloudflare:workers";
import { LruCache } from "../platform/lru-cache.ts";
import type { Operation } from "../platform/db/client.ts";
import type { Page } from "../platform/db/sql.ts";
import { objectOf } from "../platform/objects.ts";
import {
  AGENT_MARK,
  candidateMatch,
  contains,
  exactMatch,
  hasTrigrams,
  type SearchTerm,
  type SearchText,
  toSearchTerm,
} from "./search-text.ts";
import type { LeadFilter } from "./store.ts";

/** A lead as the index stores it. */
export interface IndexedLead extends SearchText {
  id: string;
  agentId: string;
  createdAtMs: number;
}

/** A search for leads: the text to find, the filters and the page. */
export interface LeadQuery extends LeadFilter, Page {
  q: string;
}

interface LeadHits {
  /** The ids of the page, and one more if there is another page. */
  ids: string[];
  /** How many leads match, on all pages. */
  total: number;
}

/** A total in memory, with the search that it was counted for. */
interface Counted {
  term: SearchTerm;
  agentId: string | undefined;
  sinceMs: number;
  total: number;
}

/**
 * The position of a lead is its time and its rank among the leads of that millisecond. Positions have the order of the list, so a page
 * of a common text reads only the newest leads. `agent_mark` narrows a full-text search to one agent or a few: it is a trigram that
 * no lead's text contains. Secure-delete removes the words of erased leads immediately.
 */
const SCHEMA = `
CREATE TABLE leads (
  position INTEGER PRIMARY KEY, lead_id TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, agent_id TEXT NOT NULL,
  text TEXT NOT NULL, digits TEXT NOT NULL, agent_mark TEXT NOT NULL AS (char(${AGENT_MARK.charCodeAt(0)}) || substr(agent_id, -4, 2)));
CREATE VIRTUAL TABLE lead_index USING fts5 (
  text, digits, agent_mark, content='leads', content_rowid='position', columnsize=0, tokenize='trigram case_sensitive 1');
INSERT INTO lead_index (lead_index, rank) VALUES ('secure-delete', 1);
`;
const POSITIONS_PER_MS = 1_024;

const INSERT = "INSERT INTO leads (position, lead_id, created_at, agent_id, text, digits) VALUES (?, ?, ?, ?, ?, ?)";
const INDEX =
  "INSERT INTO lead_index (rowid, text, digits, agent_mark) SELECT position, text, digits, agent_mark FROM leads WHERE lead_id = ?";
const LISTED = "lead_id IN (SELECT value FROM json_each(?))";
const UNINDEX = `INSERT INTO lead_index (lead_index, rowid, text, digits, agent_mark)
  SELECT 'delete', position, text, digits, agent_mark FROM leads WHERE ${LISTED}`;
const COLUMNS = "lead_id AS id, agent_id AS agentId, created_at AS createdAtMs, text, digits";

/** The values are cast, since bound numbers are floats and FTS5 seeks a row only by an integer. */
const SINCE = `CAST(?4 * ${POSITIONS_PER_MS} AS INTEGER)`;
const UNTIL = `CAST(?5 * ${POSITIONS_PER_MS} + ${POSITIONS_PER_MS - 1} AS INTEGER)`;
const MATCHES = "(instr(leads.text, ?1) OR instr(leads.digits, ?2)) AND (?3 IS NULL OR agent_id = ?3)";
const PAGED = `${MATCHES} AND (created_at, lead_id) < (?5, ?6)`;

const SCANNED_PAGE = `SELECT lead_id AS id FROM leads WHERE position BETWEEN ${SINCE} AND ${UNTIL} AND ${PAGED}
  ORDER BY position DESC LIMIT ?7 OFFSET ?8`;
const SCANNED_TOTAL = `SELECT count(*) AS total FROM leads WHERE position >= ${SINCE} AND ${MATCHES}`;

const INDEXED_PAGE = `SELECT lead_id AS id FROM lead_index CROSS JOIN leads ON position = lead_index.rowid
  WHERE lead_index MATCH ?9 AND lead_index.rowid BETWEEN ${SINCE} AND ${UNTIL} AND ${PAGED}
  ORDER BY lead_index.rowid DESC LIMIT ?7 OFFSET ?8`;
/** This does not compare texts: a full-text phrase matches exactly the leads that contain it. */
const INDEXED_TOTAL = `SELECT count(*) AS total FROM lead_index WHERE lead_index MATCH ?5 AND rowid >= ${SINCE}
  AND (?3 IS NULL OR EXISTS (SELECT 1 FROM leads WHERE position = lead_index.rowid AND agent_id = ?3))`;

/** The number of newest leads from which it is estimated how common a trigram is. */
const SAMPLE = 100;
/** How many totals are kept in memory. Every new lead is compared with each of them. */
const MAX_TOTALS = 1_000;

/**
 * The lead search of one workspace. D1 holds the leads themselves. SQLite's trigram index finds a text of three or more characters,
 * in 1 to 5 ms for 200,000 leads. A shorter text needs a scan of the leads, newest first, which takes up to 90 ms if few leads contain
 * it; so does the first count of a common text. Every method is idempotent.
 */
export class LeadIndex extends DurableObject<Env> {
  private readonly sql: SqlStorage;
  /** The totals of recent searches: counting is the part of a search that takes longer with more leads. */
  private readonly totals = new LruCache<string, Counted>(MAX_TOTALS);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
  }

  /** Adds leads. A lead never changes, so one that is already indexed is skipped. */
  async put(leads: IndexedLead[]): Promise<void> {
    const added = this.ctx.storage.transactionSync(() => {
      // The tables are created with the first lead, so that a search in an empty object stores nothing.
      if (!this.hasTables()) this.sql.exec(SCHEMA);
      return leads.filter((lead) => this.add(lead));
    });
    for (const counted of this.totals.values()) counted.total += added.filter((lead) => matches(lead, counted)).length;
  }

  /** Removes leads. */
  async remove(leadIds: string[]): Promise<void> {
    this.totals.clear();
    if (this.hasTables()) this.ctx.storage.transactionSync(() => this.delete(leadIds));
  }

  /** Finds leads, newest first. */
  async search({ q, agentId, sinceMs = 0, limit, offset, cursor }: LeadQuery): Promise<LeadHits> {
    if (!this.hasTables()) return { ids: [], total: 0 };
    const term = toSearchTerm(q);
    const { atMs, id } = cursor ?? { atMs: Number.MAX_SAFE_INTEGER, id: "" };
    const parameters = [term.text, term.digits, agentId ?? null, sinceMs, atMs, id, limit + 1, offset];
    const rows = hasTrigrams(term)
      ? this.sql.exec<{ id: string }>(INDEXED_PAGE, ...parameters, ofAgent(candidateMatch(term, this.sample()), agentId))
      : this.sql.exec<{ id: string }>(SCANNED_PAGE, ...parameters);
    const ids = rows.toArray().map((row) => row.id);
    const isWholeList = !cursor && offset === 0 && ids.length <= limit;
    return { ids, total: isWholeList ? ids.length : this.total(term, agentId, sinceMs) };
  }

  /** Removes everything, when the workspace is erased. */
  async erase(): Promise<void> {
    this.totals.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Adds a lead, unless it is already indexed. @returns whether it was added. */
  private add(lead: IndexedLead): boolean {
    if (this.sql.exec("SELECT 1 FROM leads WHERE lead_id = ?", lead.id).toArray().length > 0) return false;
    const first = lead.createdAtMs * POSITIONS_PER_MS;
    const query = `SELECT ${COLUMNS} FROM leads WHERE position BETWEEN ? AND ?`;
    const sameMs = this.sql.exec<Record<keyof IndexedLead, SqlStorageValue>>(query, first, first + POSITIONS_PER_MS - 1).toArray();
    this.delete(sameMs.map(({ id }) => id as string));
    const ranked = [...(sameMs as unknown as IndexedLead[]), lead].sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const [rank, { id, createdAtMs, agentId, text, digits }] of ranked.entries()) {
      this.sql.exec(INSERT, first + rank, id, createdAtMs, agentId, text, digits);
      this.sql.exec(INDEX, id);
    }
    return true;
  }

  private delete(leadIds: string[]): void {
    const ids = JSON.stringify(leadIds);
    this.sql.exec(UNINDEX, ids);
    this.sql.exec(`DELETE FROM leads WHERE ${LISTED}`, ids);
  }

  private sample(): SearchText[] {
    const query = `SELECT text, digits FROM leads ORDER BY position DESC LIMIT ${SAMPLE}`;
    return this.sql.exec<{ text: string; digits: string }>(query).toArray();
  }

  private total(term: SearchTerm, agentId: string | undefined, sinceMs: number): number {
    const key = JSON.stringify([term, agentId, sinceMs]);
    const known = this.totals.get(key);
    if (known) return known.total;
    const parameters = [term.text, term.digits, agentId ?? null, sinceMs];
    const { total } = hasTrigrams(term)
      ? this.sql.exec<{ total: number }>(INDEXED_TOTAL, ...parameters, ofAgent(exactMatch(term), agentId)).one()
      : this.sql.exec<{ total: number }>(SCANNED_TOTAL, ...parameters).one();
    this.totals.set(key, { term, agentId, sinceMs, total });
    return total;
  }

  private hasTables(): boolean {
    return this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'leads'").toArray().length > 0;
  }
}

/** Limits a full-text expression to the leads of one agent, and of other agents with the same mark. */
function ofAgent(expression: string, agentId: string | undefined): string {
  return agentId === undefined ? expression : `${expression} AND agent_mark : "${AGENT_MARK}${agentId.slice(-4, -2)}"`;
}

function matches(lead: IndexedLead, { term, agentId, sinceMs }: Counted): boolean {
  return (agentId === undefined || agentId === lead.agentId) && lead.createdAtMs >= sinceMs && contains(lead, term);
}

/** The object that indexes the leads of a workspace. */
export function leadIndexOf({ env, meter, workspaceId }: Operation): DurableObjectStub<LeadIndex> {
  meter.countObjectHop();
  return objectOf(env, env.LEADS, workspaceId);
}
