import { DurableObject } from "cloudflare:workers";
import type { Retrieval, SearchQuery } from "../models/retrieval.ts";
import type { Operation } from "../platform/db/client.ts";
import { objectOf } from "../platform/objects.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { AgentKnowledge, Sized } from "./agent-knowledge.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import type { CrawlProgress, CrawlSource, CrawlStep } from "./crawl/protocol.ts";
import type { DumpedRow, DumpPage, DumpCursor } from "./index-dump.ts";
import type { IngestProgress } from "./indexing/ingest.ts";
import type { CuratedAnswer } from "./indexing/store.ts";
import type { DocumentName, DocumentPart } from "./retrieval/document.ts";
import type { VectorScope } from "./vectors/vector-index.ts";

/** A pause between two steps of a build, in which other requests are served. */
const YIELD_MS = 1;

/** One object per agent: the agent's knowledge and the search of it. Every method is idempotent. */
export class KnowledgeIndex extends DurableObject<Env> {
  /** Loaded with the first object: a start of an isolate loads no more than this class. */
  private knowledge!: AgentKnowledge;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Calls wait until it is done.
    void ctx.blockConcurrencyWhile(async () => {
      const { AgentKnowledge } = await import("./agent-knowledge.ts");
      this.knowledge = new AgentKnowledge(ctx.storage, env, scopeOf(ctx.id));
    });
  }

  /** Brings the vectors up to the chunks. */
  override async alarm(): Promise<void> {
    const { workspaceId, agentId } = scopeOf(this.ctx.id);
    await measureJob(this.env, { job: "index_alarm", workspaceId, fields: { agent_id: agentId } }, () => this.knowledge.vectors.run());
  }

  /**
   * Stores the text of a source, in place of the file that it comes from; null keeps the text or file that is stored. `name` becomes the
   * title of its passages. Where the agent would have more than `maxBytes` of text then, nothing is stored, and the bytes that it
   * would have are returned.
   */
  async stageText(sourceId: string, name: string, text: string | null, maxBytes: number): Promise<number | undefined> {
    return this.knowledge.ingestion.stage(sourceId, { name, text }, maxBytes);
  }

  /** Stores a part of an uploaded file, which waits for its text to be extracted. @returns false where too many files wait. */
  async putFilePart(sourceId: string, part: number, bytes: Uint8Array): Promise<boolean> {
    return this.knowledge.store.putFilePart(sourceId, part, bytes);
  }

  /** A part of the file that waits; null after the last one. */
  async readFilePart(sourceId: string, part: number): Promise<Uint8Array | null> {
    return this.knowledge.store.readFilePart(sourceId, part);
  }

  /** Removes the file that waits. */
  async removeFile(sourceId: string): Promise<void> {
    this.knowledge.store.deleteFile(sourceId);
  }

  /** One bounded step of indexing a staged text, to be called until it is done. Another `runId` starts a new build. */
  async ingestText(sourceId: string, runId: string): Promise<Sized<IngestProgress>> {
    const progress = this.knowledge.ingestion.step(sourceId, runId);
    // Without it a local workerd serves no other request until the whole build is done.
    await scheduler.wait(YIELD_MS);
    return this.knowledge.sized(progress, sourceId);
  }

  /** One bounded step of a crawl: applies the results of a batch and returns the next. Undefined when the source was removed. */
  async crawl(source: CrawlSource, step: CrawlStep): Promise<Sized<CrawlProgress> | undefined> {
    const progress = this.knowledge.crawls.step(source, step);
    // As above, while pages are indexed and nothing is fetched in between.
    if (progress?.done === false && progress.fetch.length === 0) await scheduler.wait(YIELD_MS);
    return progress && this.knowledge.sized(progress, source.id);
  }

  /** The pages of a source's last or running crawl in these states; null means all. */
  async listPages(
    sourceId: string,
    states: readonly PageState[] | null,
    page: { limit: number; offset: number },
  ): Promise<{ pages: ListedPage[]; total: number }> {
    return this.knowledge.listPages(sourceId, states, page);
  }

  /** Removes all of a source: its text, its pages and every generation of its index. */
  async removeSource(sourceId: string): Promise<void> {
    this.knowledge.removeSource(sourceId);
  }

  async putAnswer(answer: CuratedAnswer): Promise<void> {
    this.knowledge.answers.put(answer);
  }

  async removeAnswer(id: string): Promise<void> {
    this.knowledge.answers.remove(id);
  }

  /** Passages and curated answers for a question. */
  async search(query: SearchQuery): Promise<Retrieval> {
    return this.knowledge.search(query);
  }

  /** The part of a document that begins after the chunk `after`. */
  async readDocument(name: DocumentName, after: number): Promise<DocumentPart | undefined> {
    return this.knowledge.readDocument(name, after);
  }

  /** The next rows of all that is stored, for an export; begins with `[]`. */
  async readDump(after: DumpCursor): Promise<DumpPage> {
    return this.knowledge.readDump(after);
  }

  /** Imports rows of an export; repeated rows change nothing. Returns what is wrong with the rows, in which case none was stored. */
  async putDump(rows: DumpedRow[]): Promise<string | undefined> {
    return this.knowledge.putDump(rows);
  }

  /** Removes all of an erased agent's knowledge; the names of its vectors stay until the vector index has removed those. */
  async erase(): Promise<void> {
    await this.knowledge.erase();
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
export function indexOf({ env, meter, workspaceId }: Operation, agentId: string): DurableObjectStub<KnowledgeIndex> {
  meter.countObjectHop();
  return objectOf(env, env.INDEX, `${workspaceId}/${agentId}`);
}
