/*
 * Written by `npm run fit:confidence` on MTRAG-UN, IBM Cloud documentation. Of tenfold cross-validation by conversation:
 * all passages: AUROC of right against wrong 0.887, calibration error 0.107, 122 questions
 * parts of 1/2: AUROC of right against wrong 0.882, calibration error 0.064, 202 questions
 * parts of 1/6: AUROC of right against wrong 0.931, calibration error 0.059, 196 questions
 * parts of 1/20: AUROC of right against wrong 0.894, calibration error 0.058, 184 questions
 */

/** The signals that are weighed. */
export type FittedSignal = "passageScore" | "lead" | "sentenceCoverage" | "evidence";

export const INTERCEPT = -3.36;
export const COEFFICIENTS: Readonly<Record<FittedSignal, number>> = {
  passageScore: 4.36,
  lead: 8.62,
  sentenceCoverage: 0.55,
  evidence: 1.67,
};
