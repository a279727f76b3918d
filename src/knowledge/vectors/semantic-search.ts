import { LruCache } from "../../platform/lru-cache.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import { withTimeout } from "../../platform/time.ts";
import { embeddedQuestion } from "./vector-index.ts";
import type { ServingVectors, VectorSync } from "./vector-sync.ts";

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
    const serving = this.sync.findServing();
    const text = embeddedQuestion(question);
    if (!serving || text === "" || Date.now() < this.skipUntilMs) return [];
    const { embeddings, index, set, store } = serving;
    const startedAtMs = Date.now();
    try {
      const searching = this.vectorOf(serving, text).then((values) => index.nearest(set, values));
      const found = await withTimeout(TIMEOUT_MS, searching, "Semantic search");
      if (!store.tracksChunks) return [];
      const chunks = Map.groupBy(store.listChunks(found.map(({ name }) => name)), ({ name }) => name);
      return found.flatMap(({ name, cosine }) => {
        const score = scoreOf(cosine, embeddings.unrelatedCosine);
        return (chunks.get(name) ?? []).map(({ chunkId }) => ({ chunkId, score }));
      });
    } catch (error) {
      if (Date.now() - startedAtMs >= SLOW_FAILURE_MS) this.skipUntilMs = Date.now() + COOLDOWN_MS;
      logRarely("semantic_search_failed", {}, error);
      return [];
    }
  }

  private async vectorOf({ embeddings }: ServingVectors, text: string): Promise<number[]> {
    const key = `${embeddings.version}\n${text}`;
    const cached = this.questionVectors.get(key);
    if (cached) return cached;
    const [values] = await embeddings.embed([text], TIMEOUT_MS);
    this.questionVectors.set(key, values!);
    return values!;
  }
}

function scoreOf(cosine: number, unrelatedCosine: number): number {
  return Math.min(1, Math.max(0, (cosine - unrelatedCosine) / (1 - unrelatedCosine)));
}
