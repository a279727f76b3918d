/*
 * Written by `npm run fit:answers`. Of questions that the fit has not seen:
 * trades: right first 0.792, from 0.5 on answered rightly 0.678, wrongly 0.097, unanswerable answered 0.080, from 0.55 on answered rightly 0.648, wrongly 0.081, unanswerable answered 0.070, from 0.6 on answered rightly 0.623, wrongly 0.072, unanswerable answered 0.060, AUROC answerable 0.913, refused at 90 % 0.780, calibration error 0.050
 * MTRAG-UN, IBM Cloud documentation: right first 0.872, from 0.5 on answered rightly 0.767, wrongly 0.070, unanswerable answered 0.167, from 0.55 on answered rightly 0.756, wrongly 0.058, unanswerable answered 0.167, from 0.6 on answered rightly 0.698, wrongly 0.047, unanswerable answered 0.083, AUROC answerable 0.891, refused at 90 % 0.750, calibration error 0.087
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.892, from 0.5 on answered rightly 0.783, wrongly 0.024, unanswerable answered 0.227, from 0.55 on answered rightly 0.759, wrongly 0.024, unanswerable answered 0.227, from 0.6 on answered rightly 0.675, wrongly 0.012, unanswerable answered 0.182, AUROC answerable 0.861, refused at 90 % 0.545, calibration error 0.103
 */
import type { ConfidenceFeatures, SegmentFeatures, Weights } from "./answer-ranking.ts";

export const ANSWER_WEIGHTS: Weights<SegmentFeatures> = {
  own: 0.728,
  ownInFollowUp: 0.169,
  headings: 0.484,
  headingRecall: 0.829,
  meaningOfHeadings: 0.602,
  closestInHeadings: 0.557,
  neighbors: 0.09,
  anywhere: 0.991,
  topic: 0.819,
  answer: 0.974,
  answerType: 0.814,
  isFirstOfPassage: 0.436,
  isFirstOfBlock: 1.074,
  isItem: 0.009,
  closestInAnswer: 0.944,
  passage: 0.428,
  passageShare: 1.348,
  meaning: 0.789,
  meaningOfPassage: 0.66,
  closest: 0.744,
  closestInPassage: 0.687,
};

export const CONFIDENCE_WEIGHTS: Weights<ConfidenceFeatures> = {
  constant: -4.747,
  passageProbability: 1.021,
  passage: 2.753,
  passageMargin: 1.206,
  headingRecall: 1.307,
  topic: 0.964,
  meaning: 0.593,
  meaningOfPassage: 0.843,
  closestInAnswer: 0.674,
  isFirstOfPassage: 0.86,
  matchedWeight: 1.758,
  isOneWord: 0.405,
  unknownWord: -2.358,
  isFollowUp: 0.541,
};
