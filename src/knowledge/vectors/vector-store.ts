import type { AgentKey } from "../../platform/db/sql.ts";
import { EMBEDDED_TABLE } from "./embedded-vectors.ts";
import type { VectorHome } from "./vector-index.ts";

/*
 * Stores the names of an agent's vectors and the work that is queued for them, in its KnowledgeIndex object.
 *
 * `chunk_vectors` has a row for each chunk, with the name of its vector once that is computed; equal texts share a name.
 * `vectors` has a row for each name, and is a job queue by `task` and `not_before`. `presence` tells whether the vector index has
 * the vector: 'none' (never sent), 'maybe' or 'sure'. Triggers update both tables with the chunks, so that no name is lost when
 * chunks are deleted: Vectorize cannot list its vectors.
 *
 * While all chunks are embedded again, for another model or vector index, `name` is the name of the new vector and `old_name` that
 * of the old one, which serves searches until all new vectors are stored.
 */

interface ChunkText {
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

/** The agent of the vectors, the version with which they are computed, and the backoff after failures. */
export interface VectorState extends AgentKey {
  version: string;
  /** The version of the vectors that are searched: the old one until all vectors of the new one are stored. */
  servingVersion: string;
  failures: number;
  retryAtMs: number;
}

/** A task in the vector index: to put a vector, to remove it, to verify that it is removed. */
type Task = "put" | "remove" | "verify";

const HAS_NO_CHUNK = `NOT EXISTS (SELECT 1 FROM chunk_vectors WHERE name = vectors.name)
  AND NOT EXISTS (SELECT 1 FROM chunk_vectors WHERE old_name = vectors.name)`;

const TABLES = `
CREATE TABLE IF NOT EXISTS vector_state (
  id INTEGER PRIMARY KEY CHECK (id = 1), workspace_id TEXT NOT NULL, agent_id TEXT NOT NULL, version TEXT NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0, retry_at INTEGER NOT NULL DEFAULT 0, serving_version TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
  name TEXT PRIMARY KEY, presence TEXT NOT NULL, task TEXT, not_before INTEGER NOT NULL DEFAULT 0,
  home TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_task ON vectors (task, not_before) WHERE task IS NOT NULL;
CREATE TABLE chunk_vectors (chunk_id INTEGER PRIMARY KEY, name TEXT, old_name TEXT);
CREATE INDEX chunk_vectors_name ON chunk_vectors (name);
CREATE TRIGGER chunk_vectors_of_new AFTER INSERT ON chunks BEGIN
  INSERT INTO chunk_vectors (chunk_id) VALUES (NEW.id);
END;
CREATE TRIGGER chunk_vectors_of_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunk_vectors WHERE chunk_id = OLD.id;
END;
CREATE INDEX chunk_vectors_old_name ON chunk_vectors (old_name) WHERE old_name IS NOT NULL;
CREATE TRIGGER vectors_left AFTER DELETE ON chunk_vectors BEGIN
  DELETE FROM vectors WHERE name IN (OLD.name, OLD.old_name) AND presence = 'none' AND ${HAS_NO_CHUNK};
  UPDATE vectors SET task = 'remove', not_before = 0 WHERE name IN (OLD.name, OLD.old_name) AND ${HAS_NO_CHUNK};
END;
${EMBEDDED_TABLE}
`;

/** The tables that are kept after an agent's erasure, until all its vectors are removed from the vector index. */
export const VECTOR_TABLES = ["vector_state", "vectors"];

const TEXT_COLUMNS = "d.title, c.heading, c.content";
/** Joins the tables of these columns to `chunk_vectors cv`. */
const TEXT_TABLES = "JOIN chunks c ON c.id = cv.chunk_id JOIN documents d ON d.id = c.document_id";

export class VectorStore {
  constructor(private readonly storage: DurableObjectStorage) {}

  /** Creates the tables, and queues the existing chunks. The tables of the chunks must exist. */
  create({ workspaceId, agentId }: AgentKey, version: string): void {
    this.storage.transactionSync(() => {
      this.storage.sql.exec(TABLES);
      this.run(
        "INSERT OR IGNORE INTO vector_state (id, workspace_id, agent_id, version, serving_version) VALUES (1, ?1, ?2, ?3, ?3)",
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
    const columns = `workspace_id AS workspaceId, agent_id AS agentId, version, serving_version AS servingVersion,
      failures, retry_at AS retryAtMs`;
    return this.all<VectorState>(`SELECT ${columns} FROM vector_state`)[0];
  }

  /**
   * Queues all chunks to be embedded again.
   * @param keepsOld whether the vectors that serve now are searched until all new ones are stored.
   */
  changeVersion(version: string, keepsOld: boolean): void {
    this.storage.transactionSync(() => {
      const { version: previous, servingVersion } = this.findState()!;
      // If the last change was not complete, the vectors from before it continue to serve.
      if (!keepsOld) this.run("UPDATE chunk_vectors SET old_name = NULL");
      else if (servingVersion === previous) this.run("UPDATE chunk_vectors SET old_name = name");
      this.run("UPDATE chunk_vectors SET name = NULL");
      this.run("UPDATE vector_state SET version = ?, failures = 0, retry_at = 0", version);
      if (!keepsOld) this.run("UPDATE vector_state SET serving_version = ?", version);
      this.run("DELETE FROM vectors WHERE presence = 'none'");
      this.run("UPDATE vectors SET task = NULL WHERE task = 'put'");
      this.queueRemovalOfOthers("old_name");
    });
  }

  /** Once all chunks have new vectors, makes these serve, and queues the old ones for removal. */
  completeChange(nowMs: number): void {
    const { version, servingVersion } = this.findState()!;
    if (version === servingVersion || !this.tracksChunks) return;
    const unfinished = `SELECT 1 FROM chunk_vectors WHERE name IS NULL
      UNION ALL SELECT 1 FROM vectors WHERE task = 'put' AND not_before <= ? LIMIT 1`;
    if (this.all(unfinished, nowMs).length > 0) return;
    this.storage.transactionSync(() => {
      this.run("UPDATE chunk_vectors SET old_name = NULL");
      this.run("UPDATE vector_state SET serving_version = version");
      this.queueRemovalOfOthers("name");
    });
  }

  /** Queues the removal of vectors whose name no chunk has in this column. */
  private queueRemovalOfOthers(column: "name" | "old_name"): void {
    this.run(`UPDATE vectors SET task = 'remove', not_before = 0
      WHERE task IS NOT 'verify' AND name NOT IN (SELECT ${column} FROM chunk_vectors WHERE ${column} IS NOT NULL)`);
  }

  /** Whether the vector index certainly has vectors. */
  get hasVectors(): boolean {
    return this.all("SELECT 1 FROM vectors WHERE presence = 'sure' LIMIT 1").length > 0;
  }

  /** The number of vectors that the chunks need. Before chunks are named, equal texts count more than once. */
  countNeeded(): number {
    const query = "SELECT count(DISTINCT name) + count(*) - count(name) AS count FROM chunk_vectors";
    return this.all<{ count: number }>(query)[0]!.count;
  }

  saveBackoff(failures: number, retryAtMs: number): void {
    this.run("UPDATE vector_state SET failures = ?, retry_at = ?", failures, retryAtMs);
  }

  /** Queues the removal of all vectors in Vectorize. The table of the vectors in the object is dropped with the chunks. */
  queueRemovalOfAll(): void {
    this.run("DELETE FROM vectors WHERE presence = 'none' OR home = 'object'");
    this.run("UPDATE vectors SET task = 'remove', not_before = 0 WHERE task IS NOT 'verify'");
  }

  // --- Names ---

  listUnnamed(limit: number): UnnamedChunk[] {
    if (!this.tracksChunks) return [];
    const query = `SELECT c.id, ${TEXT_COLUMNS} FROM chunk_vectors cv ${TEXT_TABLES} WHERE cv.name IS NULL ORDER BY cv.chunk_id LIMIT ?`;
    return this.all<UnnamedChunk>(query, limit);
  }

  /** Stores the names of chunks' vectors, and queues the vectors that are missing. Chunks deleted meanwhile are skipped. */
  setNames(chunks: readonly { id: number; name: string }[], home: VectorHome): void {
    this.storage.transactionSync(() => {
      for (const { id, name } of chunks) {
        if (this.run("UPDATE chunk_vectors SET name = ? WHERE chunk_id = ? AND name IS NULL", name, id) === 0) continue;
        this.run(
          `INSERT INTO vectors (name, presence, task, home) VALUES (?, 'none', 'put', ?) ON CONFLICT (name) DO UPDATE
            SET task = iif(presence = 'sure', NULL, 'put'), not_before = 0
            WHERE task IN ('remove', 'verify') OR task IS NULL AND presence <> 'sure'`,
          name,
          home,
        );
      }
    });
  }

  /** The names of the vectors of these sources' chunks. */
  namesOf(sourceIds: readonly string[]): string[] {
    const chunks = `FROM documents d JOIN chunks c ON c.document_id = d.id JOIN chunk_vectors cv ON cv.chunk_id = c.id
      WHERE d.source_id IN (SELECT value FROM json_each(?1))`;
    const query = `SELECT cv.name ${chunks} AND cv.name IS NOT NULL UNION SELECT cv.old_name ${chunks} AND cv.old_name IS NOT NULL`;
    const rows = this.all<{ name: string }>(query, JSON.stringify(sourceIds));
    return rows.map(({ name }) => name);
  }

  /** The number of chunks. */
  countChunks(): number {
    return this.all<{ count: number }>("SELECT count(*) AS count FROM chunk_vectors")[0]!.count;
  }

  listChunks(names: readonly string[]): { name: string; chunkId: number }[] {
    const query = `SELECT name, chunk_id AS chunkId FROM chunk_vectors WHERE name IN (SELECT value FROM json_each(?1))
      UNION SELECT old_name, chunk_id FROM chunk_vectors WHERE old_name IN (SELECT value FROM json_each(?1)) ORDER BY 2`;
    return this.all<{ name: string; chunkId: number }>(query, JSON.stringify(names));
  }

  // --- Tasks ---

  listDuePuts(nowMs: number, limit: number): PendingVector[] {
    if (!this.tracksChunks) return [];
    // Chunks with equal texts share a vector, so the text of any of them is read.
    const query = `SELECT v.name, ${TEXT_COLUMNS}
      FROM (SELECT name FROM vectors WHERE task = 'put' AND not_before <= ? ORDER BY not_before LIMIT ?) v
      JOIN chunk_vectors cv ON cv.chunk_id = (SELECT min(chunk_id) FROM chunk_vectors WHERE name = v.name) ${TEXT_TABLES}`;
    return this.all<PendingVector>(query, nowMs, limit);
  }

  /** The names of the vectors whose removal or verification is due. */
  listDueNames(task: Exclude<Task, "put">, home: VectorHome, nowMs: number, limit: number): string[] {
    const query = "SELECT name FROM vectors WHERE task = ? AND not_before <= ? AND home = ? ORDER BY not_before LIMIT ?";
    return this.all<{ name: string }>(query, task, nowMs, home, limit).map(({ name }) => name);
  }

  /** The names among these that are still to be put: chunks may be deleted while their texts are embedded. */
  listQueuedPuts(names: readonly string[]): Set<string> {
    const query = "SELECT name FROM vectors WHERE task = 'put' AND name IN (SELECT value FROM json_each(?))";
    const rows = this.all<{ name: string }>(query, JSON.stringify(names));
    return new Set(rows.map(({ name }) => name));
  }

  /** The number of vectors that the chunks need and that were put. */
  countPut(): number {
    const query = `SELECT count(*) AS count FROM vectors
      WHERE presence <> 'none' AND EXISTS (SELECT 1 FROM chunk_vectors WHERE name = vectors.name)`;
    return this.all<{ count: number }>(query)[0]!.count;
  }

  /** Marks vectors before a write to the vector index: if the call fails, the write may have happened or not. */
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

  postponePuts(notBeforeMs: number): void {
    this.run("UPDATE vectors SET not_before = max(not_before, ?) WHERE task = 'put'", notBeforeMs);
  }

  /** Postpones the tasks of vectors that are in none of these homes. */
  postponeOthers(homes: readonly VectorHome[], notBeforeMs: number): void {
    this.run(
      `UPDATE vectors SET not_before = max(not_before, ?)
        WHERE task IS NOT NULL AND home NOT IN (SELECT value FROM json_each(?))`,
      notBeforeMs,
      JSON.stringify(homes),
    );
  }

  /** Deletes the names of vectors that were removed. */
  deleteNames(names: readonly string[]): void {
    this.run("DELETE FROM vectors WHERE task = 'remove' AND name IN (SELECT value FROM json_each(?))", JSON.stringify(names));
  }

  markRemoved(names: readonly string[], verifyAtMs: number): void {
    this.update(`task = 'verify', not_before = ${verifyAtMs}`, names, "remove");
  }

  /** Queues the vectors that are still present for removal again, and deletes the names of the others. */
  completeVerification(names: readonly string[], present: readonly string[]): void {
    this.update("task = 'remove', not_before = 0", present, "verify");
    this.run("DELETE FROM vectors WHERE task = 'verify' AND name IN (SELECT value FROM json_each(?))", JSON.stringify(names));
  }

  /** The time at which the next task is due, in Unix milliseconds; undefined when there is none. */
  nextDueMs(): number | undefined {
    if (!this.exists("vectors")) return undefined;
    if (this.tracksChunks && this.all("SELECT 1 FROM chunk_vectors WHERE name IS NULL LIMIT 1").length > 0) return 0;
    const first = (task: Task) => `(SELECT min(not_before) FROM vectors WHERE task = '${task}')`;
    const query = `SELECT ${first("put")} AS put, ${first("remove")} AS remove, ${first("verify")} AS verify`;
    const due = this.all<Record<Task, number | null>>(query)[0]!;
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

  private all<Row>(query: string, ...bindings: (string | number)[]): Row[] {
    return this.storage.sql.exec(query, ...bindings).toArray() as Row[];
  }

  private exists(table: string): boolean {
    return this.all("SELECT 1 FROM sqlite_master WHERE name = ?", table).length > 0;
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
