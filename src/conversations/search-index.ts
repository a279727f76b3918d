import { type Database, newOperation } from "../platform/db/client.ts";
import type { Page } from "../platform/db/sql.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import { MINUTE_MS, SECOND_MS } from "../platform/time.ts";
import type { ConversationFilter } from "./list-store.ts";
import {
  type ChangedSecond,
  countChanged,
  idNumber,
  listChanged,
  listExisting,
  listNewTexts,
  listUnread,
  type TextPosition,
} from "./search-store.ts";
import { toIndexText, toMatch, toPhrases } from "./search-text.ts";

type IndexedFilters = "agentId" | "status" | "channel" | "sinceMs" | "assigneeId" | "isUnread";

/** A search in the texts of conversations, with the filters that the index has and the page. */
export interface ConversationQuery extends Pick<ConversationFilter, IndexedFilters>, Page {
  q: string;
}

/** A conversation that was found, and its latest matching message or note; null if only the subject or the visitor matches. */
interface ConversationHit {
  id: string;
  recordId: string | null;
}

/** The hits, one more than `limit` if there is another page; or the information that the index is not complete yet. */
export type SearchResult = ({ outcome: "found"; hits: ConversationHit[]; total: number } | { outcome: "indexing" }) & { cost: Cost };

type IndexedConversation = Awaited<ReturnType<typeof listChanged>>[number];

/** The conversations as they were read last, by id. */
type SeenConversations = Map<string, Pick<IndexedConversation, "updatedAt" | "messageCount">>;

/**
 * A text holds the words of a message or note. The first text of a conversation holds those of the subject and the visitor. The
 * position of a text is the number of its conversation and its place in it, so that the matches of a conversation are adjacent.
 * Secure-delete removes the words of erased conversations immediately.
 */
const SCHEMA = `
CREATE TABLE conversations (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, channel TEXT NOT NULL, status TEXT NOT NULL,
  assignee_id TEXT, updated_at INTEGER NOT NULL, message_count INTEGER NOT NULL, next_place INTEGER NOT NULL DEFAULT 1,
  message_at INTEGER NOT NULL DEFAULT 0, message_id TEXT NOT NULL DEFAULT '', note_at INTEGER NOT NULL DEFAULT 0, note_id TEXT NOT NULL DEFAULT '');
CREATE TABLE texts (position INTEGER PRIMARY KEY, record_id TEXT, words TEXT NOT NULL);
CREATE VIRTUAL TABLE text_index USING fts5 (
  words, content='texts', content_rowid='position', columnsize=0, tokenize="ascii tokenchars '_'");
INSERT INTO text_index (text_index, rank) VALUES ('secure-delete', 1);
CREATE TABLE erased (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`;
const PLACES = 65_536;

const UPSERT = `INSERT INTO conversations (id, agent_id, channel, status, assignee_id, updated_at, message_count) VALUES (?, ?, ?, ?, ?, ?, -1)
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, assignee_id = excluded.assignee_id, updated_at = excluded.updated_at
  RETURNING number`;
const INSERT_TEXT = "INSERT INTO texts (position, record_id, words) VALUES (?, ?, ?)";
const INDEX_TEXT = "INSERT INTO text_index (rowid, words) SELECT position, words FROM texts WHERE position = ?";
const OF_RANGE = "FROM texts WHERE position BETWEEN ? AND ?";
const UNINDEX = `INSERT INTO text_index (text_index, rowid, words) SELECT 'delete', position, words ${OF_RANGE}`;
const POSITION = "id, message_at AS messageAt, message_id AS messageId, note_at AS noteAt, note_id AS noteId";

/** The conversations that match. PLACES is part of the text, since bound numbers are floats, which do not divide to integers. */
const MATCHES = `FROM conversations WHERE number IN (SELECT rowid / ${PLACES} FROM text_index WHERE text_index MATCH ?1)
  AND (?2 IS NULL OR agent_id = ?2) AND (?3 IS NULL OR status = ?3) AND (?4 IS NULL OR channel = ?4) AND updated_at >= ?5
  AND (?6 IS NULL OR assignee_id = ?6) AND (?7 IS NULL OR id IN (SELECT value FROM json_each(?7)))`;
/**
 * The total counts the whole list, not only the page. The list begins with the newest conversations, since most of the page is among
 * them: SQLite then rejects nearly all others by one comparison.
 */
const SEARCH = `WITH list AS MATERIALIZED (SELECT number, id, updated_at ${MATCHES} ORDER BY number DESC)
  SELECT number, id, (SELECT count(*) FROM list) AS total FROM list
  WHERE (updated_at, id) < (?8, ?9) ORDER BY updated_at DESC, id DESC LIMIT ?10 OFFSET ?11`;
const COUNT = `SELECT count(*) AS total ${MATCHES}`;
/** The latest matching text of each conversation of a page. */
const LATEST_TEXTS = `SELECT number, record_id AS recordId FROM texts JOIN (
  SELECT rowid / ${PLACES} AS number, max(rowid) AS latest FROM text_index
  WHERE text_index MATCH ?1 AND rowid / ${PLACES} IN (SELECT value FROM json_each(?2)) GROUP BY 1) ON position = latest`;

/** How many conversations, and how many texts, are read at once. */
const PAGE_SIZE = 200;
const TEXTS_SIZE = 1_000;
/** How many unread conversations a search covers. */
const MAX_UNREAD = 10_000;
/** The longest time between a change's timestamp and its commit. */
const OVERLAP_MS = 2 * MINUTE_MS;
/** Most changes are committed within this time. Older changes are read again only if the counts of their second differ. */
const TAIL_MS = 2_000;
/** How long a search waits for the index to be complete, and how long one alarm works on it. */
const SEARCH_WAIT_MS = 2_000;
const ALARM_MS = 30_000;
/** An erasure takes less time than this: a conversation that D1 has after it was not erased. */
const ERASURE_MS = 10 * MINUTE_MS;

/** The full-text index of one workspace's conversations, in the storage of its object. */
export class SearchIndex {
  private readonly sql: SqlStorage;
  /** The running read, and the one that starts after it. */
  private reading: Promise<boolean> | undefined;
  private next: Promise<boolean> | undefined;
  /** The conversations that changed within OVERLAP_MS, as they were read last; undefined until all of them have been read. */
  private seen: SeenConversations | undefined;
  /** Whether an alarm is building the index, which takes too long for a search. */
  private isBuilding = false;

  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly env: Env,
    private readonly workspaceId: string,
  ) {
    this.sql = storage.sql;
  }

  /** Finds conversations by last activity, newest first. */
  async search(query: ConversationQuery): Promise<SearchResult> {
    const meter = new Meter();
    const isComplete = !this.isBuilding && (await this.catchUp(SEARCH_WAIT_MS, meter));
    if (!isComplete) {
      await this.storage.setAlarm(Date.now());
      return { outcome: "indexing", cost: meter.cost };
    }
    const match = toMatch(toPhrases(query.q));
    if (match === "") return { outcome: "found", hits: [], total: 0, cost: meter.cost };
    const unread = query.isUnread ? await this.unreadIds(meter) : null;
    return { outcome: "found", ...this.find(match, query, unread), cost: meter.cost };
  }

  /** Removes conversations that are being erased, and keeps a running read from adding them again. */
  remove(conversationIds: readonly string[]): void {
    this.createTables();
    const nowMs = Date.now();
    this.storage.transactionSync(() => {
      // The first search reads everything, so marks of earlier erasures are not needed until then.
      const hasRead = this.reading !== undefined || this.storage.kv.get("readUntil") !== undefined;
      if (!hasRead) this.sql.exec("DELETE FROM erased WHERE at < ?", nowMs - ERASURE_MS);
      for (const id of conversationIds) {
        this.sql.exec("INSERT INTO erased (id, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at", id, nowMs);
        const [found] = this.sql.exec<{ number: number }>("DELETE FROM conversations WHERE id = ? RETURNING number", id).toArray();
        if (found) this.removeTexts(found.number * PLACES, found.number * PLACES + PLACES - 1);
      }
    });
  }

  /** Removes everything, when the workspace is erased. */
  async erase(): Promise<void> {
    this.seen = undefined;
    await this.storage.deleteAlarm();
    await this.storage.deleteAll();
  }

  /** Continues a read that took too long for a search. */
  async alarm(): Promise<void> {
    const { workspaceId } = this;
    this.isBuilding = true;
    try {
      const isComplete = await measureJob(this.env, { job: "conversation_index", workspaceId }, (meter) => this.catchUp(ALARM_MS, meter));
      if (!isComplete) await this.storage.setAlarm(Date.now());
    } finally {
      this.isBuilding = false;
    }
  }

  private find(match: string, query: ConversationQuery, unread: string | null): { hits: ConversationHit[]; total: number } {
    const { agentId = null, status = null, channel = null, sinceMs = 0, assigneeId = null, cursor } = query;
    const filters = [match, agentId, status, channel, sinceMs, assigneeId, unread];
    const { atMs, id } = cursor ?? { atMs: Number.MAX_SAFE_INTEGER, id: "" };
    const page = [atMs, id, query.limit + 1, query.offset];
    const rows = this.sql.exec<{ number: number; id: string; total: number }>(SEARCH, ...filters, ...page).toArray();
    const [first] = rows;
    if (!first) return { hits: [], total: this.sql.exec<{ total: number }>(COUNT, ...filters).one().total };
    const numbers = JSON.stringify(rows.map(({ number }) => number));
    const texts = this.sql.exec<{ number: number; recordId: string | null }>(LATEST_TEXTS, match, numbers).toArray();
    const recordIdOf = new Map(texts.map(({ number, recordId }) => [number, recordId]));
    return { hits: rows.map(({ number, id }) => ({ id, recordId: recordIdOf.get(number) ?? null })), total: first.total };
  }

  private async unreadIds(meter: Meter): Promise<string> {
    const { db } = newOperation(this.env, meter, this.workspaceId);
    const [rows] = await db.batch([listUnread(db, this.workspaceId, MAX_UNREAD)]);
    return JSON.stringify(rows.map(({ id }) => id));
  }

  /** Reads what has changed. A search during a running read waits for the next read, since the running one may miss the latest changes. */
  private catchUp(forMs: number, meter: Meter): Promise<boolean> {
    if (!this.reading) {
      this.reading = this.read(Date.now() + forMs, meter).finally(() => (this.reading = undefined));
      return this.reading;
    }
    const again = () => {
      this.next = undefined;
      return this.catchUp(forMs, meter);
    };
    this.next ??= this.reading.then(again, again);
    return this.next;
  }

  /** @returns whether everything was read by the deadline. */
  private async read(deadlineMs: number, meter: Meter): Promise<boolean> {
    this.createTables();
    const { db } = newOperation(this.env, meter, this.workspaceId);
    await this.reviveErased(db);
    const untilMs = this.storage.kv.get<number>("readUntil") ?? 0;
    const [fromMs, tailMs] = [untilMs - OVERLAP_MS, untilMs - TAIL_MS];
    const { seen } = this;
    // The field is set again when this read is complete.
    this.seen = undefined;
    if (!seen) return this.readSince(db, fromMs, new Map(), deadlineMs);
    const [rows, seconds] = await db.batch([
      listChanged(db, this.workspaceId, { atMs: tailMs, id: "" }, PAGE_SIZE),
      countChanged(db, this.workspaceId, fromMs, tailMs),
    ]);
    // Conversations with later changes no longer count in the second of their earlier change.
    for (const { id } of rows) seen.delete(id);
    const differingMs = firstDifference(seen, seconds, fromMs, tailMs);
    if (differingMs === undefined) return this.readSince(db, tailMs, seen, deadlineMs, rows);
    return this.readSince(db, differingMs, seen, deadlineMs);
  }

  /** Indexes what has changed since a time. @returns whether everything was read by the deadline. */
  private async readSince(
    db: Database,
    sinceMs: number,
    seen: SeenConversations,
    deadlineMs: number,
    first?: IndexedConversation[],
  ): Promise<boolean> {
    const { kv } = this.storage;
    for (const [id, { updatedAt }] of seen) if (updatedAt >= sinceMs) seen.delete(id);
    let after = { atMs: sinceMs, id: "" };
    for (let rows = first; ; rows = undefined) {
      rows ??= (await db.batch([listChanged(db, this.workspaceId, after, PAGE_SIZE)]))[0];
      const changed = rows.filter((row) => this.isChanged(row));
      await this.indexConversations(db, changed);
      const last = rows.at(-1);
      const readUntilMs = kv.get<number>("readUntil") ?? 0;
      const untilMs = Math.max(readUntilMs, last?.updatedAt ?? 0);
      for (const { id, updatedAt, messageCount } of rows) seen.set(id, { updatedAt, messageCount });
      for (const [id, { updatedAt }] of seen) if (updatedAt < untilMs - OVERLAP_MS) seen.delete(id);
      if (last) after = { atMs: last.updatedAt, id: last.id };
      // Each write delays the result until it is stored.
      if (untilMs > readUntilMs) kv.put("readUntil", untilMs);
      if (rows.length < PAGE_SIZE) {
        this.seen = seen;
        return true;
      }
      if (Date.now() >= deadlineMs) return false;
    }
  }

  private isChanged({ id, updatedAt, messageCount, notedAt, status, assigneeId }: IndexedConversation): boolean {
    const query = `SELECT 1 FROM conversations WHERE id = ? AND updated_at = ? AND message_count = ? AND note_at = ? AND status = ? AND assignee_id IS ?`;
    return this.sql.exec(query, id, updatedAt, messageCount, notedAt, status, assigneeId).toArray().length === 0;
  }

  /** Indexes conversations, with the texts that the index does not have yet. */
  private async indexConversations(db: Database, rows: readonly IndexedConversation[]): Promise<void> {
    const kept = rows.filter((row) => !this.isErased(row.id));
    if (kept.length === 0) return;
    this.storage.transactionSync(() => {
      for (const row of kept) this.putConversation(row);
    });
    for (;;) {
      const [messages, notes] = await db.batch(listNewTexts(db, this.workspaceId, this.positionsOf(kept), TEXTS_SIZE));
      this.storage.transactionSync(() => {
        for (const text of messages) this.putText(text, "message");
        for (const text of notes) this.putText(text, "note");
      });
      if (messages.length < TEXTS_SIZE && notes.length < TEXTS_SIZE) break;
    }
    for (const { id, messageCount } of kept) this.sql.exec("UPDATE conversations SET message_count = ? WHERE id = ?", messageCount, id);
  }

  private putConversation(row: IndexedConversation): void {
    const { id, agentId, channel, status, assigneeId, updatedAt } = row;
    const { number } = this.sql.exec<{ number: number }>(UPSERT, id, agentId, channel, status, assigneeId, updatedAt).one();
    const words = toIndexText([row.subject, row.visitorName, row.visitorEmail].filter((text) => text !== null).join(" "));
    const position = number * PLACES;
    const [known] = this.sql.exec<{ words: string }>("SELECT words FROM texts WHERE position = ?", position).toArray();
    if (known?.words === words) return;
    this.removeTexts(position, position);
    this.insertText(position, null, words);
  }

  private putText(text: { id: string; conversationId: string; createdAt: number; content: string }, kind: "message" | "note"): void {
    const advance = `UPDATE conversations SET ${kind}_at = ?, ${kind}_id = ?, next_place = next_place + 1 WHERE id = ? RETURNING number, next_place AS place`;
    const { createdAt, id, conversationId } = text;
    const [found] = this.sql.exec<{ number: number; place: number }>(advance, createdAt, id, conversationId).toArray();
    // The conversation was erased while it was read, or is longer than any plan allows.
    if (!found || found.place >= PLACES) return;
    this.insertText(found.number * PLACES + found.place - 1, id, toIndexText(text.content));
  }

  private insertText(position: number, recordId: string | null, words: string): void {
    this.sql.exec(INSERT_TEXT, position, recordId, words);
    this.sql.exec(INDEX_TEXT, position);
  }

  private removeTexts(first: number, last: number): void {
    this.sql.exec(UNINDEX, first, last);
    this.sql.exec(`DELETE ${OF_RANGE}`, first, last);
  }

  private positionsOf(rows: readonly IndexedConversation[]): TextPosition[] {
    const ids = JSON.stringify(rows.map(({ id }) => id));
    const query = `SELECT ${POSITION} FROM conversations WHERE id IN (SELECT value FROM json_each(?))`;
    return this.sql.exec<Record<keyof TextPosition, SqlStorageValue>>(query, ids).toArray() as unknown as TextPosition[];
  }

  private isErased(id: string): boolean {
    return this.sql.exec("SELECT 1 FROM erased WHERE id = ?", id).toArray().length > 0;
  }

  /** Indexes conversations again whose erasure did not happen, because of new activity. */
  private async reviveErased(db: Database): Promise<void> {
    const beforeMs = Date.now() - ERASURE_MS;
    const query = `SELECT id FROM erased WHERE at < ? LIMIT ${PAGE_SIZE}`;
    const ids = this.sql
      .exec<{ id: string }>(query, beforeMs)
      .toArray()
      .map(({ id }) => id);
    if (ids.length === 0) return;
    const [rows] = await db.batch([listExisting(db, this.workspaceId, ids)]);
    // A conversation that was marked again in the meantime stays marked.
    for (const id of ids) this.sql.exec("DELETE FROM erased WHERE id = ? AND at < ?", id, beforeMs);
    await this.indexConversations(db, rows);
  }

  private createTables(): void {
    if (this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'texts'").toArray().length > 0) return;
    this.storage.transactionSync(() => this.sql.exec(SCHEMA));
  }
}

const NAMES_OF_SUMS = ["count", "messages", "atSum", "idSum"] as const;

/** The start of the first second whose changes differ from those that were read; undefined if there is none. */
function firstDifference(
  seen: Readonly<SeenConversations>,
  seconds: readonly ChangedSecond[],
  sinceMs: number,
  untilMs: number,
): number | undefined {
  const counts = new Map<number, Omit<ChangedSecond, "second">>();
  for (const [id, { updatedAt: at, messageCount }] of seen) {
    if (at < sinceMs || at >= untilMs) continue;
    const second = Math.floor(at / SECOND_MS);
    const { count, messages, atSum, idSum } = counts.get(second) ?? { count: 0, messages: 0, atSum: 0, idSum: 0 };
    const sums = { messages: messages + messageCount, atSum: atSum + (at % SECOND_MS), idSum: idSum + idNumber(id) };
    counts.set(second, { count: count + 1, ...sums });
  }
  const differing = seconds.filter(({ second, ...found }) => {
    const known = counts.get(second);
    counts.delete(second);
    return NAMES_OF_SUMS.some((name) => known?.[name] !== found[name]);
  });
  const first = Math.min(...differing.map(({ second }) => second), ...counts.keys());
  return first === Number.POSITIVE_INFINITY ? undefined : first * SECOND_MS;
}
