import type { Passage, Retrieval } from "../../knowledge/passage.ts";
import { ExtractiveModel } from "../extractive.ts";

/**
 * What a language model's own "this passage answers it" adds to what the words say, in log-odds: a passage with even odds
 * becomes one that is right four times in five.
 */
const MODEL_VOTE = 1.5;
/**
 * The words of a question and its answer may differ altogether, as in another language: then what the model says counts
 * for about even odds, and no more.
 */
const MIN_ODDS = 0.2;

const extractive = new ExtractiveModel();

/** 0..1: how likely an answer from these passages is right, which a model says answer the question. */
export async function groundingOf(question: string, retrieval: Retrieval, cited: readonly Passage[]): Promise<number> {
  const passages = retrieval.passages.filter((passage) => cited.includes(passage));
  const { confidence } = await extractive.answer({
    question,
    previousQuestions: [],
    retrieval: { ...retrieval, passages },
    instructions: null,
    language: "en",
  });
  const odds = Math.max(confidence, MIN_ODDS);
  return 1 / (1 + Math.exp(-(Math.log(odds / (1 - odds)) + MODEL_VOTE)));
}
