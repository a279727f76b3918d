import { DurableObject } from "cloudflare:workers";
import type { Retrieval, SearchQuery } from "../models/retrieval.ts";
import type { Operation } from "../platform/db/client.ts";
import type { AgentKey } from "../platform/db/sql.ts";
import { objectOf } from "../platform/objects.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import type { AgentKnowledge, Sized } from "./agent-knowledge.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import type { CrawlProgress, CrawlSource, CrawlStep } from "./crawl/protocol.ts";
import type { DumpedRow, DumpPage, DumpCursor } from "./index-dump.ts";
import type { IngestProgress } from "./indexing/ingest.ts";
import type { CuratedAnswer, FileRead } from "./indexing/store.ts";
import type { DocumentName, DocumentPart, SourcePassage } from "./retrieval/document.ts";

/** The pause between two steps of indexing pages, in which other requests are served. */
const YIELD_MS = 1;

/** The object of an agent, which stores and searches its knowledge. Every method is idempotent. */
export class KnowledgeIndex extends DurableObject<Env> {
  /** This is loaded with the first object, so that the start of an isolate loads only this class. */
  private knowledge!: AgentKnowledge;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Calls wait until the code is loaded.
    void ctx.blockConcurrencyWhile(async () => {
      const { AgentKnowledge } = await import("./agent-knowledge.ts");
      this.knowledge = new AgentKnowledge(ctx.storage, env, keyOf(ctx.id));
    });
  }

  /** Updates the vectors after changes of the chunks. */
  override async alarm(): Promise<void> {
    const { workspaceId, agentId } = keyOf(this.ctx.id);
    await measureJob(this.env, { job: "index_alarm", workspaceId, fields: { agent_id: agentId } }, () => this.knowledge.updateVectors());
  }

  /**
   * Stores the text of a source, in place of its file; null keeps the stored text or file.
   * @param name the title of its passages.
   * @param uploadId the file that has the text. If another file has replaced it, nothing is stored.
   * @returns the bytes of text that the agent would have, if they are more than `maxBytes`; nothing is stored then.
   */
  async stageText(sourceId: string, name: string, text: string | null, maxBytes: number, uploadId?: string): Promise<number | undefined> {
    return this.knowledge.ingestion.stage(sourceId, { name, text, uploadId }, maxBytes);
  }

  /** Stores a part of an uploaded file, until its text is extracted. @returns false if too many files wait. */
  async putFilePart(sourceId: string, part: number, bytes: Uint8Array): Promise<boolean> {
    return this.knowledge.store.putFilePart(sourceId, part, bytes);
  }

  /** Makes an upload, whose parts were stored under its own id, the file of a source. @returns false if there is no such upload. */
  async replaceFile(sourceId: string, uploadId: string): Promise<boolean> {
    return this.knowledge.store.replaceFile(sourceId, uploadId);
  }

  /** Reads a part of a stored file; null after the last one. */
  async readFilePart(sourceId: string, uploadId: string, part: number): Promise<Uint8Array | null> {
    return this.knowledge.store.readFilePart(sourceId, uploadId, part);
  }

  /** Counts a read of the stored file that begins; null if there is no file. */
  async beginFileRead(sourceId: string): Promise<FileRead | null> {
    return this.knowledge.store.beginFileRead(sourceId);
  }

  /** Removes the stored file, unless another one has replaced it. */
  async removeFile(sourceId: string, uploadId: string): Promise<void> {
    if (this.knowledge.store.hasUpload(sourceId, uploadId)) this.knowledge.store.deleteFile(sourceId);
  }

  /** Takes one bounded step of indexing a staged text. The caller repeats it until it is done. Another `runId` starts a new build. */
  async ingestText(sourceId: string, runId: string): Promise<Sized<IngestProgress>> {
    return this.knowledge.sized(this.knowledge.ingestion.step(sourceId, runId), sourceId);
  }

  /** Takes one bounded step of a crawl: applies the results of a batch and returns the next one. Undefined when the source was removed. */
  async crawl(source: CrawlSource, step: CrawlStep): Promise<Sized<CrawlProgress> | undefined> {
    const progress = this.knowledge.crawls.step(source, step);
    // The pause lets a local workerd serve other requests while pages are indexed, since nothing is fetched in between.
    if (progress?.done === false && progress.fetch.length === 0) await scheduler.wait(YIELD_MS);
    return progress && this.knowledge.sized(progress, source.id);
  }

  /** Lists the pages of a source's last or running crawl in these states; null means all. */
  async listPages(
    sourceId: string,
    states: readonly PageState[] | null,
    page: { limit: number; offset: number },
  ): Promise<{ pages: ListedPage[]; total: number }> {
    return this.knowledge.listPages(sourceId, states, page);
  }

  /** Removes a source's text, pages and every generation of its index. */
  async removeSource(sourceId: string): Promise<void> {
    this.knowledge.removeSource(sourceId);
  }

  async putAnswer(answer: CuratedAnswer): Promise<void> {
    this.knowledge.answers.put(answer);
  }

  async removeAnswer(id: string): Promise<void> {
    this.knowledge.answers.remove(id);
  }

  /** Finds passages and curated answers for a question. */
  async search(query: SearchQuery): Promise<Retrieval> {
    return this.knowledge.search(query);
  }

  /** Reads the part of a document that begins after the chunk `after`. */
  async readDocument(name: DocumentName, after: number): Promise<DocumentPart | undefined> {
    return this.knowledge.readDocument(name, after);
  }

  /** Lists the passages of a source, or of one of its pages, that searches find; without a URL, of all its pages. */
  async listPassages(name: DocumentName, page: { limit: number; offset: number }): Promise<{ passages: SourcePassage[]; total: number }> {
    return this.knowledge.listPassages(name, page);
  }

  /** Reads the next rows of the storage, for an export that begins with `[]`. */
  async readDump(after: DumpCursor): Promise<DumpPage> {
    return this.knowledge.readDump(after);
  }

  /** Imports rows of an export; repeated rows change nothing. @returns the problem of the rows, in which case none is stored. */
  async putDump(rows: DumpedRow[]): Promise<string | undefined> {
    return this.knowledge.putDump(rows);
  }

  /** Removes the sources and curated answers whose ids are not among these. */
  async removeOthers(ids: string[]): Promise<void> {
    this.knowledge.removeOthers(ids);
  }

  /** Removes the knowledge of an erased agent. The names of its vectors stay until the vector index has removed these. */
  async erase(): Promise<void> {
    await this.knowledge.erase();
  }
}

/** The object's name is `<workspaceId>/<agentId>`. */
function keyOf({ name = "" }: DurableObjectId): AgentKey {
  const [workspaceId = "", agentId = ""] = name.split("/");
  return { workspaceId, agentId };
}

/** Returns the object of an agent. Its name begins with the workspace, so an agent of another workspace has another, empty object. */
export function knowledgeIndexOf(
  { env, meter, workspaceId }: Pick<Operation, "env" | "meter" | "workspaceId">,
  agentId: string,
): DurableObjectStub<KnowledgeIndex> {
  meter.countObjectHop();
  return objectOf(env, env.INDEX, `${workspaceId}/${agentId}`);
}
