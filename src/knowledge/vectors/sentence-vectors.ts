import type { SentenceEncoder } from "../../models/encoder/encoder.ts";
import { DIMENSIONS } from "../../models/encoder/network.ts";
import { headingAbove, isQuestion, readPassage, SEGMENTS_VERSION } from "../../extractive/segments.ts";
import { LruCache } from "../../platform/lru-cache.ts";
import { detectLanguage } from "../../text/languages.ts";
import { terms } from "../../text/terms.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import type { IndexStore } from "../indexing/store.ts";
import { cosineOf, quantised, sketchOf, Sketches } from "./sketches.ts";

/*
 * The vectors of an agent's sentences, list items, table rows and curated questions, by the service's own encoder. The alarm of the
 * KnowledgeIndex object computes them after its knowledge has changed. A chunk whose vectors are missing is found by its words, as are
 * curated answers while one of them has no vector.
 */

/** The similarity of each segment of a chunk to a question: the cosine of their vectors, or 0 for a segment without one. */
export type Similarities = readonly number[];

/** The language that the encoder was trained on. In German, it found fewer right passages than their words in most sets. */
export const ENCODED_LANGUAGE = "en";

/** The segments of a chunk that have vectors; of a longer table or list, the first. */
const MAX_SEGMENTS = 64;
/** The tokens of a segment that are read, which is more than most sentences have. */
const MAX_SEGMENT_TOKENS = 96;
const MAX_QUESTION_TOKENS = 128;
/** The most terms of a question that are left out, one at a time. In a longer question, these are its first ones. */
const MAX_QUESTION_TERMS = 24;
/** An agent has about a million tokens in as many sentences, which take 16 MB and minutes of CPU. Further chunks are found by their words. */
const MAX_VECTORS = 40_000;
/** The share of the chunks that may lack vectors while the others are found by theirs. */
const MAX_MISSING_SHARE = 0.1;
/** One alarm computes as many vectors, in about 2 s of CPU; the platform allows it 30 s. */
const VECTORS_PER_RUN = 200;
/** After each vector, which takes about 10 ms, other requests to the isolate are served, also those that need several objects. */
const PAUSE_MS = 5;
/** The segments whose chunks are compared exactly. */
const NEAREST_SEGMENTS = 100;
const CACHED_QUESTIONS = 100;
/** After a change, so that the sources that are added together are searchable by their words first. */
const START_DELAY_MS = 3_000;
const RETRY_DELAY_MS = 60_000;
/** The key of the version of the segments whose vectors are stored. */
const VERSION_KEY = "segments_version";

interface PendingChunk extends Record<string, SqlStorageValue> {
  id: number;
  title: string;
  heading: string | null;
  content: string;
}

interface PendingQuestion extends Record<string, SqlStorageValue> {
  row: number;
  question: string;
}

/** The vector of a question, and by term the vector of the question without this term. */
export interface QuestionVectors {
  vector: Float32Array;
  without: ReadonlyMap<string, Float32Array>;
}

export class SentenceVectors {
  private readonly questions = new LruCache<string, QuestionVectors>(CACHED_QUESTIONS);
  private sketches: Sketches | undefined;
  /** The run that is under way, since an alarm may be delivered twice. */
  private running: Promise<boolean> | undefined;
  /** Whether the alarm is set, or a run is under way that sets it. */
  private isScheduled = false;
  /** Whether nearly all chunks have their vectors; undefined after a change. To count them reads the rows of a large agent. */
  private isNearlyComplete: boolean | undefined;
  /** The number of times that all knowledge was deleted. Chunks that are added afterwards get the ids of deleted ones again. */
  private erasures = 0;

  /** @param encoder loads the encoder; undefined for a deployment that uses other embeddings, or none. */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly store: IndexStore,
    private readonly encoder: (() => Promise<SentenceEncoder>) | undefined,
  ) {
    if (this.deleteOutdated()) this.wake();
  }

  /** Deletes the vectors of segments of another version, which would be taken for those of other segments. @returns whether it was another. */
  private deleteOutdated(): boolean {
    if (this.store.isEmpty || this.storage.kv.get(VERSION_KEY) === SEGMENTS_VERSION) return false;
    this.storage.transactionSync(() => {
      this.storage.sql.exec("DELETE FROM sentence_vectors");
      this.storage.kv.put(VERSION_KEY, SEGMENTS_VERSION);
    });
    return true;
  }

  /** Schedules the alarm if vectors are missing. */
  wake(): void {
    this.isNearlyComplete = undefined;
    if (!this.isScheduled && this.isMissing()) this.schedule(START_DELAY_MS);
  }

  private schedule(delayMs: number): void {
    this.isScheduled = true;
    void this.storage.setAlarm(Date.now() + delayMs);
  }

  /**
   * Computes a bounded number of missing vectors, and schedules the alarm for the rest. It never throws.
   * @returns whether vectors are missing that can be computed now.
   */
  run(): Promise<boolean> {
    this.running ??= this.runOnce().finally(() => (this.running = undefined));
    return this.running;
  }

  private async runOnce(): Promise<boolean> {
    this.deleteOutdated();
    this.isScheduled = this.isMissing();
    if (!this.encoder || !this.isScheduled) return false;
    try {
      const encoder = await this.encoder();
      const { erasures } = this;
      let computed = 0;
      for (let next = this.nextQuestion(); next && computed < VECTORS_PER_RUN; next = this.nextQuestion()) {
        this.putQuestion(next.row, isEncoded(next.question) ? quantised(encoder.encode(next.question, MAX_QUESTION_TOKENS)) : null);
        computed++;
        await scheduler.wait(PAUSE_MS);
      }
      const room = Math.min(VECTORS_PER_RUN, MAX_VECTORS - this.count());
      for (let chunk = this.nextChunk(); chunk && computed < room; chunk = this.nextChunk()) {
        const vectors = await encodeSegments(encoder, chunk);
        if (this.erasures !== erasures) break;
        this.put(chunk.id, vectors);
        computed += vectors.length / DIMENSIONS;
      }
      this.dropSketches();
      this.isScheduled = false;
      const isMissing = this.isMissing();
      if (isMissing) this.schedule(0);
      return isMissing;
    } catch (error) {
      logRarely("encoder_failed", {}, error);
      this.schedule(RETRY_DELAY_MS);
      return false;
    }
  }

  /** Returns the vectors of a question; undefined if the deployment has no encoder, or it cannot be loaded. */
  async vectorsOf(question: string): Promise<QuestionVectors | undefined> {
    const known = this.questions.get(question);
    if (known || !this.encoder) return known;
    try {
      const { vector, without } = (await this.encoder()).encodeWithout(question, MAX_QUESTION_TOKENS);
      const vectors = { vector, without: withoutTerms(without) };
      this.questions.set(question, vectors);
      return vectors;
    } catch (error) {
      logRarely("encoder_failed", {}, error);
      return undefined;
    }
  }

  /**
   * Whether nearly all chunks that can have vectors have them. Until then, the words of all chunks find better than the vectors of some.
   */
  isUsable(): boolean {
    if (this.store.isEmpty) return false;
    this.isNearlyComplete ??= this.hasNearlyAll();
    return this.isNearlyComplete;
  }

  private hasNearlyAll(): boolean {
    const query = "SELECT count(*) AS count FROM chunks WHERE id > (SELECT coalesce(max(chunk_id), 0) FROM sentence_vectors)";
    const missing = this.storage.sql.exec<{ count: number }>(query).one().count;
    return missing <= this.store.size.chunks * MAX_MISSING_SHARE || this.count() >= MAX_VECTORS;
  }

  /** Returns the ids of the chunks with the segments that are nearest to a question. */
  nearestChunks(question: Float32Array): number[] {
    if (this.store.isEmpty) return [];
    if (!this.sketches || this.sketches.isReleased) this.sketches = this.loadSketches();
    const segments = this.sketches.nearest(question, NEAREST_SEGMENTS);
    return [...new Set(segments.map((id) => Math.floor(id / MAX_SEGMENTS)))];
  }

  /** Returns the similarities of those of these chunks that have vectors. */
  compare(question: Float32Array, chunkIds: readonly number[]): Map<number, Similarities> {
    const query = "SELECT chunk_id AS id, vectors FROM sentence_vectors WHERE chunk_id IN (SELECT value FROM json_each(?))";
    const rows = this.storage.sql.exec<{ id: number; vectors: ArrayBuffer }>(query, JSON.stringify(chunkIds)).toArray();
    return new Map(rows.map(({ id, vectors }) => [id, similaritiesOf(question, new Int8Array(vectors))]));
  }

  /** Returns the similarity of a chunk's nearest segment to a question without each of its terms, by term. */
  compareWithout({ without }: QuestionVectors, chunkId: number): Map<string, number> {
    const query = "SELECT vectors FROM sentence_vectors WHERE chunk_id = ?";
    const { vectors } = this.storage.sql.exec<{ vectors: ArrayBuffer }>(query, chunkId).one();
    const nearest = (vector: Float32Array): number => Math.max(...similaritiesOf(vector, new Int8Array(vectors)));
    return new Map([...without].map(([term, vector]) => [term, nearest(vector)]));
  }

  /**
   * Returns the similarities of the curated questions, by row number; undefined while one of them has no vector.
   * @param mayBeOther whether the question may be in another language, in which questions have no vectors. It is not compared if there are such.
   */
  compareQuestions(question: Float32Array, mayBeOther: boolean): Map<number, number> | undefined {
    if (this.nextQuestion() || (mayBeOther && this.hasOtherQuestions())) return undefined;
    const query = "SELECT answer_row AS row, vector FROM question_vectors WHERE vector IS NOT NULL";
    const rows = this.storage.sql.exec<{ row: number; vector: ArrayBuffer }>(query).toArray();
    return new Map(rows.map(({ row, vector }) => [row, similaritiesOf(question, new Int8Array(vector))[0]!]));
  }

  private hasOtherQuestions(): boolean {
    return this.storage.sql.exec("SELECT 1 FROM question_vectors WHERE vector IS NULL LIMIT 1").toArray().length > 0;
  }

  /** Resets what is in memory, after all storage was deleted, with the alarm. */
  forget(): void {
    this.erasures++;
    this.isScheduled = false;
    this.isNearlyComplete = undefined;
    this.dropSketches();
  }

  private dropSketches(): void {
    this.sketches?.release();
    this.sketches = undefined;
  }

  private isMissing(): boolean {
    if (this.nextQuestion()) return true;
    return this.nextChunk() !== undefined && this.count() < MAX_VECTORS;
  }

  /** The first curated question without a row of vectors. */
  private nextQuestion(): PendingQuestion | undefined {
    if (!this.encoder || this.store.isEmpty) return undefined;
    const query = `SELECT id AS row, question FROM answers
      WHERE id > (SELECT coalesce(max(answer_row), 0) FROM question_vectors) ORDER BY id LIMIT 1`;
    return this.storage.sql.exec<PendingQuestion>(query).toArray()[0];
  }

  /** The first chunk without vectors; undefined for knowledge in other languages. Chunks get theirs in the order of their ids. */
  private nextChunk(): PendingChunk | undefined {
    if (!this.encoder || this.store.isEmpty) return undefined;
    if (!this.store.languages.includes(ENCODED_LANGUAGE)) return undefined;
    const query = `SELECT c.id, d.title, c.heading, c.content FROM chunks c JOIN documents d ON d.id = c.document_id
      WHERE c.id > (SELECT coalesce(max(chunk_id), 0) FROM sentence_vectors) ORDER BY c.id LIMIT 1`;
    return this.storage.sql.exec<PendingChunk>(query).toArray()[0];
  }

  private count(): number {
    const query = `SELECT coalesce(sum(length(vectors)), 0) / ${DIMENSIONS} AS count FROM sentence_vectors`;
    return this.storage.sql.exec<{ count: number }>(query).one().count;
  }

  /** Stores the vectors of a chunk, unless it or all knowledge was deleted meanwhile. */
  private put(chunkId: number, vectors: Int8Array<ArrayBuffer>): void {
    this.isNearlyComplete = undefined;
    if (this.store.isEmpty) return;
    const insert = "INSERT INTO sentence_vectors (chunk_id, vectors) SELECT id, ? FROM chunks WHERE id = ?";
    this.storage.sql.exec(insert, vectors.buffer, chunkId);
  }

  /** Stores the vector of a curated question, unless it was deleted meanwhile. */
  private putQuestion(row: number, vector: Int8Array<ArrayBuffer> | null): void {
    const insert = "INSERT INTO question_vectors (answer_row, vector) SELECT id, ? FROM answers WHERE id = ?";
    this.storage.sql.exec(insert, vector && vector.buffer, row);
  }

  private loadSketches(): Sketches {
    const sketches = new Sketches(DIMENSIONS);
    const rows = this.storage.sql.exec<{ id: number; vectors: ArrayBuffer }>("SELECT chunk_id AS id, vectors FROM sentence_vectors");
    for (const { id, vectors } of rows) {
      for (let at = 0; at * DIMENSIONS < vectors.byteLength; at++) {
        const vector = new Int8Array(vectors, at * DIMENSIONS, DIMENSIONS);
        if (vector.some((value) => value !== 0)) sketches.add(id * MAX_SEGMENTS + at, sketchOf(vector));
      }
    }
    return sketches;
  }
}

/** Whether a text is in the language of the encoder, or too short to tell. */
function isEncoded(text: string): boolean {
  return (detectLanguage(text, ENCODED_LANGUAGE) ?? ENCODED_LANGUAGE) === ENCODED_LANGUAGE;
}

/** Encodes the segments of a chunk, each below its heading. A heading has no vector of its own: its numbers are 0. */
async function encodeSegments(encoder: SentenceEncoder, chunk: PendingChunk): Promise<Int8Array<ArrayBuffer>> {
  const segments = readPassage(chunk).segments.slice(0, MAX_SEGMENTS);
  // A chunk without segments, such as a picture, gets one vector of zeros: empty bytes would be stored as NULL.
  const vectors = new Int8Array(Math.max(1, segments.length) * DIMENSIONS);
  for (const [at, { kind, text }] of segments.entries()) {
    if (kind === "heading" || isQuestion(text)) continue;
    const vector = encoder.encode(`${headingAbove(chunk, segments, at)}: ${text}`, MAX_SEGMENT_TOKENS);
    vectors.set(quantised(vector), at * DIMENSIONS);
    await scheduler.wait(PAUSE_MS);
  }
  return vectors;
}

/** Converts the vectors of a question without each of its words to those without each of its terms. A function word has no term. */
function withoutTerms(without: ReadonlyMap<string, Float32Array>): Map<string, Float32Array> {
  const ofTerms = [...without].flatMap(([word, vector]) => terms(word).map((term) => [term, vector] as const));
  return new Map(ofTerms.slice(0, MAX_QUESTION_TERMS));
}

function similaritiesOf(question: Float32Array, vectors: Int8Array): number[] {
  const similarities: number[] = [];
  for (let start = 0; start < vectors.length; start += DIMENSIONS) {
    similarities.push(Math.max(0, cosineOf(question, vectors.subarray(start, start + DIMENSIONS))));
  }
  return similarities;
}
