/** The signals that are weighed. */
export type FittedSignal = "passageScore" | "lead" | "sentenceCoverage" | "evidence";

export const INTERCEPT = -4.1;
export const COEFFICIENTS: Readonly<Record<FittedSignal, number>> = { passageScore: 5.81, lead: 8.44, sentenceCoverage: 0.73, evidence: 1.77 };
