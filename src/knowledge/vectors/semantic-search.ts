import { LruCache } from "../../platform/lru-cache.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import { withTimeout } from "../../platform/time.ts";
import { embeddedQuestion, type VectorEngines } from "./vector-index.ts";
import type { VectorSync } from "./vector-sync.ts";

export interface ScoredChunk {
  chunkId: number;
  /** 0..1: 0 is no nearer than an unrelated text. */
  score: number;
}

/** A visitor waits, and lexical search alone finds most of it. */
const TIMEOUT_MS = 1_500;
/** After a failure that took at least this long, searches are skipped for a while. */
const SLOW_FAILURE_MS = 750;
const COOLDOWN_MS = 10_000;
/** A turn is often searched twice, and many visitors ask the same. 1 MB. */
const CACHED_QUESTIONS = 100;

/** Finds the chunks nearest in meaning. It never throws: without it search is lexical. */
export class SemanticSearch {
  private readonly questionVectors = new LruCache<string, number[]>(CACHED_QUESTIONS);
  private skipUntilMs = 0;

  constructor(private readonly sync: VectorSync) {}

  /**
   * The agent's nearest chunks, best first; none where embeddings or vector index are down, slow or not configured. Some
   * may have been deleted meanwhile, or belong to a generation that is being built.
   */
  async nearest(question: string): Promise<ScoredChunk[]> {
    const synced = this.sync.prepare();
    const text = embeddedQuestion(question);
    if (!synced || text === "" || Date.now() < this.skipUntilMs) return [];
    const { engines, store, scope } = synced;
    const startedAtMs = Date.now();
    try {
      const searching = this.vectorOf(engines, text).then((values) => engines.index.nearest(scope, values));
      const found = await withTimeout(TIMEOUT_MS, searching, "Semantic search");
      if (!store.tracksChunks) return [];
      const chunks = Map.groupBy(store.listChunks(found.map(({ name }) => name)), ({ name }) => name);
      return found.flatMap(({ name, cosine }) => {
        const score = scoreOf(cosine, engines.embeddings.unrelatedCosine);
        return (chunks.get(name) ?? []).map(({ chunkId }) => ({ chunkId, score }));
      });
    } catch (error) {
      if (Date.now() - startedAtMs >= SLOW_FAILURE_MS) this.skipUntilMs = Date.now() + COOLDOWN_MS;
      logRarely("semantic_search_failed", {}, error);
      return [];
    }
  }

  private async vectorOf({ embeddings }: VectorEngines, text: string): Promise<number[]> {
    const cached = this.questionVectors.get(text);
    if (cached) return cached;
    const [values] = await embeddings.embed([text], TIMEOUT_MS);
    this.questionVectors.set(text, values!);
    return values!;
  }
}

function scoreOf(cosine: number, unrelatedCosine: number): number {
  return Math.min(1, Math.max(0, (cosine - unrelatedCosine) / (1 - unrelatedCosine)));
}
