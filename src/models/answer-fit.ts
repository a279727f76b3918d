/*
 * Written by `npm run fit:answers`. Of questions that the fit has not seen:
 * trades: right first 0.777, from 0.5 on answered rightly 0.650, wrongly 0.121, unanswerable answered 0.150, from 0.55 on answered rightly 0.636, wrongly 0.112, unanswerable answered 0.150, from 0.6 on answered rightly 0.602, wrongly 0.102, unanswerable answered 0.133, AUROC answerable 0.867, refused at 90 % 0.650, calibration error 0.064
 * MTRAG-UN, IBM Cloud documentation: right first 0.872, from 0.5 on answered rightly 0.802, wrongly 0.093, unanswerable answered 0.278, from 0.55 on answered rightly 0.779, wrongly 0.081, unanswerable answered 0.194, from 0.6 on answered rightly 0.744, wrongly 0.070, unanswerable answered 0.167, AUROC answerable 0.901, refused at 90 % 0.722, calibration error 0.103
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.880, from 0.5 on answered rightly 0.699, wrongly 0.012, unanswerable answered 0.182, from 0.55 on answered rightly 0.675, wrongly 0.000, unanswerable answered 0.182, from 0.6 on answered rightly 0.602, wrongly 0.000, unanswerable answered 0.091, AUROC answerable 0.846, refused at 90 % 0.500, calibration error 0.173
 */
import type { ConfidenceFeatures, SegmentFeatures, Weights } from "./answer-ranking.ts";

export const ANSWER_WEIGHTS: Weights<SegmentFeatures> = {
  own: 1.113,
  ownInFollowUp: 0.335,
  headings: 0.468,
  title: 0.068,
  neighbors: 0.269,
  anywhere: 1.265,
  headingRecall: 0.886,
  rarest: 0.398,
  pairs: 0.731,
  answerType: 0.93,
  isFirstOfPassage: 0.497,
  isFirstOfBlock: 1.101,
  isItem: 0.037,
  passage: 0.524,
  passageShare: 1.461,
  meaning: 0.954,
  meaningOfHeadings: 0.595,
  meaningOfPassage: 0.692,
  closest: 0.944,
  closestInHeadings: 0.541,
  closestInPassage: 0.797,
};

export const CONFIDENCE_WEIGHTS: Weights<ConfidenceFeatures> = {
  constant: -6.3,
  score: 0.592,
  margin: -0.947,
  passageProbability: 1.631,
  own: -0.054,
  anywhere: 0.285,
  passage: 3.857,
  headingRecall: 1.177,
  answerType: 0.135,
  asksForAnything: 0.611,
  meaning: 1.507,
  meaningOfPassage: 0.592,
  closestInPassage: 2.155,
  pairs: 0.007,
  isOneWord: 0.439,
  matchedWords: -0.312,
  unknownWords: -1.124,
  wordsElsewhere: -0.291,
  isFollowUp: 0.476,
  passageMargin: 1.123,
  matchedWeight: 1.326,
  coverageOfBest: -0.721,
  coverage: -0.447,
  lowCoverage: 1.916,
};
