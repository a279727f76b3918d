/*
 * Written by `npm run fit:answers -- --read`. Of questions that the fit has not seen:
 * trades: right first 0.818, from 0.5 on answered rightly 0.693, wrongly 0.084, unanswerable answered 0.105, from 0.55 on answered rightly 0.673, wrongly 0.078, unanswerable answered 0.084, from 0.6 on answered rightly 0.647, wrongly 0.065, unanswerable answered 0.079, AUROC answerable 0.925, refused at 90 % 0.784, calibration error 0.053
 * MTRAG-UN, IBM Cloud documentation: right first 0.907, from 0.5 on answered rightly 0.744, wrongly 0.070, unanswerable answered 0.139, from 0.55 on answered rightly 0.709, wrongly 0.058, unanswerable answered 0.111, from 0.6 on answered rightly 0.674, wrongly 0.047, unanswerable answered 0.111, AUROC answerable 0.879, refused at 90 % 0.722, calibration error 0.069
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.928, from 0.5 on answered rightly 0.687, wrongly 0.000, unanswerable answered 0.091, from 0.55 on answered rightly 0.639, wrongly 0.000, unanswerable answered 0.045, from 0.6 on answered rightly 0.566, wrongly 0.000, unanswerable answered 0.045, AUROC answerable 0.894, refused at 90 % 0.727, calibration error 0.200
 */
import type { ReadFeatures, Weights } from "./ranking.ts";

export const READ_FIT: Weights<ReadFeatures> = {
  constant: -3.579,
  passageProbability: 0.725,
  passage: 1.963,
  passageMargin: 2.405,
  headingRecall: 0,
  topic: 0.553,
  meaning: 0,
  meaningOfPassage: 0.329,
  closestInAnswer: 0,
  isFirstOfPassage: 0.029,
  matchedWeight: 1.286,
  isOneWord: 0.704,
  unknownWord: -0.919,
  isFollowUp: 0.021,
  similarity: 0.751,
  similarityOfPassage: 0.533,
  nearerWithoutMissing: -12.515,
  readingOdds: 0.323,
  readingShare: 0.046,
};
