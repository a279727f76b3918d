import { gramsOf, type Match, type SearchText } from "./search.ts";

/** A lead as the index knows it. */
export interface IndexedLead extends SearchText {
  id: string;
  agentId: string;
  createdAtMs: number;
}

/** An entry that is stored: its label stands for its place in the list, the higher the newer. */
export interface Entry extends SearchText {
  label: number;
  id: string;
  createdAtMs: number;
  agent: number;
}

/** Which part of the list: from a label on, up to a label. */
export interface Range {
  from: number;
  to: number;
}

/**
 * Version 1 of the object's tables. They are made with the first write, so that reading leaves no trace. The full-text
 * tables keep no texts, since `entries` has them, and take out at once what is removed (secure-delete).
 */
const SCHEMA = `
CREATE TABLE agents (number INTEGER PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE);
CREATE TABLE entries (
  label INTEGER PRIMARY KEY, lead_id TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, agent INTEGER NOT NULL,
  text TEXT NOT NULL, digits TEXT NOT NULL);
CREATE INDEX entries_order ON entries (created_at, lead_id);
CREATE VIRTUAL TABLE trigrams USING fts5 (text, digits, content='', columnsize=0, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE short_grams USING fts5 (words, content='', columnsize=0, detail=none, tokenize='ascii');
INSERT INTO trigrams (trigrams, rank) VALUES ('secure-delete', 1);
INSERT INTO short_grams (short_grams, rank) VALUES ('secure-delete', 1);
`;

const COLUMNS = "label, lead_id AS id, created_at AS createdAtMs, agent, text, digits";

/** Numbers are bound as floating point, and FTS5 skips to a row only where it is given an integer. */
const IN_RANGE = "rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)";

/** Between the labels of leads that come one after another: room for late ones, and still two bytes in a posting. */
const LABEL_GAP = 8_192;
/** How far after its predecessor a late lead is put, so that more than a hundred in a row find room. */
const LATE_STEP = 64;
/** Entries that are moved apart where there is no room left; as many again when that is not enough. */
const MOVED_AT_ONCE = 8;

/** Every statement that keeps a workspace's index of leads. Labels run in the order of the list, so a page is read in its order. */
export class LeadIndexStore {
  private exists: boolean;

  constructor(private readonly storage: DurableObjectStorage) {
    this.exists = this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'entries'").toArray().length > 0;
  }

  /** Whether anything was ever written. Nothing but `put` may go on where it is true. */
  get isEmpty(): boolean {
    return !this.exists;
  }

  /** Adds leads that are not there yet; returns the new entries. */
  put(leads: readonly IndexedLead[]): Entry[] {
    const added = this.storage.transactionSync(() => {
      if (!this.exists) this.sql.exec(SCHEMA);
      // In the order of the labels, as the full-text tables are written fastest.
      return leads.toSorted(compare).flatMap((lead) => (this.findEntry(lead.id) ? [] : [this.add(lead)]));
    });
    this.exists = true;
    return added;
  }

  remove(leadIds: readonly string[]): void {
    this.storage.transactionSync(() => {
      for (const leadId of leadIds) {
        const entry = this.findEntry(leadId);
        if (entry) this.delete(entry);
      }
    });
  }

  async erase(): Promise<void> {
    await this.storage.deleteAll();
    this.exists = false;
  }

  findAgent(agentId: string): number | undefined {
    return this.sql.exec<{ number: number }>("SELECT number FROM agents WHERE agent_id = ?", agentId).toArray()[0]?.number;
  }

  /** The label of the last entry before a place in the order of time, oldest first. */
  lastBefore(atMs: number, leadId: string): number | undefined {
    const query = `SELECT label FROM entries WHERE (created_at, lead_id) < (?, ?) ORDER BY created_at DESC, lead_id DESC LIMIT 1`;
    return this.sql.exec<{ label: number }>(query, atMs, leadId).toArray()[0]?.label;
  }

  /** The newest entries. */
  listNewest(count: number): Entry[] {
    return this.readEntries(`SELECT ${COLUMNS} FROM entries ORDER BY label DESC LIMIT ?`, count);
  }

  /** Identifiers of matching leads, newest first. */
  list({ table, expression }: Match, { from, to }: Range, { limit, offset }: { limit: number; offset: number }): string[] {
    const found = `SELECT rowid FROM ${table} WHERE ${table} MATCH ? AND ${IN_RANGE} ORDER BY rowid DESC LIMIT ? OFFSET ?`;
    const query = `SELECT lead_id AS id FROM (${found}) AS found CROSS JOIN entries ON label = found.rowid ORDER BY label DESC`;
    const rows = this.sql.exec<{ id: string }>(query, expression, from, to, limit, offset).toArray();
    return rows.map(({ id }) => id);
  }

  /** All matching entries, newest first, if there are at most so many. */
  listFew({ table, expression }: Match, { from, to }: Range, most: number): Entry[] | undefined {
    const query = `SELECT rowid AS label FROM ${table} WHERE ${table} MATCH ? AND ${IN_RANGE} LIMIT ?`;
    const found = this.sql.exec<{ label: number }>(query, expression, from, to, most + 1).toArray();
    if (found.length > most) return undefined;
    const labels = JSON.stringify(found.map(({ label }) => label));
    return this.readEntries(`SELECT ${COLUMNS} FROM entries WHERE label IN (SELECT value FROM json_each(?)) ORDER BY label DESC`, labels);
  }

  /** How many leads match. */
  count({ table, expression }: Match, { from, to }: Range): number {
    const query = `SELECT count(*) AS total FROM ${table} WHERE ${table} MATCH ? AND ${IN_RANGE}`;
    return this.sql.exec<{ total: number }>(query, expression, from, to).one().total;
  }

  private get sql(): SqlStorage {
    return this.storage.sql;
  }

  private add(lead: IndexedLead): Entry {
    const { id, createdAtMs, text, digits } = lead;
    const entry = { id, createdAtMs, text, digits, agent: this.numberOf(lead.agentId), label: this.labelFor(createdAtMs, id) };
    this.insert(entry);
    return entry;
  }

  /** A label between those of the leads before and after. */
  private labelFor(createdAtMs: number, leadId: string): number {
    const before = this.lastBefore(createdAtMs, leadId);
    const after = this.firstLabelAfter(before);
    if (before === undefined) return after === undefined ? 0 : after - LABEL_GAP;
    if (after === undefined) return before + LABEL_GAP;
    const step = Math.min(LATE_STEP, Math.floor((after - before) / 2));
    if (step > 0) return before + step;
    this.moveApart(before);
    return this.labelFor(createdAtMs, leadId);
  }

  private firstLabelAfter(label = -Number.MAX_SAFE_INTEGER): number | undefined {
    return (
      this.sql.exec<{ label: number | null }>("SELECT min(label) AS label FROM entries WHERE label > ?", label).one().label ?? undefined
    );
  }

  /** Makes room after a label: the entries that follow are spread as far as the first one that stays. */
  private moveApart(label: number): void {
    for (let size = MOVED_AT_ONCE; ; size *= 2) {
      const following = this.listEntriesAfter(label, size + 1);
      const staying = following.length > size ? following.pop()!.label : label + LABEL_GAP * (size + 1);
      const step = Math.floor((staying - label) / (following.length + 1));
      if (step < LATE_STEP) continue;
      for (const entry of following) this.delete(entry);
      for (const [at, entry] of following.entries()) this.insert({ ...entry, label: label + step * (at + 1) });
      return;
    }
  }

  private numberOf(agentId: string): number {
    const query = "INSERT INTO agents (agent_id) VALUES (?) RETURNING number";
    return this.findAgent(agentId) ?? this.sql.exec<{ number: number }>(query, agentId).one().number;
  }

  private findEntry(leadId: string): Entry | undefined {
    return this.readEntries(`SELECT ${COLUMNS} FROM entries WHERE lead_id = ?`, leadId)[0];
  }

  private listEntriesAfter(label: number, limit: number): Entry[] {
    return this.readEntries(`SELECT ${COLUMNS} FROM entries WHERE label > ? ORDER BY label LIMIT ?`, label, limit);
  }

  private readEntries(query: string, ...bindings: (string | number)[]): Entry[] {
    return this.sql.exec<Record<keyof Entry, SqlStorageValue>>(query, ...bindings).toArray() as unknown as Entry[];
  }

  private insert(entry: Entry): void {
    const { label, id, createdAtMs, agent } = entry;
    const insert = "INSERT INTO entries (label, lead_id, created_at, agent, text, digits) VALUES (?, ?, ?, ?, ?, ?)";
    this.sql.exec(insert, label, id, createdAtMs, agent, entry.text, entry.digits);
    const { text, digits, short } = gramsOf(entry, agent);
    this.sql.exec("INSERT INTO trigrams (rowid, text, digits) VALUES (?, ?, ?)", label, text, digits);
    this.sql.exec("INSERT INTO short_grams (rowid, words) VALUES (?, ?)", label, short);
  }

  private delete(entry: Entry): void {
    const { text, digits, short } = gramsOf(entry, entry.agent);
    this.sql.exec("INSERT INTO trigrams (trigrams, rowid, text, digits) VALUES ('delete', ?, ?, ?)", entry.label, text, digits);
    this.sql.exec("INSERT INTO short_grams (short_grams, rowid, words) VALUES ('delete', ?, ?)", entry.label, short);
    this.sql.exec("DELETE FROM entries WHERE label = ?", entry.label);
  }
}

/** Oldest first; identifiers in the order of their characters, as the database has them. */
function compare(a: IndexedLead, b: IndexedLead): number {
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs - b.createdAtMs;
  return a.id < b.id ? -1 : 1;
}
