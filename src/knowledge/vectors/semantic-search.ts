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

/** A visitor waits, and words alone find most of it. */
const LIMIT_MS = 1_500;
/** After a question that waited in vain for so long, the next ones do not wait. */
const SLOW_MS = 750;
const REST_MS = 10_000;
/** A turn is often searched twice, and many visitors ask the same. 1 MB. */
const REMEMBERED_QUESTIONS = 100;

/** Finds chunks by what they mean, as far as the outside has them and answers in time. */
export class SemanticSearch {
  private readonly asked = new LruCache<string, number[]>(REMEMBERED_QUESTIONS);
  private restsUntilMs = 0;

  constructor(private readonly sync: VectorSync) {}

  /** The agent's nearest chunks, best first; none where the outside is down, slow or absent. They may be gone, or not in use. */
  async nearest(question: string): Promise<ScoredChunk[]> {
    const prepared = this.sync.prepare();
    const text = embeddedQuestion(question);
    if (!prepared || text === "" || Date.now() < this.restsUntilMs) return [];
    const { engines, store, scope } = prepared;
    const startedAtMs = Date.now();
    try {
      const asking = this.vectorOf(engines, text).then((values) => engines.index.nearest(scope, values));
      const found = await withTimeout(LIMIT_MS, asking, "Searching by meaning");
      if (!store.isComplete) return [];
      const chunks = Map.groupBy(store.listChunks(found.map(({ name }) => name)), ({ name }) => name);
      return found.flatMap(({ name, similarity }) => {
        const score = scoreOf(similarity, engines.embeddings.unrelatedCosine);
        return (chunks.get(name) ?? []).map(({ chunkId }) => ({ chunkId, score }));
      });
    } catch (error) {
      if (Date.now() - startedAtMs >= SLOW_MS) this.restsUntilMs = Date.now() + REST_MS;
      logRarely("semantic_search_failed", {}, error);
      return [];
    }
  }

  private async vectorOf({ embeddings }: VectorEngines, text: string): Promise<number[]> {
    const known = this.asked.get(text);
    if (known) return known;
    const [values] = await embeddings.embed([text], LIMIT_MS);
    this.asked.set(text, values!);
    return values!;
  }
}

function scoreOf(similarity: number, unrelated: number): number {
  return Math.min(1, Math.max(0, (similarity - unrelated) / (1 - unrelated)));
}
