import { terms } from "../text/terms.ts";
import type { ScoredPassage } from "./compose.ts";
import { COEFFICIENTS, INTERCEPT } from "./confidence-fit.ts";
import { aboutOf, type QueryTerm, type Retrieval } from "./retrieval.ts";
import { termMatch } from "./segments.ts";

/** What separates answered from unanswered questions, however large the knowledge is. Each is 0..1. */
export interface Signals extends Record<keyof typeof COEFFICIENTS, number> {
  /** The score of the best passage. */
  passageScore: number;
  /** How far it is ahead of the mean of the other passages that were read, as a share of its score. */
  margin: number;
  /** The idf weight of the question's content words that were found, up to FULL_WEIGHT: all of one common word is little. */
  matchedWeight: number;
  /** The share of the question's content words in the best passage, by weight; 0 where it has none. */
  coverageOfBest: number;
  /** The same of the passage with most of them; 1 where the question has none. Earlier turns do not count. */
  coverage: number;
}

/** The weight of two rare words, which no passage has by chance. */
const FULL_WEIGHT = 2;
/** Where less of the question than this was found, the confidence is at most the share that was. */
const MIN_COVERAGE = 0.5;

/** The probability, 0..1, that a draft answer is right: logistic regression on the signals. */
export function confidenceOf(signals: Signals): number {
  let logOdds = INTERCEPT;
  for (const [name, coefficient] of Object.entries(COEFFICIENTS)) logOdds += coefficient * signals[name as keyof typeof COEFFICIENTS];
  const probability = 1 / (1 + Math.exp(-logOdds));
  return signals.coverage < MIN_COVERAGE ? Math.min(probability, signals.coverage) : probability;
}

/** The signals of a question and the passages read for it, at most `maxPassages`. */
export function signalsOf({ questionTerms }: Retrieval, read: readonly ScoredPassage[], maxPassages: number): Signals {
  const ranked = read.filter(({ quotesQuestion }) => !quotesQuestion).toSorted((a, b) => b.passage.score - a.passage.score);
  const [best = 0, ...others] = ranked.map(({ passage }) => passage.score);
  const meanOfOthers = sum(others) / (maxPassages - 1);
  const contentTerms = questionTerms.filter(({ isWeak }) => !isWeak);
  const asked = sum(contentTerms.map(({ weight }) => weight));
  const [inBest = 0, ...inOthers] = ranked.map((passage) => matchedWeight(passage, contentTerms));
  const matched = Math.max(inBest, ...inOthers);
  return {
    passageScore: best,
    margin: best === 0 ? 0 : 1 - meanOfOthers / best,
    matchedWeight: Math.min(1, matched / FULL_WEIGHT),
    coverageOfBest: asked === 0 ? 0 : inBest / asked,
    coverage: asked === 0 ? 1 : matched / asked,
  };
}

function matchedWeight({ passage, segments }: ScoredPassage, queryTerms: readonly QueryTerm[]): number {
  const all = new Set([...terms(aboutOf(passage)), ...segments.flatMap(({ segment }) => [...segment.terms])]);
  return sum(queryTerms.filter((term) => termMatch(all, term) > 0).map(({ weight }) => weight));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
