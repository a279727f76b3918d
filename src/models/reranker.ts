import { aiGateway, usesReranker } from "../platform/config.ts";
import { truncate } from "../platform/text.ts";
import { withTimeout } from "../platform/time.ts";

/** Reads a question and a passage together: slower than comparing vectors, and better. */
export interface Reranker {
  /**
   * How well each text answers the question, 0..1, in their order.
   * @throws Error when the model is down, too slow or answers nonsense.
   */
  score(question: string, texts: readonly string[], limitMs: number): Promise<number[]>;
}

const WORKERS_AI_MODEL = "@cf/baai/bge-reranker-base";
/** It reads 512 tokens, question included; what is longer than this is cut by the model itself. */
const MAX_QUESTION_LENGTH = 500;
const MAX_TEXT_LENGTH = 2_000;

/** The deployment's reranker, where it has Workers AI and switched it on. */
export function rerankerFor(env: Env): Reranker | undefined {
  const { AI: ai } = env;
  if (!ai || !usesReranker(env)) return undefined;
  return {
    score: async (question, texts, limitMs) => {
      const contexts = texts.map((text) => ({ text: truncate(text, MAX_TEXT_LENGTH) }));
      const input = { query: truncate(question, MAX_QUESTION_LENGTH), contexts, top_k: texts.length };
      // The generated types lack the question.
      const run = ai.run(WORKERS_AI_MODEL, input as AiModels[typeof WORKERS_AI_MODEL]["inputs"], aiGateway(env));
      return scoresOf(await withTimeout(limitMs, run, "Reranking"), texts.length);
    },
  };
}

function scoresOf({ response }: { response?: { id?: number; score?: number }[] }, count: number): number[] {
  const scores = new Map(response?.map(({ id, score }) => [id, score]));
  return Array.from({ length: count }, (_, at) => {
    const score = scores.get(at);
    if (score === undefined || !Number.isFinite(score)) throw new Error(`The reranker gave ${scores.size} scores for ${count} texts`);
    return Math.min(1, Math.max(0, score));
  });
}
