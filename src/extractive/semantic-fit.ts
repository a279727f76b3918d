/*
 * Written by `npm run fit:answers`. Of questions that the fit has not seen:
 * trades: right first 0.838, from 0.5 on answered rightly 0.647, wrongly 0.060, unanswerable answered 0.142, from 0.55 on answered rightly 0.618, wrongly 0.056, unanswerable answered 0.116, from 0.6 on answered rightly 0.584, wrongly 0.053, unanswerable answered 0.095, AUROC answerable 0.866, refused at 90 % 0.611, calibration error 0.091
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.795, wrongly 0.024, unanswerable answered 0.091, from 0.55 on answered rightly 0.747, wrongly 0.012, unanswerable answered 0.045, from 0.6 on answered rightly 0.699, wrongly 0.000, unanswerable answered 0.045, AUROC answerable 0.921, refused at 90 % 0.727, calibration error 0.155
 * MTRAG-UN, IBM Cloud documentation: right first 0.919, from 0.5 on answered rightly 0.849, wrongly 0.035, unanswerable answered 0.222, from 0.55 on answered rightly 0.849, wrongly 0.035, unanswerable answered 0.194, from 0.6 on answered rightly 0.802, wrongly 0.035, unanswerable answered 0.139, AUROC answerable 0.874, refused at 90 % 0.694, calibration error 0.103
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
    constant: -4.418,
    passageProbability: 0.926,
    passage: 1.377,
    passageMargin: 2.996,
    headingRecall: 0,
    topic: 0.202,
    meaning: 0,
    meaningOfPassage: 0.685,
    closestInAnswer: 0,
    isFirstOfPassage: 0.042,
    matchedWeight: 1.528,
    isOneWord: 0.869,
    unknownWord: -1.412,
    isFollowUp: -0.012,
    similarity: 1.074,
    similarityOfPassage: 0.628,
    similarityMargin: 0,
  },
};
