/*
 * Written by `npm run fit:answers`. Of questions that the fit has not seen:
 * trades: right first 0.838, from 0.5 on answered rightly 0.664, wrongly 0.065, unanswerable answered 0.126, from 0.55 on answered rightly 0.640, wrongly 0.060, unanswerable answered 0.100, from 0.6 on answered rightly 0.602, wrongly 0.049, unanswerable answered 0.079, AUROC answerable 0.876, refused at 90 % 0.637, calibration error 0.086
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.771, wrongly 0.012, unanswerable answered 0.091, from 0.55 on answered rightly 0.735, wrongly 0.000, unanswerable answered 0.045, from 0.6 on answered rightly 0.711, wrongly 0.000, unanswerable answered 0.045, AUROC answerable 0.915, refused at 90 % 0.773, calibration error 0.149
 * MTRAG-UN, IBM Cloud documentation: right first 0.919, from 0.5 on answered rightly 0.849, wrongly 0.035, unanswerable answered 0.139, from 0.55 on answered rightly 0.837, wrongly 0.035, unanswerable answered 0.139, from 0.6 on answered rightly 0.826, wrongly 0.035, unanswerable answered 0.083, AUROC answerable 0.895, refused at 90 % 0.750, calibration error 0.119
 */
import type { Fit } from "./ranking.ts";

export const SEMANTIC_FIT: Fit = {
  answer: {
    own: 0.594,
    ownInFollowUp: 0.403,
    headings: 0.103,
    headingRecall: 0.579,
    meaningOfHeadings: -0.109,
    closestInHeadings: 0.1,
    neighbors: -0.084,
    anywhere: 0.67,
    topic: 0.702,
    answer: 0.733,
    answerType: 0.946,
    isFirstOfPassage: 0.229,
    isFirstOfBlock: 0.469,
    isItem: -0.457,
    closestInAnswer: 0.671,
    passage: 0.487,
    passageShare: 1.034,
    meaning: 0.439,
    meaningOfPassage: 0.383,
    closest: 0.507,
    closestInPassage: 0.667,
    similarity: 1.363,
    similarityOfAnswer: 1.346,
    similarityOfPassage: 0.881,
    similarityShare: 2.015,
  },
  confidence: {
    constant: -3.84,
    passageProbability: 0.969,
    passage: 1.531,
    passageMargin: 3.224,
    headingRecall: 0.115,
    topic: 0.251,
    meaning: 0,
    meaningOfPassage: 0.398,
    closestInAnswer: 0,
    isFirstOfPassage: 0.037,
    matchedWeight: 1.438,
    isOneWord: 0.58,
    unknownWord: -1.142,
    isFollowUp: -0.096,
    similarity: 0.962,
    similarityOfPassage: 0.508,
    nearerWithoutMissing: -14.105,
  },
};
