import type { VectorScope } from "./vector-index.ts";

/*
 * The names of an agent's vectors and the work that is queued for them, in the storage of its KnowledgeIndex object.
 *
 * `chunk_vectors` has a row for each chunk, with the name of its vector once that is computed; equal texts share a name.
 * `vectors` has a row for each name, and works as a job queue by `task` and `not_before`. `presence` says whether the
 * vector index has the vector: 'none' (never sent), 'maybe' or 'sure'. Triggers keep both in step with the chunks, so that
 * no way of deleting chunks loses a name: Vectorize cannot list its vectors.
 */

interface ChunkText extends Record<string, SqlStorageValue> {
  title: string;
  heading: string | null;
  content: string;
}

export interface PendingVector extends ChunkText {
  name: string;
}

export interface UnnamedChunk extends ChunkText {
  id: number;
}

/** The agent that the vectors belong to, the version they are computed with, and the backoff after failures. */
export interface VectorState extends VectorScope {
  version: string;
  failures: number;
  retryAtMs: number;
}

/** What is still to be done in the vector index: put a vector, remove it, verify that it is gone. */
type Task = "put" | "remove" | "verify";

const TABLES = `
CREATE TABLE IF NOT EXISTS vector_state (
  id INTEGER PRIMARY KEY CHECK (id = 1), workspace_id TEXT NOT NULL, agent_id TEXT NOT NULL, version TEXT NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0, retry_at INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS vectors (
  name TEXT PRIMARY KEY, presence TEXT NOT NULL, task TEXT, not_before INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_task ON vectors (task, not_before) WHERE task IS NOT NULL;
CREATE TABLE chunk_vectors (chunk_id INTEGER PRIMARY KEY, name TEXT);
CREATE INDEX chunk_vectors_name ON chunk_vectors (name);
CREATE TRIGGER chunk_vectors_of_new AFTER INSERT ON chunks BEGIN
  INSERT INTO chunk_vectors (chunk_id) VALUES (NEW.id);
END;
CREATE TRIGGER chunk_vectors_of_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunk_vectors WHERE chunk_id = OLD.id;
END;
CREATE TRIGGER vectors_left AFTER DELETE ON chunk_vectors WHEN NOT EXISTS (SELECT 1 FROM chunk_vectors WHERE name = OLD.name) BEGIN
  DELETE FROM vectors WHERE name = OLD.name AND presence = 'none';
  UPDATE vectors SET task = 'remove', not_before = 0 WHERE name = OLD.name;
END;
`;

/** The tables that outlive an agent's erasure, until all its vectors are gone from the vector index. */
export const VECTOR_TABLES = ["vector_state", "vectors"];

const TEXT_COLUMNS = "d.title, c.heading, c.content";
/** Joins to `chunk_vectors cv` the tables of these columns. */
const TEXT_TABLES = "JOIN chunks c ON c.id = cv.chunk_id JOIN documents d ON d.id = c.document_id";

export class VectorStore {
  constructor(private readonly storage: DurableObjectStorage) {}

  /** Creates the tables, and queues the existing chunks. The tables of the chunks must exist. */
  create({ workspaceId, agentId }: VectorScope, version: string): void {
    this.storage.transactionSync(() => {
      this.storage.sql.exec(TABLES);
      this.run(
        "INSERT OR IGNORE INTO vector_state (id, workspace_id, agent_id, version) VALUES (1, ?, ?, ?)",
        workspaceId,
        agentId,
        version,
      );
      this.run("INSERT INTO chunk_vectors (chunk_id) SELECT id FROM chunks");
    });
  }

  /** Whether the tables exist; after an erasure only VECTOR_TABLES may. */
  get tracksChunks(): boolean {
    return this.exists("chunk_vectors");
  }

  findState(): VectorState | undefined {
    if (!this.exists("vector_state")) return undefined;
    const columns = "workspace_id AS workspaceId, agent_id AS agentId, version, failures, retry_at AS retryAtMs";
    const rows = this.storage.sql.exec<Record<keyof VectorState, SqlStorageValue>>(`SELECT ${columns} FROM vector_state`).toArray();
    return rows[0] as VectorState | undefined;
  }

  /** Queues all vectors to be computed again: those of another version cannot be compared. */
  changeVersion(version: string): void {
    this.storage.transactionSync(() => {
      this.run("UPDATE vector_state SET version = ?, failures = 0, retry_at = 0", version);
      this.run("UPDATE chunk_vectors SET name = NULL");
      this.queueRemovalOfAll();
    });
  }

  saveBackoff(failures: number, retryAtMs: number): void {
    this.run("UPDATE vector_state SET failures = ?, retry_at = ?", failures, retryAtMs);
  }

  queueRemovalOfAll(): void {
    this.run("DELETE FROM vectors WHERE presence = 'none'");
    this.run("UPDATE vectors SET task = 'remove', not_before = 0 WHERE task IS NOT 'verify'");
  }

  // --- Names ---

  listUnnamed(limit: number): UnnamedChunk[] {
    if (!this.tracksChunks) return [];
    const query = `SELECT c.id, ${TEXT_COLUMNS} FROM chunk_vectors cv ${TEXT_TABLES} WHERE cv.name IS NULL ORDER BY cv.chunk_id LIMIT ?`;
    return this.storage.sql.exec<UnnamedChunk>(query, limit).toArray();
  }

  /** Stores the names of chunks' vectors, and queues the vectors that are missing. Chunks deleted meanwhile are skipped. */
  setNames(chunks: readonly { id: number; name: string }[]): void {
    this.storage.transactionSync(() => {
      for (const { id, name } of chunks) {
        if (this.run("UPDATE chunk_vectors SET name = ? WHERE chunk_id = ? AND name IS NULL", name, id) === 0) continue;
        this.run(
          `INSERT INTO vectors (name, presence, task) VALUES (?, 'none', 'put') ON CONFLICT (name) DO UPDATE
            SET task = iif(presence = 'sure', NULL, 'put'), not_before = 0 WHERE task IN ('remove', 'verify')`,
          name,
        );
      }
    });
  }

  listChunks(names: readonly string[]): { name: string; chunkId: number }[] {
    const query = "SELECT name, chunk_id AS chunkId FROM chunk_vectors WHERE name IN (SELECT value FROM json_each(?)) ORDER BY chunk_id";
    return this.storage.sql.exec<{ name: string; chunkId: number }>(query, JSON.stringify(names)).toArray();
  }

  // --- Tasks ---

  listDuePuts(nowMs: number, limit: number): PendingVector[] {
    if (!this.tracksChunks) return [];
    // Chunks with equal texts share a vector: any of them will do.
    const query = `SELECT v.name, ${TEXT_COLUMNS}
      FROM (SELECT name FROM vectors WHERE task = 'put' AND not_before <= ? ORDER BY not_before LIMIT ?) v
      JOIN chunk_vectors cv ON cv.chunk_id = (SELECT min(chunk_id) FROM chunk_vectors WHERE name = v.name) ${TEXT_TABLES}`;
    return this.storage.sql.exec<PendingVector>(query, nowMs, limit).toArray();
  }

  /** The names of the vectors whose removal or verification is due. */
  listDueNames(task: Exclude<Task, "put">, nowMs: number, limit: number): string[] {
    const query = "SELECT name FROM vectors WHERE task = ? AND not_before <= ? ORDER BY not_before LIMIT ?";
    return this.storage.sql
      .exec<{ name: string }>(query, task, nowMs, limit)
      .toArray()
      .map(({ name }) => name);
  }

  /** Call it before a write to the vector index: if the call fails, the write may have happened or not. */
  markUncertain(names: readonly string[]): void {
    this.update("presence = 'maybe'", names);
  }

  markPut(names: readonly string[]): void {
    this.update("presence = 'sure', task = NULL", names, "put");
    // The last chunk of a vector may have been deleted meanwhile, which queued its removal.
    this.update("presence = 'sure'", names, "remove");
  }

  postponePut(name: string, notBeforeMs: number): void {
    this.run("UPDATE vectors SET not_before = ? WHERE name = ? AND task = 'put'", notBeforeMs, name);
  }

  markRemoved(names: readonly string[], verifyAtMs: number): void {
    this.update(`task = 'verify', not_before = ${verifyAtMs}`, names, "remove");
  }

  /** Queues the vectors that are still present for removal again, and deletes the names of the others. */
  completeVerification(names: readonly string[], present: readonly string[]): void {
    this.update("task = 'remove', not_before = 0", present, "verify");
    this.run("DELETE FROM vectors WHERE task = 'verify' AND name IN (SELECT value FROM json_each(?))", JSON.stringify(names));
  }

  /** When the next task is due, in Unix milliseconds; undefined when there is none. */
  nextDueMs(): number | undefined {
    if (!this.exists("vectors")) return undefined;
    if (this.tracksChunks && this.storage.sql.exec("SELECT 1 FROM chunk_vectors WHERE name IS NULL LIMIT 1").toArray().length > 0) return 0;
    const first = (task: Task) => `(SELECT min(not_before) FROM vectors WHERE task = '${task}')`;
    const query = `SELECT ${first("put")} AS put, ${first("remove")} AS remove, ${first("verify")} AS verify`;
    const due = this.storage.sql.exec<Record<Task, number | null>>(query).one();
    const times = Object.values(due).filter((atMs) => atMs !== null);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  private update(set: string, names: readonly string[], task?: Task): void {
    const where = task === undefined ? "" : ` AND task = '${task}'`;
    this.run(`UPDATE vectors SET ${set} WHERE name IN (SELECT value FROM json_each(?))${where}`, JSON.stringify(names));
  }

  private run(query: string, ...bindings: (string | number)[]): number {
    return this.storage.sql.exec(query, ...bindings).rowsWritten;
  }

  private exists(table: string): boolean {
    return this.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray().length > 0;
  }
}

/** Drops every table of an object except these. */
export function dropTables(sql: SqlStorage, except: readonly string[]): void {
  const own = `name NOT IN (SELECT value FROM json_each(?)) AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'`;
  // Virtual tables first: dropping one drops its shadow tables.
  for (const kind of ["sql LIKE 'CREATE VIRTUAL%'", "true"]) {
    const query = `SELECT name FROM sqlite_master WHERE type = 'table' AND ${own} AND ${kind}`;
    const tables = sql.exec<{ name: string }>(query, JSON.stringify(except)).toArray();
    for (const { name } of tables) sql.exec(`DROP TABLE "${name}"`);
  }
}
