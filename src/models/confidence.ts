/** What tells an answered question from an unanswered one. Each is 0..1. */
export interface Signals {
  /** The share of the question's weight that stands in the best passage, its title and heading. */
  passageCoverage: number;
  /** The same for the best single sentence. */
  sentenceCoverage: number;
  /** The best passage's score. */
  passageScore: number;
  /** How much of the question's weight is found, in itself: one common word found is little, though it be all. */
  evidence: number;
}

const INTERCEPT = -4.6;
const COEFFICIENTS: Readonly<Record<keyof Signals, number>> = {
  passageCoverage: 0.9,
  sentenceCoverage: 2.3,
  passageScore: 3.8,
  evidence: 2.2,
};

/** The probability that the question is answered by what was found. */
export function confidenceOf(signals: Signals): number {
  let sum = INTERCEPT;
  for (const name of Object.keys(COEFFICIENTS) as (keyof Signals)[]) sum += COEFFICIENTS[name] * signals[name];
  return 1 / (1 + Math.exp(-sum));
}
