import { COEFFICIENTS, type FittedSignal, INTERCEPT } from "./confidence-fit.ts";

/** What tells an answered question from an unanswered one, however large the knowledge is. Each is 0..1. */
export interface Signals extends Record<FittedSignal, number> {
  /** The best passage's score. */
  passageScore: number;
  /** How far it is ahead of the others that are read, as a share of its score: what all passages share answers nothing. */
  lead: number;
  /** How much of the question is found in itself: one common word found is little, though it be all. */
  evidence: number;
  /** The share of the question's own telling words that the best passage has; none where it has none. */
  tellingInBest: number;
  /** The same of whichever passage has most; all where it has none. Earlier turns alone answer nothing. */
  tellingFound: number;
}

/** Below it more of what is asked is missing than is there. */
const MOST = 0.5;

/** The probability that the question is answered by what was found; where most of it was not, at most the share that was. */
export function confidenceOf(signals: Signals): number {
  const probability = fitted(signals);
  return signals.tellingFound < MOST ? Math.min(probability, signals.tellingFound) : probability;
}

function fitted(signals: Signals): number {
  let sum = INTERCEPT;
  for (const name of Object.keys(COEFFICIENTS) as FittedSignal[]) sum += COEFFICIENTS[name] * signals[name];
  return 1 / (1 + Math.exp(-sum));
}
