import { sentenceEncoder } from "../models/encoder/load.ts";
import { hasOwnEncoder, rerankerFor } from "../models/retrieval-models.ts";
import type { CuratedMatch, Retrieval, SearchQuery } from "../models/retrieval.ts";
import type { AgentKey } from "../platform/db/sql.ts";
import { detectLanguage } from "../text/languages.ts";
import { deleteCrawl } from "./crawl/crawl-store.ts";
import { listPages, type PageState } from "./crawl/page-store.ts";
import type { CrawlProgress } from "./crawl/protocol.ts";
import { SiteCrawl } from "./crawl/site-crawl.ts";
import { type DumpCursor, type DumpedRow, type DumpPage, putDump, readDump } from "./index-dump.ts";
import { type IngestProgress, TextIngestion } from "./indexing/ingest.ts";
import { IndexStore } from "./indexing/store.ts";
import { CuratedAnswers } from "./retrieval/curated-answers.ts";
import { type DocumentName, type DocumentPart, listPassages, readDocumentPart } from "./retrieval/document.ts";
import { HybridSearch } from "./retrieval/hybrid-search.ts";
import { ENCODED_LANGUAGE, SentenceVectors } from "./vectors/sentence-vectors.ts";
import { SemanticSearch } from "./vectors/semantic-search.ts";
import { vectorEnginesFor } from "./vectors/vector-engines.ts";
import { VectorSync } from "./vectors/vector-sync.ts";

/** The most characters of a question. A longer message has pasted text after the question. */
const MAX_QUESTION_LENGTH = 4_000;

/** The progress of a step. At the end it has the size of the source's text, in bytes of UTF-8. */
export type Sized<Progress extends { done: boolean }> = Progress extends { done: true } ? Progress & { textBytes: number } : Progress;

/** An agent's knowledge, in the storage of its object. `KnowledgeIndex` describes the methods with the same names. */
export class AgentKnowledge {
  readonly ingestion: TextIngestion;
  readonly crawls: SiteCrawl;
  readonly answers: CuratedAnswers;
  private readonly vectors: VectorSync;
  private readonly sentences: SentenceVectors;
  readonly store: IndexStore;
  private readonly passages: HybridSearch;

  constructor(storage: DurableObjectStorage, env: Env, key: AgentKey) {
    this.store = new IndexStore(storage, () => this.wake());
    this.ingestion = new TextIngestion(this.store);
    this.crawls = new SiteCrawl(this.store);
    this.answers = new CuratedAnswers(this.store);
    this.vectors = new VectorSync(storage, this.store, () => vectorEnginesFor(env, key.workspaceId), key);
    this.sentences = new SentenceVectors(storage, this.store, hasOwnEncoder(env) ? () => sentenceEncoder(env) : undefined);
    this.passages = new HybridSearch(this.store, new SemanticSearch(this.vectors), this.sentences, rerankerFor(env));
  }

  /** Schedules the computation of missing vectors. */
  private wake(): void {
    this.vectors.wake();
    this.sentences.wake();
  }

  /** Computes missing vectors, and removes those of deleted chunks. @returns whether the service's encoder has more to compute. */
  async updateVectors(): Promise<boolean> {
    await this.vectors.run();
    return this.sentences.run();
  }

  /** Adds the size of the source's text to the progress of a last step. */
  sized<Progress extends IngestProgress | CrawlProgress>(progress: Progress, sourceId: string): Sized<Progress> {
    return (progress.done ? { ...progress, textBytes: this.store.textBytesOf(sourceId) } : progress) as Sized<Progress>;
  }

  removeSource(sourceId: string): void {
    if (this.store.isEmpty) return;
    this.store.write(() => deleteCrawl(this.store, sourceId));
    this.ingestion.remove(sourceId);
  }

  /** Removes the sources and curated answers whose ids are not among these. */
  removeOthers(ids: readonly string[]): void {
    if (this.store.isEmpty) return;
    const kept = new Set(ids);
    const tables = ["texts", "file_parts", "generations", "crawls"];
    const stored = this.store.all<{ id: string }>(tables.map((table) => `SELECT source_id AS id FROM ${table}`).join(" UNION "));
    for (const { id } of stored) if (!kept.has(id)) this.removeSource(id);
    for (const { id } of this.store.all<{ id: string }>("SELECT answer_id AS id FROM answers")) if (!kept.has(id)) this.answers.remove(id);
  }

  listPages(sourceId: string, states: readonly PageState[] | null, page: { limit: number; offset: number }) {
    return listPages(this.store, sourceId, states, page);
  }

  async search(query: SearchQuery): Promise<Retrieval> {
    if (this.store.isEmpty)
      return { passages: [], curated: [], questionTerms: [], previousQuestion: null, previousTerms: [], language: "en" };
    const shortened = { ...query, question: query.question.slice(0, MAX_QUESTION_LENGTH) };
    const curated = await this.searchAnswers(shortened);
    const found = await this.passages.search(shortened);
    return { ...found, curated };
  }

  private async searchAnswers({ question, limit, only }: SearchQuery): Promise<CuratedMatch[]> {
    if (this.store.size.answers === 0) return [];
    const language = detectLanguage(question, ENCODED_LANGUAGE);
    const isEncoded = language === undefined || language === ENCODED_LANGUAGE;
    const asked = isEncoded ? await this.sentences.vectorsOf(question) : undefined;
    const similarities = asked && this.sentences.compareQuestions(asked.vector, language === undefined);
    return this.answers.search(question, limit, only?.answers, similarities);
  }

  readDocument(name: DocumentName, after: number): DocumentPart | undefined {
    return this.store.isEmpty ? undefined : readDocumentPart(this.store, name, after);
  }

  listPassages(name: DocumentName, page: { limit: number; offset: number }) {
    return listPassages(this.store, name, page);
  }

  readDump(after: DumpCursor): DumpPage {
    return this.store.isEmpty ? { rows: [], next: null } : readDump(this.store, after);
  }

  putDump(rows: DumpedRow[]): string | undefined {
    this.answers.forget();
    return putDump(this.store, rows);
  }

  async erase(): Promise<void> {
    this.ingestion.forgetAll();
    this.answers.forget();
    await this.vectors.erase();
    this.sentences.forget();
  }
}
