import { LruCache } from "../../platform/lru-cache.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import { withTimeout } from "../../platform/time.ts";
import { embeddedQuestion, NEAREST, type WantedVectors } from "./vector-index.ts";
import type { VectorStore } from "./vector-store.ts";
import type { ServingVectors, VectorSync } from "./vector-sync.ts";

export interface ScoredChunk {
  chunkId: number;
  /** 0..1: 0 is no nearer than an unrelated text. */
  score: number;
}

/** Some sources of the index, and how many chunks they have. */
interface PartOfIndex {
  sources: ReadonlySet<string>;
  chunks: number;
}

/** A part of so many chunks is compared whole: each vector is read, about 1 KB. */
const MAX_COMPARED = 2_000;
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
   * @param part the only sources that the caller will use; others may be among the chunks still.
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

/** Of a small part all vectors; of a large one so many of all that about NEAREST are of it. */
function wantedOf(store: VectorStore, part: PartOfIndex | undefined): WantedVectors {
  if (!part || !store.tracksChunks) return { count: NEAREST };
  if (part.chunks <= MAX_COMPARED) return { names: store.namesOf([...part.sources]) };
  return { count: Math.ceil((NEAREST * store.countChunks()) / part.chunks) };
}

function scoreOf(cosine: number, unrelatedCosine: number): number {
  return Math.min(1, Math.max(0, (cosine - unrelatedCosine) / (1 - unrelatedCosine)));
}
