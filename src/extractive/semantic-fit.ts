/*
 * Written by `npm run fit:answers`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
 * trades: right first 0.835, from 0.5 on answered rightly 0.656, wrongly 0.069, unanswerable answered 0.111, from 0.55 on answered rightly 0.627, wrongly 0.064, unanswerable answered 0.105, from 0.6 on answered rightly 0.585, wrongly 0.053, unanswerable answered 0.063, AUROC answerable 0.876, refused at 90 % 0.632, calibration error 0.087
 * MTRAG-UN, IBM Cloud documentation: right first 0.919, from 0.5 on answered rightly 0.849, wrongly 0.047, unanswerable answered 0.194, from 0.55 on answered rightly 0.826, wrongly 0.035, unanswerable answered 0.111, from 0.6 on answered rightly 0.802, wrongly 0.035, unanswerable answered 0.056, AUROC answerable 0.902, refused at 90 % 0.722, calibration error 0.123
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.904, from 0.5 on answered rightly 0.711, wrongly 0.024, unanswerable answered 0.091, from 0.55 on answered rightly 0.699, wrongly 0.024, unanswerable answered 0.091, from 0.6 on answered rightly 0.687, wrongly 0.012, unanswerable answered 0.045, AUROC answerable 0.889, refused at 90 % 0.591, calibration error 0.113
 */
import type { Fit } from "./ranking.ts";

export const SEMANTIC_FIT: Fit = {
  answer: {
    own: 0.597,
    ownInFollowUp: 0.332,
    headings: 0.119,
    headingRecall: 0.572,
    meaningOfHeadings: -0.147,
    closestInHeadings: 0.141,
    neighbors: -0.112,
    anywhere: 0.693,
    topic: 0.649,
    answer: 0.779,
    answerType: 0.903,
    isFirstOfPassage: 0.239,
    isFirstOfBlock: 0.424,
    isItem: -0.493,
    closestInAnswer: 0.722,
    passage: 0.485,
    passageShare: 1.032,
    meaning: 0.443,
    meaningOfPassage: 0.377,
    closest: 0.54,
    closestInPassage: 0.681,
    similarity: 1.352,
    similarityOfAnswer: 1.342,
    similarityOfPassage: 0.864,
    similarityShare: 1.973,
  },
  confidence: {
    constant: -3.611,
    passageProbability: 0.935,
    passage: 1.142,
    passageMargin: 3.073,
    headingRecall: 0.357,
    topic: 0.341,
    meaning: 0,
    meaningOfPassage: 0.343,
    closestInAnswer: 0,
    isFirstOfPassage: 0.019,
    matchedWeight: 1.266,
    isOneWord: 0.533,
    unknownWord: -1.085,
    isFollowUp: -0.223,
    similarity: 1.174,
    similarityOfPassage: 0.359,
    nearerWithoutMissing: -14.194,
  },
};
