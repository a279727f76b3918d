/*
 * Written by `npm run fit:answers -- --read`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
 * trades: right first 0.831, from 0.5 on answered rightly 0.695, wrongly 0.075, unanswerable answered 0.084, from 0.55 on answered rightly 0.678, wrongly 0.071, unanswerable answered 0.053, from 0.6 on answered rightly 0.645, wrongly 0.067, unanswerable answered 0.053, AUROC answerable 0.942, refused at 90 % 0.858, calibration error 0.068
 * centres: right first 0.667, from 0.5 on answered rightly 0.472, wrongly 0.140, unanswerable answered 0.299, from 0.55 on answered rightly 0.448, wrongly 0.123, unanswerable answered 0.250, from 0.6 on answered rightly 0.420, wrongly 0.110, unanswerable answered 0.221, AUROC answerable 0.735, refused at 90 % 0.322, calibration error 0.107
 * MTRAG-UN, IBM Cloud documentation: right first 0.919, from 0.5 on answered rightly 0.802, wrongly 0.035, unanswerable answered 0.194, from 0.55 on answered rightly 0.802, wrongly 0.035, unanswerable answered 0.194, from 0.6 on answered rightly 0.744, wrongly 0.035, unanswerable answered 0.167, AUROC answerable 0.850, refused at 90 % 0.556, calibration error 0.071
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.735, wrongly 0.024, unanswerable answered 0.091, from 0.55 on answered rightly 0.723, wrongly 0.024, unanswerable answered 0.045, from 0.6 on answered rightly 0.711, wrongly 0.024, unanswerable answered 0.045, AUROC answerable 0.862, refused at 90 % 0.455, calibration error 0.132
 */
import type { ReadFeatures, Weights } from "./ranking.ts";

export const READ_FIT: Weights<ReadFeatures> = {
  constant: -3.108,
  passageProbability: 0.808,
  passage: 1.644,
  passageMargin: 1.272,
  headingRecall: 0.232,
  topic: 0.394,
  meaning: 0,
  meaningOfPassage: 0.211,
  closestInAnswer: 0.168,
  isFirstOfPassage: 0.281,
  matchedWeight: 0.714,
  isOneWord: 0.532,
  unknownWord: -0.699,
  isFollowUp: -0.054,
  similarity: 0.411,
  similarityOfPassage: 0.361,
  nearerWithoutMissing: -12.231,
  readingOdds: 0.362,
  readingShare: 0.582,
};
