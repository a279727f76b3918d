import { DurableObject } from "cloudflare:workers";
import type { Retrieval, SearchQuery } from "../models/retrieval.ts";
import { lazy } from "../platform/lazy.ts";
import { objectOf } from "../platform/objects.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import type { CrawlProgress, CrawlSource, CrawlStep } from "./crawl/protocol.ts";
import type { DumpedRow, DumpPage, DumpCursor } from "./index-dump.ts";
import type { IndexParts } from "./index-parts.ts";
import type { IngestProgress } from "./indexing/ingest.ts";
import type { CuratedAnswer } from "./indexing/store.ts";
import type { DocumentName, DocumentPart } from "./retrieval/document.ts";
import type { VectorScope } from "./vectors/vector-index.ts";

/** What indexes and searches, which is much. */
const indexModules = lazy(() => import("./index-parts.ts"));

/** A pause between two steps of a build, in which other requests are served. */
const YIELD_MS = 1;

/** A step's progress, at the end with how much text the source has then, in bytes of UTF-8. */
export type Sized<Progress extends { done: boolean }> = Progress extends { done: true } ? Progress & { textBytes: number } : Progress;

/** One object per agent: the agent's knowledge and the search of it. Every method is idempotent. */
export class KnowledgeIndex extends DurableObject<Env> {
  /** Undefined before the first call. */
  private loaded: IndexParts | undefined;

  /** Brings the vectors up to the chunks. */
  override async alarm(): Promise<void> {
    const { workspaceId, agentId } = scopeOf(this.ctx.id);
    const head = { job: "index_alarm", workspaceId, fields: { agent_id: agentId } } as const;
    await measureJob(this.env, head, async () => (await this.parts()).vectors.run());
  }

  /**
   * Stores the text of a source, in place of the file that it comes from; null keeps the text that is stored. `name` becomes the
   * title of its passages. Where the agent would have more than `maxBytes` of text then, nothing is stored, and the bytes that it
   * would have are returned.
   */
  async stageText(sourceId: string, name: string, text: string | null, maxBytes: number): Promise<number | undefined> {
    return (await this.parts()).ingestion.stage(sourceId, { name, text }, maxBytes);
  }

  /** Stores a part of an uploaded file, which waits for its text to be extracted. @returns false where too many files wait. */
  async putFilePart(sourceId: string, part: number, bytes: Uint8Array): Promise<boolean> {
    return (await this.parts()).files.put(sourceId, part, bytes);
  }

  /** A part of the file that waits; null after the last one. */
  async readFilePart(sourceId: string, part: number): Promise<Uint8Array | null> {
    return (await this.parts()).files.read(sourceId, part);
  }

  /** Removes the file that waits. */
  async removeFile(sourceId: string): Promise<void> {
    (await this.parts()).files.remove(sourceId);
  }

  /** One bounded step of indexing a staged text, to be called until it is done. Another `runId` starts a new build. */
  async ingestText(sourceId: string, runId: string): Promise<Sized<IngestProgress>> {
    const { ingestion, sized } = await this.parts();
    const progress = ingestion.step(sourceId, runId);
    // Without it a local workerd serves no other request until the whole build is done.
    await scheduler.wait(YIELD_MS);
    return sized(progress, sourceId);
  }

  /** One bounded step of a crawl: applies the results of a batch and returns the next. Undefined when the source was removed. */
  async crawl(source: CrawlSource, step: CrawlStep): Promise<Sized<CrawlProgress> | undefined> {
    const { crawls, sized } = await this.parts();
    const progress = crawls.step(source, step);
    // As above, while pages are indexed and nothing is fetched in between.
    if (progress?.done === false && progress.fetch.length === 0) await scheduler.wait(YIELD_MS);
    return progress && sized(progress, source.id);
  }

  /** The pages of a source's last or running crawl in these states; null means all. */
  async listPages(
    sourceId: string,
    states: readonly PageState[] | null,
    page: { limit: number; offset: number },
  ): Promise<{ pages: ListedPage[]; total: number }> {
    return (await this.parts()).crawlStorage.pages.list(sourceId, states, page);
  }

  /** Removes all of a source: its text, its pages and every generation of its index. */
  async removeSource(sourceId: string): Promise<void> {
    const { crawlStorage, ingestion } = await this.parts();
    crawlStorage.removeSource(sourceId);
    ingestion.remove(sourceId);
  }

  async putAnswer(answer: CuratedAnswer): Promise<void> {
    (await this.parts()).answers.put(answer);
  }

  async removeAnswer(id: string): Promise<void> {
    (await this.parts()).answers.remove(id);
  }

  /** Passages and curated answers for a question. */
  async search(query: SearchQuery): Promise<Retrieval> {
    return (await this.parts()).search(query);
  }

  /** The part of a document that begins after the chunk `after`. */
  async readDocument(name: DocumentName, after: number): Promise<DocumentPart | undefined> {
    return (await this.parts()).readDocument(name, after);
  }

  /** The next rows of all that is stored, for an export; begins with `[]`. */
  async readDump(after: DumpCursor): Promise<DumpPage> {
    const { store, dump } = await this.parts();
    return store.isEmpty ? { rows: [], next: null } : dump.read(after);
  }

  /** Imports rows of an export; repeated rows change nothing. Returns what is wrong with the rows, in which case none was stored. */
  async putDump(rows: DumpedRow[]): Promise<string | undefined> {
    const { answers, dump } = await this.parts();
    answers.forget();
    return dump.put(rows);
  }

  /** Removes all of an erased agent's knowledge; the names of its vectors stay until the vector index has removed those. */
  async erase(): Promise<void> {
    const { ingestion, answers, vectors } = await this.parts();
    ingestion.forgetAll();
    answers.forget();
    await vectors.erase();
  }

  private async parts(): Promise<IndexParts> {
    if (this.loaded) return this.loaded;
    const { IndexParts } = await indexModules();
    return (this.loaded ??= new IndexParts(this.ctx.storage, this.env, scopeOf(this.ctx.id)));
  }
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
