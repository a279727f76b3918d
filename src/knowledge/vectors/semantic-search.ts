import { LruCache } from "../../platform/lru-cache.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import { withTimeout } from "../../platform/time.ts";
import { embeddedQuestion, NEAREST, type WantedVectors } from "./vector-index.ts";
import type { VectorStore } from "./vector-store.ts";
import type { ServingVectors, VectorSync } from "./vector-sync.ts";

export interface ScoredChunk {
  chunkId: number;
  /** The similarity, 0..1; 0 for an unrelated text. */
  score: number;
}

/** Some sources of the index, and the number of their chunks. */
interface PartOfIndex {
  sources: ReadonlySet<string>;
  chunks: number;
}

/** All vectors of a part with at most this number of chunks are compared; each takes about 1 KB to read. */
const MAX_COMPARED = 2_000;
/** The timeout is short because a visitor waits, and lexical search alone finds most passages. */
const TIMEOUT_MS = 1_500;
/** After a failure that took at least this long, searches are skipped for a while. */
const SLOW_FAILURE_MS = 750;
const COOLDOWN_MS = 10_000;
/** The questions whose vectors are cached, in 1 MB: a turn often searches twice, and many visitors ask the same question. */
const CACHED_QUESTIONS = 100;

/** Finds the chunks that are nearest in meaning. It never throws, since search can be lexical alone. */
export class SemanticSearch {
  private readonly questionVectors = new LruCache<string, number[]>(CACHED_QUESTIONS);
  private skipUntilMs = 0;

  constructor(private readonly sync: VectorSync) {}

  /**
   * Finds the agent's nearest chunks, best first; none if embeddings or vector index are down, slow or not configured. Some may
   * have been deleted meanwhile, or belong to a generation that is being built.
   * @param part the sources that the caller uses. Chunks of other sources may still be among the results.
   */
  async nearest(question: string, part?: PartOfIndex): Promise<ScoredChunk[]> {
    const serving = this.sync.findServing();
    const text = embeddedQuestion(question);
    if (!serving || text === "" || part?.chunks === 0 || Date.now() < this.skipUntilMs) return [];
    const { embeddings, index, set, store } = serving;
    const startedAtMs = Date.now();
    try {
      const searching = this.vectorOf(serving, text).then((values) => index.nearest(set, values, wantedOf(store, part)));
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

/** All vectors of a small part; for a large part, as many of all vectors as contain about NEAREST of the part. */
function wantedOf(store: VectorStore, part: PartOfIndex | undefined): WantedVectors {
  if (!part || !store.tracksChunks) return { count: NEAREST };
  if (part.chunks <= MAX_COMPARED) return { names: store.namesOf([...part.sources]) };
  return { count: Math.ceil((NEAREST * store.countChunks()) / part.chunks) };
}

function scoreOf(cosine: number, unrelatedCosine: number): number {
  return Math.min(1, Math.max(0, (cosine - unrelatedCosine) / (1 - unrelatedCosine)));
}
