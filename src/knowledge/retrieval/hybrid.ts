import type { Reranker } from "../../models/reranker.ts";
import { type Passage, passageText, type Retrieval, type SearchQuery } from "../../models/retrieval.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import type { IndexStore } from "../indexing/store.ts";
import type { NearChunk, SemanticSearch } from "../vectors/semantic-search.ts";
import { leans } from "./follow-up.ts";
import { rankChunks, type RankedChunk, readLiveChunks } from "./retrieve.ts";

/** Passages that are read once more: those after them are hardly ever the best one. */
const RERANKED = 20;
/** A visitor waits; the order before it is good already. */
const RERANK_LIMIT_MS = 1_000;

/** Finds passages by their words and by what they mean, and puts them into one order. */
export class HybridSearch {
  constructor(
    private readonly store: IndexStore,
    private readonly semantic: SemanticSearch,
    private readonly reranker: Reranker | undefined,
  ) {}

  /** Call it where the store is not empty. */
  async search(query: SearchQuery): Promise<Omit<Retrieval, "curated">> {
    const asking = this.semantic.nearest(wholeQuestion(query));
    const { ranked, ...words } = rankChunks(this.store, query);
    const fused = this.merge(ranked, await asking);
    const passages = this.reranker ? await reranked(this.reranker, query.question, fused) : fused;
    return { passages: passages.slice(0, query.limit), ...words };
  }

  /** Both rankings as one. A passage's score is what speaks for it most; what neither speaks for is left out. */
  private merge(ranked: readonly RankedChunk[], near: readonly NearChunk[]): Passage[] {
    if (near.length === 0) return ranked.map(({ passage }) => passage);
    if (this.store.isEmpty) return [];
    const byWords = new Map(ranked.map(({ chunkId, passage }) => [chunkId, passage.score]));
    const byMeaning = new Map(near.map(({ chunkId, score }) => [chunkId, score]));
    // What was found while the other search was on its way may be gone by now, or was never in use.
    const live = readLiveChunks(this.store.sql, [...byWords.keys(), ...byMeaning.keys()]);
    const order = fuse([byWords, byMeaning].map((scores) => [...scores.keys()].filter((id) => live.has(id))));
    const passages = order.map((id) => ({ ...live.get(id)!, score: Math.max(byWords.get(id) ?? 0, byMeaning.get(id) ?? 0) }));
    return passages.filter(({ score }) => score > 0);
  }
}

/** A question that makes sense only with the turn before it is embedded with it. */
function wholeQuestion({ question, previousQuestions }: SearchQuery): string {
  const before = previousQuestions.at(-1);
  return before !== undefined && leans(question) ? `${before}\n${question}` : question;
}

async function reranked(reranker: Reranker, question: string, passages: Passage[]): Promise<Passage[]> {
  const read = passages.slice(0, RERANKED);
  if (read.length < 2) return passages;
  try {
    const scores = await reranker.score(question, read.map(passageText), RERANK_LIMIT_MS);
    const scored = read.map((passage, at) => ({ ...passage, score: scores[at]! }));
    return [...scored.sort((a, b) => b.score - a.score), ...passages.slice(RERANKED)];
  } catch (error) {
    logRarely("reranking_failed", {}, error);
    return passages;
  }
}

/** How slowly a rank's worth falls: the usual constant of reciprocal rank fusion, at which no single list decides alone. */
const RANK_OFFSET = 60;

/** Several rankings as one, best first, by reciprocal rank fusion; of two that are equal the earlier list's goes first. */
export function fuse(rankings: readonly (readonly number[])[]): number[] {
  const worth = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [at, id] of ranking.entries()) worth.set(id, (worth.get(id) ?? 0) + 1 / (RANK_OFFSET + at + 1));
  }
  return [...worth].sort(([, a], [, b]) => b - a).map(([id]) => id);
}
