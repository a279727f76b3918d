/*
 * Written by `npm run fit:answers`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
 * trades: right first 0.836, from 0.5 on answered rightly 0.658, wrongly 0.069, unanswerable answered 0.126, from 0.55 on answered rightly 0.636, wrongly 0.064, unanswerable answered 0.095, from 0.6 on answered rightly 0.598, wrongly 0.051, unanswerable answered 0.068, AUROC answerable 0.876, refused at 90 % 0.626, calibration error 0.087
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.747, wrongly 0.000, unanswerable answered 0.091, from 0.55 on answered rightly 0.723, wrongly 0.000, unanswerable answered 0.045, from 0.6 on answered rightly 0.699, wrongly 0.000, unanswerable answered 0.045, AUROC answerable 0.912, refused at 90 % 0.773, calibration error 0.162
 * MTRAG-UN, IBM Cloud documentation: right first 0.919, from 0.5 on answered rightly 0.849, wrongly 0.047, unanswerable answered 0.139, from 0.55 on answered rightly 0.837, wrongly 0.047, unanswerable answered 0.139, from 0.6 on answered rightly 0.814, wrongly 0.047, unanswerable answered 0.083, AUROC answerable 0.897, refused at 90 % 0.750, calibration error 0.101
 */
import type { Fit } from "./ranking.ts";

export const SEMANTIC_FIT: Fit = {
  answer: {
    own: 0.592,
    ownInFollowUp: 0.389,
    headings: 0.096,
    headingRecall: 0.543,
    meaningOfHeadings: -0.119,
    closestInHeadings: 0.122,
    neighbors: -0.14,
    anywhere: 0.674,
    topic: 0.639,
    answer: 0.76,
    answerType: 0.942,
    isFirstOfPassage: 0.217,
    isFirstOfBlock: 0.446,
    isItem: -0.455,
    closestInAnswer: 0.692,
    passage: 0.486,
    passageShare: 1.036,
    meaning: 0.436,
    meaningOfPassage: 0.377,
    closest: 0.53,
    closestInPassage: 0.68,
    similarity: 1.353,
    similarityOfAnswer: 1.337,
    similarityOfPassage: 0.866,
    similarityShare: 2.007,
  },
  confidence: {
    constant: -3.86,
    passageProbability: 0.998,
    passage: 1.695,
    passageMargin: 3.114,
    headingRecall: 0.129,
    topic: 0.178,
    meaning: 0,
    meaningOfPassage: 0.383,
    closestInAnswer: 0,
    isFirstOfPassage: 0.012,
    matchedWeight: 1.387,
    isOneWord: 0.608,
    unknownWord: -1.147,
    isFollowUp: -0.127,
    similarity: 0.937,
    similarityOfPassage: 0.504,
    nearerWithoutMissing: -13.274,
  },
};
