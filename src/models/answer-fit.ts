/*
 * Written by `npm run fit:answers`. Of questions that the fit has not seen:
 * trades: right first 0.791, from 0.5 on answered rightly 0.665, wrongly 0.078, unanswerable answered 0.100, from 0.55 on answered rightly 0.650, wrongly 0.078, unanswerable answered 0.083, from 0.6 on answered rightly 0.636, wrongly 0.078, unanswerable answered 0.083, AUROC answerable 0.877, refused at 90 % 0.650, calibration error 0.053
 * MTRAG-UN, IBM Cloud documentation: right first 0.872, from 0.5 on answered rightly 0.791, wrongly 0.081, unanswerable answered 0.167, from 0.55 on answered rightly 0.767, wrongly 0.081, unanswerable answered 0.167, from 0.6 on answered rightly 0.744, wrongly 0.070, unanswerable answered 0.139, AUROC answerable 0.908, refused at 90 % 0.750, calibration error 0.099
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.892, from 0.5 on answered rightly 0.651, wrongly 0.012, unanswerable answered 0.136, from 0.55 on answered rightly 0.614, wrongly 0.012, unanswerable answered 0.091, from 0.6 on answered rightly 0.566, wrongly 0.012, unanswerable answered 0.045, AUROC answerable 0.856, refused at 90 % 0.591, calibration error 0.158
 */
import type { ConfidenceFeatures, SegmentFeatures, Weights } from "./answer-ranking.ts";

export const ANSWER_WEIGHTS: Weights<SegmentFeatures> = {
  own: 0.71,
  ownInFollowUp: 0.199,
  headings: 0.496,
  neighbors: 0.114,
  anywhere: 0.983,
  topic: 0.793,
  answer: 0.942,
  headingRecall: 0.863,
  answerType: 0.866,
  isFirstOfPassage: 0.412,
  isFirstOfBlock: 1.042,
  isItem: 0.013,
  closestInAnswer: 0.923,
  passage: 0.449,
  passageShare: 1.266,
  meaning: 0.74,
  meaningOfHeadings: 0.624,
  meaningOfPassage: 0.602,
  closest: 0.723,
  closestInHeadings: 0.567,
  closestInPassage: 0.69,
};

export const CONFIDENCE_WEIGHTS: Weights<ConfidenceFeatures> = {
  constant: -5.416,
  passageProbability: 0.6,
  passage: 2.822,
  passageMargin: 1.327,
  headingRecall: 1.768,
  topic: 0.811,
  meaning: 1.017,
  meaningOfPassage: 1.104,
  closestInAnswer: 1.219,
  closestInPassage: 0.681,
  matchedWeight: 1.279,
  isOneWord: 0.417,
  unknownWords: -0.358,
  isFollowUp: 0.697,
};
