import { DEFAULT_LANGUAGE, detectLanguage } from "../../text/languages.ts";
import { ChunkTerms, generationTerm } from "./full-text.ts";
import { TABLES } from "./tables.ts";

export type Binding = string | number | null;

/** A text source's stored text. */
export interface StagedText {
  name: string;
  /** The hash of name and text. */
  hash: string;
}

/** A version of a source's index. Searches read the live one, while another may be built. */
export interface Generation {
  id: number;
  state: "building" | "live";
  runId: string;
  /** The hash of the indexed text, so that the same text is not indexed twice. */
  hash: string;
}

/** A question with the answer that the team wrote for it. */
export interface CuratedAnswer {
  id: string;
  question: string;
  answer: string;
  /** The time of the last change, in Unix milliseconds. An older version does not replace a newer one. */
  updatedAt?: number;
}

/** A stored curated answer. Replacing it gives it a new row number. */
export interface StoredAnswer extends Record<string, SqlStorageValue> {
  id: number;
  answerId: string;
  question: string;
  answer: string;
}

export interface NewDocument {
  sourceId: string;
  generationId: number;
  type: "page" | "text";
  url: string | null;
  title: string;
  hash: string;
  /** The size of the document's text, in bytes of UTF-8. */
  textBytes: number;
}

export interface NewChunk {
  heading: string | null;
  content: string;
  titleTerms: string;
  headingTerms: string;
  bodyTerms: string;
}

/** A read of a stored file that begins. */
export interface FileRead {
  /** Identifies the upload. Another one may replace it while it is read. */
  uploadId: string;
  /** The size of the file, in bytes. */
  length: number;
  /** False if the file was read too often without a result. */
  isAllowed: boolean;
}

export interface IndexSizes {
  chunks: number;
  answers: number;
}

/** The most bytes of files that may wait to be read: ten files of the largest size. */
const MAX_WAITING_BYTES = 200 * 1024 * 1024;
/** A file that was read this often without a result is not read again, because it may be what ends the reader. */
const MAX_READS = 2;
/** The size of a part of a text. A row holds at most 2 MB. */
const PART_BYTES = 1_000_000;
/**
 * Deleted words stay in the segments of FTS5 until these are merged. An index of up to this size is merged completely, in about
 * 0.2 s, so that nothing of a removed source is left. A larger one merges some pages at once, and the rest with later writes.
 */
const MAX_OPTIMIZED_CHUNKS = 10_000;
const MERGED_PAGES = 1_000;

const SAMPLED_CHUNKS = 24;
const SAMPLE_LENGTH = 250;
/** The least share of the sample that makes a language one of the knowledge; a smaller share is quotations or code. */
const MIN_LANGUAGE_SHARE = 0.1;
/** A new sample is taken once the number of chunks has changed by this share. */
const RESAMPLED_SHARE = 0.1;

function languagesIn(texts: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    const language = detectLanguage(text, DEFAULT_LANGUAGE);
    if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + 1);
  }
  const languages = [...counts].filter(([, count]) => count >= MIN_LANGUAGE_SHARE * texts.length);
  return languages.toSorted(([, a], [, b]) => b - a).map(([language]) => language);
}

/** Queries on the index of one agent: texts, generations of documents and chunks, curated answers. */
export class IndexStore {
  private exists: boolean;
  private isWriting = false;
  /** Cached until the next write. */
  private sizes: IndexSizes | undefined;
  private detected: { chunks: number; languages: readonly string[] } | undefined;
  readonly chunkTerms: ChunkTerms;

  /** @param onWrite called after each outermost write, synchronously. */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly onWrite: () => void = () => undefined,
  ) {
    this.exists = this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'texts'").toArray().length > 0;
    this.chunkTerms = new ChunkTerms(storage.sql, () => this.size.chunks);
  }

  get sql(): SqlStorage {
    return this.storage.sql;
  }

  /** Whether nothing was ever written. Only `write` may be used then. */
  get isEmpty(): boolean {
    return !this.exists;
  }

  get size(): IndexSizes {
    const query = "SELECT (SELECT coalesce(sum(chunks_count), 0) FROM documents) AS chunks, (SELECT count(*) FROM answers) AS answers";
    this.sizes ??= this.sql.exec<{ chunks: number; answers: number }>(query).one();
    return this.sizes;
  }

  /** The codes of the languages in a sample of the chunks, the most frequent first. */
  get languages(): readonly string[] {
    const { chunks } = this.size;
    const known = this.detected;
    if (known && Math.abs(chunks - known.chunks) <= RESAMPLED_SHARE * known.chunks) return known.languages;
    this.detected = { chunks, languages: languagesIn(this.sampleChunks()) };
    return this.detected.languages;
  }

  private sampleChunks(): string[] {
    const query = `WITH bounds AS (SELECT min(id) AS low, max(id) AS high FROM chunks)
      SELECT (SELECT substr(content, 1, ${SAMPLE_LENGTH}) FROM chunks WHERE id >= low + (high - low + 1) * value / ${SAMPLED_CHUNKS} ORDER BY id LIMIT 1) AS text
      FROM bounds, json_each(?)`;
    const numbers = JSON.stringify([...Array(SAMPLED_CHUNKS).keys()]);
    return this.sql
      .exec<{ text: string | null }>(query, numbers)
      .toArray()
      .flatMap(({ text }) => text ?? []);
  }

  run(query: string, ...bindings: Binding[]): void {
    this.sql.exec(query, ...bindings);
  }

  all<Row>(query: string, ...bindings: Binding[]): Row[] {
    return this.sql.exec(query, ...bindings).toArray() as Row[];
  }

  /** Runs a write as one transaction, and creates the tables for the first one, so that reading an unused object stores nothing. */
  write<T>(work: () => T): T {
    const [isNested, existed] = [this.isWriting, this.exists];
    this.isWriting = true;
    try {
      const result = this.storage.transactionSync(() => {
        if (!this.exists) this.sql.exec(TABLES);
        this.exists = true;
        return work();
      });
      if (!isNested) this.onWrite();
      return result;
    } catch (error) {
      this.exists = existed;
      throw error;
    } finally {
      this.isWriting = isNested;
      this.sizes = undefined;
      this.chunkTerms.forget(false);
    }
  }

  async erase(): Promise<void> {
    await this.storage.deleteAlarm();
    await this.storage.deleteAll();
    this.forget();
  }

  /** Resets the cached state, after the tables were dropped. */
  forget(): void {
    this.exists = false;
    this.sizes = undefined;
    this.detected = undefined;
    this.chunkTerms.forget(true);
  }

  // --- Texts ---

  findText(sourceId: string): StagedText | undefined {
    return this.all<{ name: string; hash: string }>("SELECT name, hash FROM texts WHERE source_id = ?", sourceId)[0];
  }

  readText(sourceId: string): string {
    return [...this.textParts(sourceId)].join("");
  }

  /** Reads a text lazily. No part ends between the two characters of a line break. */
  *textParts(sourceId: string): Generator<string> {
    const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
    const query = "SELECT bytes FROM text_parts WHERE source_id = ? AND part = ?";
    let held = "";
    for (let part = 0; ; part++) {
      const [row] = this.all<{ bytes: ArrayBuffer }>(query, sourceId, part);
      const text = held + (row ? decoder.decode(row.bytes, { stream: true }) : decoder.decode());
      held = row && text.endsWith("\r") ? "\r" : "";
      yield text.slice(0, text.length - held.length);
      if (!row) return;
    }
  }

  putText(sourceId: string, { name, hash }: StagedText, bytes: Uint8Array): void {
    this.deleteText(sourceId);
    this.sql.exec("INSERT INTO texts (source_id, name, hash) VALUES (?, ?, ?)", sourceId, name, hash);
    for (let part = 0; part * PART_BYTES < bytes.length; part++) {
      const slice = bytes.slice(part * PART_BYTES, (part + 1) * PART_BYTES);
      this.sql.exec("INSERT INTO text_parts (source_id, part, bytes) VALUES (?, ?, ?)", sourceId, part, slice.buffer);
    }
  }

  deleteText(sourceId: string): void {
    this.sql.exec("DELETE FROM texts WHERE source_id = ?", sourceId);
    this.sql.exec("DELETE FROM text_parts WHERE source_id = ?", sourceId);
  }

  // --- Files ---

  /** Stores a part of a file. The first part replaces the earlier file. @returns false if too many files wait. */
  putFilePart(sourceId: string, part: number, bytes: Uint8Array): boolean {
    return this.write(() => {
      if (part === 0) this.deleteFile(sourceId);
      const waiting = this.sql.exec<{ bytes: number }>("SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM file_parts").one().bytes;
      if (waiting + bytes.length > MAX_WAITING_BYTES) return false;
      const insert = "INSERT OR REPLACE INTO file_parts (source_id, part, bytes, upload_id) VALUES (?, ?, ?, ?)";
      // A part that was sent by itself is not copied.
      const isWhole = bytes.length === bytes.buffer.byteLength;
      this.sql.exec(insert, sourceId, part, isWhole ? bytes.buffer : bytes.slice().buffer, sourceId);
      return true;
    });
  }

  /** Makes an upload, whose parts were stored under its own id, the file of a source. @returns false if there is no such upload. */
  replaceFile(sourceId: string, uploadId: string): boolean {
    if (!this.hasUpload(uploadId, uploadId)) return false;
    this.write(() => {
      this.deleteFile(sourceId);
      this.sql.exec("UPDATE file_parts SET source_id = ? WHERE source_id = ?", sourceId, uploadId);
    });
    return true;
  }

  /** Whether this upload is the file of a source that waits to be read. */
  hasUpload(sourceId: string, uploadId: string): boolean {
    const query = "SELECT 1 FROM file_parts WHERE source_id = ? AND part = 0 AND upload_id = ?";
    return !this.isEmpty && this.all(query, sourceId, uploadId).length > 0;
  }

  /** The bytes of a part of an upload; null after the last one. */
  readFilePart(sourceId: string, uploadId: string, part: number): Uint8Array | null {
    if (this.isEmpty) return null;
    const query = "SELECT bytes FROM file_parts WHERE source_id = ? AND part = ? AND upload_id = ?";
    const [row] = this.all<{ bytes: ArrayBuffer }>(query, sourceId, part, uploadId);
    return row ? new Uint8Array(row.bytes) : null;
  }

  /** Counts a read of a file that begins; null if there is no file. */
  beginFileRead(sourceId: string): FileRead | null {
    if (this.isEmpty) return null;
    const size = "SELECT coalesce(sum(length(bytes)), 0) AS length FROM file_parts WHERE source_id = ?";
    const { length } = this.sql.exec<{ length: number }>(size, sourceId).one();
    if (length === 0) return null;
    const first = "SELECT upload_id AS uploadId FROM file_parts WHERE source_id = ? AND part = 0";
    const { uploadId } = this.sql.exec<{ uploadId: string }>(first, sourceId).one();
    const update = "UPDATE file_parts SET reads = reads + 1 WHERE source_id = ? AND part = 0 AND reads < ? RETURNING 1";
    return { uploadId, length, isAllowed: this.write(() => this.all(update, sourceId, MAX_READS).length > 0) };
  }

  deleteFile(sourceId: string): void {
    if (!this.isEmpty) this.run("DELETE FROM file_parts WHERE source_id = ?", sourceId);
  }

  // --- The size of the texts ---

  /** The bytes of one source's text in UTF-8: of a stored text, of indexed pages, and of pages that wait to be indexed. */
  textBytesOf(sourceId: string): number {
    return this.sumTextBytes("=", sourceId);
  }

  /** The bytes of the texts of all other sources. While a site is read again, its previous pages still count. */
  textBytesBeside(sourceId: string): number {
    return this.sumTextBytes("<>", sourceId);
  }

  private sumTextBytes(comparison: "=" | "<>", sourceId: string): number {
    if (this.isEmpty) return 0;
    const query = `SELECT (SELECT coalesce(sum(length(bytes)), 0) FROM text_parts WHERE source_id ${comparison} ?1)
        + (SELECT coalesce(sum(text_bytes), 0) FROM documents WHERE source_id ${comparison} ?1 AND type = 'page')
        + (SELECT coalesce(sum(octet_length(t.text)), 0) FROM page_texts t JOIN pages p ON p.id = t.page_id
          WHERE p.source_id ${comparison} ?1) AS bytes`;
    return this.sql.exec<{ bytes: number }>(query, sourceId).one().bytes;
  }

  // --- Generations ---

  findGeneration(sourceId: string, state: Generation["state"]): Generation | undefined {
    const query = "SELECT id, state, run_id AS runId, hash FROM generations WHERE source_id = ? AND state = ?";
    return this.sql.exec<Record<keyof Generation, SqlStorageValue>>(query, sourceId, state).toArray()[0] as Generation | undefined;
  }

  createGeneration(sourceId: string, runId: string, hash: string): Generation {
    const query = "INSERT INTO generations (source_id, state, run_id, hash) VALUES (?, 'building', ?, ?) RETURNING id";
    const { id } = this.sql.exec<{ id: number }>(query, sourceId, runId, hash).one();
    return { id, state: "building", runId, hash };
  }

  /** Makes a built generation the live one. The documents of the previous one are removed, except those that the new one has too. */
  switchLive(sourceId: string, generationId: number): void {
    this.sql.exec("DELETE FROM generations WHERE source_id = ? AND state = 'live'", sourceId);
    this.sql.exec("UPDATE generations SET state = 'live' WHERE id = ?", generationId);
    this.deleteDocuments("source_id = ? AND seen_in <> ?", sourceId, generationId);
  }

  /** Removes an unfinished generation. */
  deleteGeneration({ id }: Generation): void {
    this.deleteDocuments("generation_id = ?", id);
    this.sql.exec("DELETE FROM generations WHERE id = ?", id);
  }

  /** Removes a source's index. */
  deleteIndexOf(sourceId: string): void {
    this.deleteDocuments("source_id = ?", sourceId);
    this.sql.exec("DELETE FROM generations WHERE source_id = ?", sourceId);
  }

  countLive(sourceId: string): { pages: number; chunks: number } {
    const query = `SELECT count(*) AS pages, coalesce(sum(chunks_count), 0) AS chunks FROM documents
      WHERE source_id = ? AND seen_in = (SELECT id FROM generations WHERE source_id = ? AND state = 'live')`;
    return this.sql.exec<{ pages: number; chunks: number }>(query, sourceId, sourceId).one();
  }

  // --- Documents and chunks ---

  /** The generations in which documents of these sources were indexed, and the number of their chunks. */
  extentOf(sourceIds: readonly string[]): { generations: number[]; chunks: number } {
    const query = `SELECT generation_id AS id, sum(chunks_count) AS chunks FROM documents
      WHERE source_id IN (SELECT value FROM json_each(?)) GROUP BY generation_id`;
    const rows = this.all<{ id: number; chunks: number }>(query, JSON.stringify(sourceIds));
    return { generations: rows.map(({ id }) => id), chunks: rows.reduce((sum, { chunks }) => sum + chunks, 0) };
  }

  /** The ids of the newest chunks of these sources. */
  chunksOf(sourceIds: readonly string[], limit: number): number[] {
    const query = `SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id
      WHERE d.source_id IN (SELECT value FROM json_each(?)) ORDER BY c.id DESC LIMIT ?`;
    return this.all<{ id: number }>(query, JSON.stringify(sourceIds), limit).map(({ id }) => id);
  }

  findDocument(generationId: number, sourceId: string): { id: number; chunksCount: number } | undefined {
    const query = "SELECT id, chunks_count AS chunksCount FROM documents WHERE source_id = ? AND generation_id = ?";
    return this.all<{ id: number; chunksCount: number }>(query, sourceId, generationId)[0];
  }

  /** The size of a document: the bytes of its text, and its chunks. */
  sizeOfDocument(id: number): { textBytes: number; chunks: number } {
    return this.all<{ textBytes: number; chunks: number }>(
      "SELECT text_bytes AS textBytes, chunks_count AS chunks FROM documents WHERE id = ?",
      id,
    )[0]!;
  }

  createDocument(document: NewDocument): number {
    const { sourceId, generationId, type, url, title, hash, textBytes } = document;
    const query = `INSERT INTO documents (source_id, generation_id, seen_in, type, url, title, hash, text_bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`;
    return this.sql.exec<{ id: number }>(query, sourceId, generationId, generationId, type, url, title, hash, textBytes).one().id;
  }

  addChunks(documentId: number, generationId: number, chunks: readonly NewChunk[]): void {
    for (const { heading, content, ...words } of chunks) {
      const insert = "INSERT INTO chunks (document_id, heading, content, terms) VALUES (?, ?, ?, ?) RETURNING id";
      const { id } = this.sql.exec<{ id: number }>(insert, documentId, heading, content, words.bodyTerms).one();
      this.indexChunk(id, generationId, words);
    }
    this.sql.exec("UPDATE documents SET chunks_count = chunks_count + ? WHERE id = ?", chunks.length, documentId);
  }

  /** Puts the words of a stored chunk into the full-text index. */
  indexChunk(id: number, generationId: number, { titleTerms, headingTerms, bodyTerms }: Omit<NewChunk, "heading" | "content">): void {
    const insert = "INSERT INTO chunk_index (rowid, generation, title, heading, body) VALUES (?, ?, ?, ?, ?)";
    this.sql.exec(insert, id, generationTerm(generationId), titleTerms, headingTerms, bodyTerms);
  }

  // --- Curated answers ---

  /** @returns the answer's row number; undefined if a newer version is stored. */
  putAnswer({ id, question, answer, updatedAt = 0 }: CuratedAnswer): number | undefined {
    this.sql.exec("DELETE FROM answers WHERE answer_id = ? AND updated_at <= ?", id, updatedAt);
    const insert = "INSERT INTO answers (answer_id, question, answer, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id";
    return this.all<{ id: number }>(insert, id, question, answer, updatedAt)[0]?.id;
  }

  deleteAnswer(id: string): void {
    this.sql.exec("DELETE FROM answers WHERE answer_id = ?", id);
  }

  findAnswer(id: string): StoredAnswer | undefined {
    return this.answersWhere("answer_id = ?", id).toArray()[0];
  }

  readAnswers(rows: readonly number[]): StoredAnswer[] {
    return this.answersWhere("id IN (SELECT value FROM json_each(?))", JSON.stringify(rows)).toArray();
  }

  /** The row numbers of these answers. */
  rowsOfAnswers(ids: readonly string[]): Set<number> {
    const query = "SELECT id FROM answers WHERE answer_id IN (SELECT value FROM json_each(?))";
    const rows = this.all<{ id: number }>(query, JSON.stringify(ids));
    return new Set(rows.map(({ id }) => id));
  }

  /** Reads all curated answers, one row at a time. */
  listAnswers(): Iterable<StoredAnswer> {
    return this.answersWhere("true ORDER BY id");
  }

  private answersWhere(where: string, ...bindings: string[]): SqlStorageCursor<StoredAnswer> {
    return this.sql.exec(`SELECT id, answer_id AS answerId, question, answer FROM answers WHERE ${where}`, ...bindings);
  }

  private deleteDocuments(where: string, ...bindings: (string | number)[]): void {
    const before = this.size.chunks;
    this.chunkTerms.forget(true);
    const chunkIds = `SELECT id FROM chunks WHERE document_id IN (SELECT id FROM documents WHERE ${where})`;
    const { rowsWritten } = this.sql.exec(`DELETE FROM chunk_index WHERE rowid IN (${chunkIds})`, ...bindings);
    this.sql.exec(`DELETE FROM chunks WHERE id IN (${chunkIds})`, ...bindings);
    this.sql.exec(`DELETE FROM documents WHERE ${where}`, ...bindings);
    if (rowsWritten > 0) this.purge(before);
  }

  /** Removes deleted words from the index's segments. */
  private purge(entries: number): void {
    if (entries <= MAX_OPTIMIZED_CHUNKS) this.sql.exec("INSERT INTO chunk_index (chunk_index) VALUES ('optimize')");
    else this.sql.exec("INSERT INTO chunk_index (chunk_index, rank) VALUES ('merge', ?)", -MERGED_PAGES);
  }
}
