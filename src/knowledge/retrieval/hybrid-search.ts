import { MAX_PASSAGES_READ } from "../../extractive/segments.ts";
import type { Reranker } from "../../models/model.ts";
import { type Passage, passageText, type Retrieval, type SearchQuery } from "../../models/retrieval.ts";
import { logRarely } from "../../platform/telemetry/log.ts";
import type { IndexStore } from "../indexing/store.ts";
import { ENCODED_LANGUAGE, type QuestionVectors, type SentenceVectors } from "../vectors/sentence-vectors.ts";
import type { ScoredChunk, SemanticSearch } from "../vectors/semantic-search.ts";
import { NEAREST } from "../vectors/vector-index.ts";
import { languageOfQuestion, rankChunks, type RankedChunk, readLiveChunks } from "./lexical-search.ts";
import { isFollowUp, mayBeWhole } from "./query.ts";

/** The number of passages that the reranker reads. A later one is hardly ever the best. */
const MAX_RERANKED = 20;
/** The timeout is short because a visitor waits, and the order without reranking is good already. */
const RERANK_TIMEOUT_MS = 1_000;

/** The weight of a passage's words beside its meaning, the best one on the questions of bench/trades. */
const LEXICAL_WEIGHT = 0.08;
/**
 * The similarity that the question before it adds to a follow-up. On bench/trades, 92 of 100 follow-ups are recognized by it, and of 100
 * short questions about something else 72.
 */
const CONTEXT_GAIN = 0.15;
/** The chunks of the sources of a filter that are compared exactly. */
const MAX_COMPARED = 2_000;

/** A question as it is searched for. */
interface Understood {
  asked: SearchQuery;
  /** The text that is embedded: a follow-up together with the question before it. */
  text: string;
  /** Undefined where the service's encoder has no part in the search. */
  vectors: QuestionVectors | undefined;
}

/** Merges the results of lexical and semantic search into one ranking, and reranks it where the deployment has a reranker. */
export class HybridSearch {
  constructor(
    private readonly store: IndexStore,
    private readonly semantic: SemanticSearch,
    private readonly sentences: SentenceVectors,
    private readonly reranker: Reranker | undefined,
  ) {}

  /** Call it only where the store is not empty. */
  async search(query: SearchQuery): Promise<Omit<Retrieval, "curated">> {
    const language = languageOfQuestion(query, this.store.languages);
    const sources = query.only && new Set(query.only.sources);
    const extent = sources && this.store.extentOf([...sources]);
    const { asked, text, vectors } = await this.understand(query, language, sources);
    const nearest = this.semantic.nearest(text, sources && extent && { sources, ...extent });
    const { ranked, ...terms } = rankChunks(this.store, asked, language, extent);
    const fused = vectors ? this.fuseSentences(ranked, vectors, sources) : this.fuse(ranked, await nearest, sources);
    const passages = this.reranker ? await rerank(this.reranker, query.question, fused) : fused;
    return { passages: passages.slice(0, query.limit), ...terms };
  }

  /**
   * Decides whether a question is asked together with the one before it. One that may be whole is asked by itself if a sentence is
   * nearly as similar to it as one is to both.
   */
  private async understand(query: SearchQuery, language: string, sources?: ReadonlySet<string>): Promise<Understood> {
    const { question, previousQuestions } = query;
    const usesSentences = language === ENCODED_LANGUAGE && this.sentences.isUsable();
    const vectorsOf = async (text: string) => (usesSentences ? this.sentences.vectorsOf(text) : undefined);
    const previous = previousQuestions.at(-1);
    if (previous === undefined || !isFollowUp(question, language))
      return { asked: query, text: question, vectors: await vectorsOf(question) };
    const text = `${previous}\n${question}`;
    const vectors = await vectorsOf(text);
    const own = vectors && mayBeWhole(question) ? await vectorsOf(question) : undefined;
    if (!vectors || !own || this.similarity(own, sources) < this.similarity(vectors, sources) - CONTEXT_GAIN)
      return { asked: query, text, vectors };
    return { asked: { ...query, previousQuestions: [] }, text: question, vectors: own };
  }

  /** The similarity of the nearest sentence. */
  private similarity({ vector }: QuestionVectors, sources?: ReadonlySet<string>): number {
    return Math.max(0, ...[...this.sentences.compare(vector, this.near(vector, sources)).values()].flat());
  }

  private near(vector: Float32Array, sources?: ReadonlySet<string>): number[] {
    return sources ? this.store.chunksOf([...sources], MAX_COMPARED) : this.sentences.nearestChunks(vector);
  }

  /**
   * Orders passages by the similarity of their best sentence, and to a small part by their words. Only those that the extractive engine
   * reads are also compared with the question without each of its terms.
   */
  private fuseSentences(ranked: readonly RankedChunk[], question: QuestionVectors, sources?: ReadonlySet<string>): Passage[] {
    const lexical = new Map(ranked.slice(0, NEAREST).map(({ chunkId, passage }) => [chunkId, passage.score]));
    const best = Math.max(...lexical.values());
    const near = this.near(question.vector, sources);
    const live = readLiveChunks(this.store.sql, [...new Set([...lexical.keys(), ...near])]);
    const compared = this.sentences.compare(question.vector, [...live.keys()]);
    const nearest = Math.max(0, ...[...compared.values()].flat());
    const scored = [...live].flatMap(([id, passage]) => {
      if (sources && !sources.has(passage.sourceId)) return [];
      const share = best > 0 ? (lexical.get(id) ?? 0) / best : 0;
      const similarities = compared.get(id) ?? null;
      // Until a new chunk has its vectors, its words decide.
      const semantic = similarities ? Math.max(0, ...similarities) : share * nearest;
      const scores = { lexical: lexical.get(id) ?? null, semantic: similarities && semantic, reranker: null };
      return { id, passage: { ...passage, score: (semantic + LEXICAL_WEIGHT * share) / (1 + LEXICAL_WEIGHT), scores, similarities } };
    });
    const ordered = scored.filter(({ passage }) => passage.score > 0).toSorted((a, b) => b.passage.score - a.passage.score);
    return ordered.map(({ id, passage }, at) => {
      const isRead = at < MAX_PASSAGES_READ && passage.similarities !== null;
      return isRead ? { ...passage, similarityWithout: this.sentences.compareWithout(question, id) } : passage;
    });
  }

  /** Merges two rankings. The score of a passage is the higher one of its two; passages with a score of 0 are left out. */
  private fuse(ranked: readonly RankedChunk[], nearest: readonly ScoredChunk[], sources?: ReadonlySet<string>): Passage[] {
    if (nearest.length === 0) return ranked.map(({ passage }) => passage);
    if (this.store.isEmpty) return [];
    const lexical = new Map(ranked.map(({ chunkId, passage }) => [chunkId, passage.score]));
    const semantic = new Map(nearest.map(({ chunkId, score }) => [chunkId, score]));
    // A chunk may have been deleted while the semantic search was under way, or belong to a generation that is being built.
    const live = readLiveChunks(this.store.sql, [...lexical.keys(), ...semantic.keys()]);
    const isWanted = (id: number) => live.has(id) && (sources?.has(live.get(id)!.sourceId) ?? true);
    const order = reciprocalRankFusion([lexical, semantic].map((scores) => [...scores.keys()].filter(isWanted).slice(0, NEAREST)));
    const passages = order.map((id) => {
      const scores = { lexical: lexical.get(id) ?? null, semantic: semantic.get(id) ?? null, reranker: null };
      return { ...live.get(id)!, score: Math.max(scores.lexical ?? 0, scores.semantic ?? 0), scores };
    });
    return passages.filter(({ score }) => score > 0);
  }
}

async function rerank(reranker: Reranker, question: string, passages: Passage[]): Promise<Passage[]> {
  const read = passages.slice(0, MAX_RERANKED);
  if (read.length < 2) return passages;
  try {
    const scores = await reranker.score(question, read.map(passageText), RERANK_TIMEOUT_MS);
    const scored = read.map((passage, at) => ({
      ...passage,
      score: scores[at]!,
      scores: { ...passage.scores, reranker: scores[at]! },
    }));
    return [...scored.sort((a, b) => b.score - a.score), ...passages.slice(MAX_RERANKED)];
  } catch (error) {
    logRarely("reranking_failed", {}, error);
    return passages;
  }
}

/** The constant that the authors of the formula use, with which no single ranking decides alone. */
const RANK_OFFSET = 60;

/** Merges rankings, best first, by reciprocal rank fusion (Cormack et al. 2009); in a tie the earlier ranking goes first. */
export function reciprocalRankFusion(rankings: readonly (readonly number[])[]): number[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [at, id] of ranking.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_OFFSET + at + 1));
  }
  return [...scores].sort(([, a], [, b]) => b - a).map(([id]) => id);
}
