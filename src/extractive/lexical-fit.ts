/*
 * Written by `npm run fit:answers -- --lexical`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
 * trades: right first 0.792, from 0.5 on answered rightly 0.657, wrongly 0.093, unanswerable answered 0.096, from 0.55 on answered rightly 0.606, wrongly 0.085, unanswerable answered 0.080, from 0.6 on answered rightly 0.589, wrongly 0.076, unanswerable answered 0.072, AUROC answerable 0.896, refused at 90 % 0.648, calibration error 0.040
 * MTRAG-UN, IBM Cloud documentation: right first 0.872, from 0.5 on answered rightly 0.791, wrongly 0.081, unanswerable answered 0.194, from 0.55 on answered rightly 0.767, wrongly 0.058, unanswerable answered 0.167, from 0.6 on answered rightly 0.721, wrongly 0.058, unanswerable answered 0.083, AUROC answerable 0.890, refused at 90 % 0.750, calibration error 0.089
 * MTRAG-UN, CLAPNQ (encyclopaedia): right first 0.892, from 0.5 on answered rightly 0.759, wrongly 0.024, unanswerable answered 0.227, from 0.55 on answered rightly 0.735, wrongly 0.024, unanswerable answered 0.182, from 0.6 on answered rightly 0.699, wrongly 0.024, unanswerable answered 0.136, AUROC answerable 0.853, refused at 90 % 0.455, calibration error 0.079
 */
import type { Fit } from "./ranking.ts";

export const LEXICAL_FIT: Fit = {
  answer: {
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
    similarity: 0,
    similarityOfAnswer: 0,
    similarityOfPassage: 0,
    similarityShare: 0,
  },
  confidence: {
    constant: -4.937,
    passageProbability: 0.798,
    passage: 3.063,
    passageMargin: 0.948,
    headingRecall: 1.29,
    topic: 0.828,
    meaning: 0.508,
    meaningOfPassage: 1.023,
    closestInAnswer: 0.836,
    isFirstOfPassage: 0.832,
    matchedWeight: 2.1,
    isOneWord: 0.569,
    unknownWord: -1.616,
    isFollowUp: 0.685,
    similarity: 0,
    similarityOfPassage: 0,
    nearerWithoutMissing: 0,
  },
};
