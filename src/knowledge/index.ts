import { DurableObject } from "cloudflare:workers";
import { rerankerFor } from "../models/providers.ts";
import type { Passage, Retrieval, SearchQuery } from "../models/retrieval.ts";
import { objectOf } from "../platform/objects.ts";
import { truncateBytes } from "../platform/text.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import type { CrawlProgress, CrawlSource, CrawlStep } from "./crawl/protocol.ts";
import { SiteCrawl } from "./crawl/site-crawl.ts";
import { CrawlStorage } from "./crawl/storage.ts";
import { type DumpedRow, type DumpPage, type DumpCursor, IndexDump } from "./index-dump.ts";
import { MAX_CHUNK_BYTES } from "./indexing/chunk.ts";
import { FileParts } from "./indexing/file-parts.ts";
import { type IngestProgress, TextIngestion } from "./indexing/ingest.ts";
import { textBytesOf } from "./indexing/size.ts";
import { type CuratedAnswer, IndexStore } from "./indexing/store.ts";
import { CuratedAnswers } from "./retrieval/curated-answers.ts";
import { type DocumentName, type DocumentPart, readDocumentPart } from "./retrieval/document.ts";
import { HybridSearch } from "./retrieval/hybrid-search.ts";
import { SemanticSearch } from "./vectors/semantic-search.ts";
import { vectorEnginesFor } from "./vectors/vector-engines.ts";
import type { VectorScope } from "./vectors/vector-index.ts";
import { VectorSync } from "./vectors/vector-sync.ts";

/** The question is in the first page of a message; a longer one is pasted text. */
const MAX_QUESTION_LENGTH = 4_000;
/** A pause between two steps of a build, in which other requests are served. */
const YIELD_MS = 1;

/** A step's progress, at the end with how much text the source has then, in bytes of UTF-8. */
export type Sized<Progress extends { done: boolean }> = Progress extends { done: true } ? Progress & { textBytes: number } : Progress;

/** One object per agent: the agent's knowledge and the search of it. Every method is idempotent. */
export class KnowledgeIndex extends DurableObject<Env> {
  private readonly store: IndexStore;
  private readonly files: FileParts;
  private readonly ingestion: TextIngestion;
  private readonly crawlStorage: CrawlStorage;
  private readonly crawls: SiteCrawl;
  private readonly answers: CuratedAnswers;
  private readonly dump: IndexDump;
  private readonly vectors: VectorSync;
  private readonly passages: HybridSearch;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.store = new IndexStore(ctx.storage, () => this.vectors.wake());
    this.files = new FileParts(this.store);
    this.ingestion = new TextIngestion(this.store);
    this.crawlStorage = new CrawlStorage(this.store);
    this.crawls = new SiteCrawl(this.crawlStorage);
    this.answers = new CuratedAnswers(this.store);
    this.dump = new IndexDump(this.store, this.crawlStorage);
    this.vectors = new VectorSync(ctx.storage, this.store, () => vectorEnginesFor(env), scopeOf(ctx.id));
    this.passages = new HybridSearch(this.store, new SemanticSearch(this.vectors), rerankerFor(env));
  }

  /** Brings the vectors up to the chunks. */
  override async alarm(): Promise<void> {
    const { workspaceId, agentId } = scopeOf(this.ctx.id);
    await measureJob(this.env, { job: "index_alarm", workspaceId, fields: { agent_id: agentId } }, () => this.vectors.run());
  }

  /**
   * Stores the text of a source, in place of the file that it comes from; null keeps the text or file that is stored. `name` becomes the
   * title of its passages. Where the agent would have more than `maxBytes` of text then, nothing is stored, and the bytes that it
   * would have are returned.
   */
  async stageText(sourceId: string, name: string, text: string | null, maxBytes: number): Promise<number | undefined> {
    return this.ingestion.stage(sourceId, { name, text }, maxBytes);
  }

  /** Stores a part of an uploaded file, which waits for its text to be extracted. @returns false where too many files wait. */
  async putFilePart(sourceId: string, part: number, bytes: Uint8Array): Promise<boolean> {
    return this.files.put(sourceId, part, bytes);
  }

  /** A part of the file that waits; null after the last one. */
  async readFilePart(sourceId: string, part: number): Promise<Uint8Array | null> {
    return this.files.read(sourceId, part);
  }

  /** Removes the file that waits. */
  async removeFile(sourceId: string): Promise<void> {
    this.files.remove(sourceId);
  }

  /** One bounded step of indexing a staged text, to be called until it is done. Another `runId` starts a new build. */
  async ingestText(sourceId: string, runId: string): Promise<Sized<IngestProgress>> {
    const progress = this.ingestion.step(sourceId, runId);
    // Without it a local workerd serves no other request until the whole build is done.
    await scheduler.wait(YIELD_MS);
    return this.sized(progress, sourceId);
  }

  /** One bounded step of a crawl: applies the results of a batch and returns the next. Undefined when the source was removed. */
  async crawl(source: CrawlSource, step: CrawlStep): Promise<Sized<CrawlProgress> | undefined> {
    const progress = this.crawls.step(source, step);
    // As above, while pages are indexed and nothing is fetched in between.
    if (progress?.done === false && progress.fetch.length === 0) await scheduler.wait(YIELD_MS);
    return progress && this.sized(progress, source.id);
  }

  private sized<Progress extends IngestProgress | CrawlProgress>(progress: Progress, sourceId: string): Sized<Progress> {
    return (progress.done ? { ...progress, textBytes: textBytesOf(this.store, sourceId) } : progress) as Sized<Progress>;
  }

  /** The pages of a source's last or running crawl in these states; null means all. */
  async listPages(
    sourceId: string,
    states: readonly PageState[] | null,
    page: { limit: number; offset: number },
  ): Promise<{ pages: ListedPage[]; total: number }> {
    return this.crawlStorage.pages.list(sourceId, states, page);
  }

  /** Removes all of a source: its text, its pages and every generation of its index. */
  async removeSource(sourceId: string): Promise<void> {
    this.crawlStorage.removeSource(sourceId);
    this.ingestion.remove(sourceId);
  }

  async putAnswer(answer: CuratedAnswer): Promise<void> {
    this.answers.put(answer);
  }

  async removeAnswer(id: string): Promise<void> {
    this.answers.remove(id);
  }

  /** Passages and curated answers for a question. */
  async search(query: SearchQuery): Promise<Retrieval> {
    if (this.store.isEmpty)
      return { passages: [], curated: [], questionTerms: [], previousQuestion: null, previousTerms: [], language: "en" };
    const shortened = { ...query, question: query.question.slice(0, MAX_QUESTION_LENGTH) };
    const curated = this.answers.search(shortened.question, query.limit, query.only?.answers);
    const found = await this.passages.search(shortened);
    return { ...found, passages: found.passages.map(boundedPassage), curated };
  }

  /** The part of a document that begins after the chunk `after`. */
  async readDocument(name: DocumentName, after: number): Promise<DocumentPart | undefined> {
    return this.store.isEmpty ? undefined : readDocumentPart(this.store, name, after);
  }

  /** The next rows of all that is stored, for an export; begins with `[]`. */
  async readDump(after: DumpCursor): Promise<DumpPage> {
    return this.store.isEmpty ? { rows: [], next: null } : this.dump.read(after);
  }

  /** Imports rows of an export; repeated rows change nothing. Returns what is wrong with the rows, in which case none was stored. */
  async putDump(rows: DumpedRow[]): Promise<string | undefined> {
    this.answers.forget();
    return this.dump.put(rows);
  }

  /** Removes all of an erased agent's knowledge; the names of its vectors stay until the vector index has removed those. */
  async erase(): Promise<void> {
    this.ingestion.forgetAll();
    this.answers.forget();
    await this.vectors.erase();
  }
}

/** Chunks of the first pipeline are as long as their text made them, until their source is read again. */
function boundedPassage(passage: Passage): Passage {
  return { ...passage, content: truncateBytes(passage.content, MAX_CHUNK_BYTES) };
}

/** The object's name is `<workspaceId>/<agentId>`. */
function scopeOf({ name = "" }: DurableObjectId): VectorScope {
  const [workspaceId = "", agentId = ""] = name.split("/");
  return { workspaceId, agentId };
}

/**
 * The object that holds what an agent knows. Its name begins with the workspace, so an agent of another workspace is
 * another object, and an empty one.
 */
export function indexOf(env: Env, meter: Meter, workspaceId: string, agentId: string): DurableObjectStub<KnowledgeIndex> {
  meter.countObjectHop();
  return objectOf(env, env.INDEX, `${workspaceId}/${agentId}`);
}
