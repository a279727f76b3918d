/*
 * Written by `npm run fit:answers -- --read`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
 * trades: right first 0.845, from 0.5 on answered rightly 0.696, wrongly 0.060, unanswerable answered 0.047, from 0.55 on answered rightly 0.665, wrongly 0.051, unanswerable answered 0.042, from 0.6 on answered rightly 0.620, wrongly 0.044, unanswerable answered 0.037, AUROC answerable 0.935, refused at 90 % 0.805, calibration error 0.091
 * centres: right first 0.668, from 0.5 on answered rightly 0.453, wrongly 0.131, unanswerable answered 0.214, from 0.55 on answered rightly 0.421, wrongly 0.121, unanswerable answered 0.180, from 0.6 on answered rightly 0.398, wrongly 0.108, unanswerable answered 0.146, AUROC answerable 0.746, refused at 90 % 0.296, calibration error 0.067
 * MTRAG-UN, IBM Cloud documentation: right first 0.895, from 0.5 on answered rightly 0.744, wrongly 0.047, unanswerable answered 0.167, from 0.55 on answered rightly 0.709, wrongly 0.047, unanswerable answered 0.139, from 0.6 on answered rightly 0.640, wrongly 0.047, unanswerable answered 0.111, AUROC answerable 0.852, refused at 90 % 0.639, calibration error 0.106
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.699, wrongly 0.024, unanswerable answered 0.045, from 0.55 on answered rightly 0.699, wrongly 0.024, unanswerable answered 0.045, from 0.6 on answered rightly 0.675, wrongly 0.024, unanswerable answered 0.045, AUROC answerable 0.868, refused at 90 % 0.500, calibration error 0.127
 */
import type { ReadFeatures, Weights } from "./ranking.ts";

export const READ_FIT: Weights<ReadFeatures> = {
  constant: -2.573,
  passageProbability: 1.128,
  passage: 1.414,
  passageMargin: 1.209,
  headingRecall: 0.352,
  topic: 0.564,
  meaning: 0,
  meaningOfPassage: 0.232,
  closestInAnswer: 0.056,
  isFirstOfPassage: 0.403,
  matchedWeight: 0.411,
  isOneWord: 0.548,
  unknownWord: -0.792,
  isFollowUp: -0.125,
  similarity: 0.165,
  similarityOfPassage: 0.442,
  nearerWithoutMissing: -10.743,
  readingOdds: 0.477,
  readingShare: 0.389,
};
