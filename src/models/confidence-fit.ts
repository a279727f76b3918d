/*
 * Written by `npm run fit:confidence` on MTRAG-UN, IBM Cloud documentation. Figures of tenfold cross-validation by conversation:
 * all passages: AUROC of right against wrong 0.868, calibration error 0.114, of what is answered 0.083, 122 questions
 * parts of 1/2: AUROC of right against wrong 0.868, calibration error 0.068, of what is answered 0.053, 202 questions
 * parts of 1/6: AUROC of right against wrong 0.928, calibration error 0.075, of what is answered 0.057, 196 questions
 * parts of 1/20: AUROC of right against wrong 0.895, calibration error 0.063, of what is answered 0.056, 184 questions
 */

export const INTERCEPT = -4.57;
export const COEFFICIENTS = { passageScore: 5.87, margin: 3.36, matchedWeight: 1.4, coverageOfBest: 1.39 };
