import { DurableObject } from "cloudflare:workers";
import { type CuratedAnswer, putAnswer, removeAnswer, searchAnswers } from "./curated.ts";
import { IndexStore } from "./index-store.ts";
import { type IngestProgress, TextIngestion } from "./ingest.ts";
import type { Retrieval, SearchQuery } from "./passage.ts";
import { searchChunks } from "./retrieve.ts";

/** One object an agent: all that it knows, and the search of it. Each method may be repeated without harm. */
export class KnowledgeIndex extends DurableObject<Env> {
  private readonly store: IndexStore;
  private readonly ingestion: TextIngestion;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.store = new IndexStore(ctx.storage);
    this.ingestion = new TextIngestion(this.store);
  }

  /** Keeps the text of a text source; `name` becomes the title of its passages. */
  async stageText(sourceId: string, name: string, text: string): Promise<void> {
    await this.ingestion.stage(sourceId, name, text);
  }

  /** One bounded step of indexing a staged text: call it until it is done. Another `runId` starts anew. */
  async ingestText(sourceId: string, runId: string): Promise<IngestProgress> {
    return this.ingestion.step(sourceId, runId);
  }

  /** Removes all of a source: its text, what is indexed and what is half-built. */
  async removeSource(sourceId: string): Promise<void> {
    this.ingestion.remove(sourceId);
  }

  async putAnswer(answer: CuratedAnswer): Promise<void> {
    putAnswer(this.store, answer);
  }

  async removeAnswer(id: string): Promise<void> {
    removeAnswer(this.store, id);
  }

  /** What the agent knows on a question. */
  async search(query: SearchQuery): Promise<Retrieval> {
    if (this.store.isEmpty) return { passages: [], curated: [], questionTerms: [], previousTerms: [] };
    const found = searchChunks(this.store.sql, query);
    return { ...found, curated: searchAnswers(this.store.sql, query.question, query.limit) };
  }

  /** Forgets everything: the agent is erased. */
  async erase(): Promise<void> {
    this.ingestion.forgetAll();
    await this.store.erase();
  }
}
