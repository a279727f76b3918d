import { hasPhrase, phraseWords } from "../text/phrases.ts";
import { LEXICAL_FIT } from "./lexical-fit.ts";
import { READ_FIT } from "./read-fit.ts";
import { SEMANTIC_FIT } from "./semantic-fit.ts";
import { answerSegments } from "./compose.ts";
import { answerTypeOf, type AnswerType, hasAnswerType } from "./answer-type.ts";
import { isUnknown, QueryMatcher } from "./query-matcher.ts";
import type { Excerpt, Reading } from "../models/encoder/answer-reader.ts";
import type { Passage, QueryTerm, Retrieval } from "../models/retrieval.ts";
import {
  headingAbove,
  isQuestion,
  leadInOf,
  MAX_PASSAGES_READ,
  type ReadPassage,
  readPassage,
  type Segment,
  termMatch,
} from "./segments.ts";

/*
 * Finds the segment of the passages that answers a question, and the probability that it does: a linear model ranks the segments, the
 * service's reader chooses among the best of them, and a logistic model judges the chosen one. `npm run fit:answers` fits these models,
 * once with the similarities of the encoder (semantic-fit.ts), once without them (lexical-fit.ts), and the last one also with the reader
 * (read-fit.ts). Their features are shares, ranks and margins, so that they mean the same in small and large knowledge and in any trade.
 */

/** The features of a segment by which candidates are ranked. Each is about 0..1. */
interface SegmentFeatures {
  /** The share of the query, by weight, that is in the segment itself. */
  own: number;
  /** In a follow-up, the share of the question's own terms, without those of earlier questions, that is in the segment. */
  ownInFollowUp: number;
  /** The share of the query in its headings. */
  headings: number;
  /** The share of the query in the sentences next to it and in its list's lead-in. */
  neighbors: number;
  /** The share of the query in the segment, its headings, the title or its neighbours, which count half. */
  anywhere: number;
  /** The share of the query in its first terms, which mostly name its topic. */
  topic: number;
  /** The share of the query in the answer that would be composed from it. */
  answer: number;
  /** The share of its headings' terms that are in the query. */
  headingRecall: number;
  /** Whether it has the type of answer that the question asks for. */
  answerType: number;
  isFirstOfPassage: number;
  isFirstOfBlock: number;
  isItem: number;
  /** The score of its passage. */
  passage: number;
  /** That score as a share of the best passage's. */
  passageShare: number;
  /** How close the segment, its headings and its passage are to the query in meaning: the cosine of the mean word vectors. */
  meaning: number;
  meaningOfHeadings: number;
  meaningOfPassage: number;
  /** How close the words of the segment, its answer, its headings and its passage are to the query's content words (`closeness`). */
  closest: number;
  closestInAnswer: number;
  closestInHeadings: number;
  closestInPassage: number;
  /** How close the segment, its answer and its passage are to the question by the service's encoder; 0 without it. */
  similarity: number;
  similarityOfAnswer: number;
  similarityOfPassage: number;
  /** The similarity as a share of that of the most similar segment of all passages. */
  similarityShare: number;
}

/** The features from which the probability that the best candidate is right is computed. */
export interface ConfidenceFeatures {
  constant: 1;
  /** The probability of its passage among all, by their segments' scores (softmax). */
  passageProbability: number;
  passage: number;
  /** How far the best passage is ahead of the mean of the others. */
  passageMargin: number;
  headingRecall: number;
  topic: number;
  meaning: number;
  meaningOfPassage: number;
  closestInAnswer: number;
  isFirstOfPassage: number;
  /** The weight of the content words in its answer, headings and title, capped at that of two rare words. */
  matchedWeight: number;
  isOneWord: number;
  /** The rarity of the rarest word that the question is about and the knowledge lacks: "Costs" does not answer "the price of a kettle". */
  unknownWord: number;
  isFollowUp: number;
  similarity: number;
  similarityOfPassage: number;
  /**
   * How much nearer its passage comes to the question when a term that the passage lacks is left out: the largest gain of all such terms.
   * Without the dog, "Can I bring a dog?" is nearer to "You can bring a friend.", so the question is about something else.
   */
  nearerWithoutMissing: number;
}

/** The features of a candidate that the reader has chosen. */
export interface ReadFeatures extends ConfidenceFeatures {
  /** The log-odds that one of the segments that were read answers the question. */
  readingOdds: number;
  /** The share of the best one in the probability of all segments that were read. */
  readingShare: number;
}

/** The weights of the ranking, and of the confidence of what the reader has not read. */
export interface Fit {
  answer: Weights<SegmentFeatures>;
  confidence: Weights<ConfidenceFeatures>;
}

export type Weights<Features> = Readonly<Record<keyof Features, number>>;

/** A segment that may be the answer. */
interface Candidate {
  passage: Passage;
  /** All segments of the passage; `at` is the index of this one. */
  segments: readonly Segment[];
  at: number;
  features: SegmentFeatures;
}

/** The candidates of a question, with the passages that were read for it. */
export interface Candidates {
  candidates: Candidate[];
  query: QueryMatcher;
  isFollowUp: boolean;
  passages: readonly Passage[];
  /** Whether the passages were found by the service's encoder too, so that their similarities are known. */
  isSemantic: boolean;
}

/** Candidates with the scores of the linear model, and what the reader said of the best ones. */
export interface RankedCandidates extends Candidates {
  scores: readonly number[];
  reading: Reading | undefined;
}

/** The best segment and the probability, 0..1, that it answers the question. */
export interface BestCandidate {
  best: Candidate;
  confidence: number;
}

/** A sentence names its topic among its first terms. */
const TOPIC_TERMS = 4;
/** A neighbour's words may be about something else. */
const NEIGHBOR_FACTOR = 0.5;
/** A sentence that only says where to read on is hardly an answer. */
const POINTER =
  /^(?:for (?:more|further|additional|detailed) (?:information|info|details|instructions|help)\b|for [^.,:]{1,60}, (?:see|refer to|read)\b|(?:also )?(?:see|refer to|read|learn more|find out more)\b)/i;

/** Returns the segments of the best passages that may answer a question, with their features. */
export function candidatesOf(question: string, retrieval: Retrieval): Candidates {
  const { passages, questionTerms, previousTerms, previousQuestion, language } = retrieval;
  const isFollowUp = previousQuestion !== null;
  // The terms of the previous question help to find passages, but a complete question is answered without them.
  const query = new QueryMatcher(question, questionTerms, isFollowUp ? previousTerms : [], language);
  const ownType = answerTypeOf(question);
  // A follow-up such as "And by bus?" asks for the type of the previous question.
  const type = ownType === "any" && previousQuestion !== null ? answerTypeOf(previousQuestion) : ownType;
  const isSemantic = passages.some(({ similarities }) => similarities !== null);
  // For "And what is the capital of France?", the words of the previous question would only find its answer again.
  if (!isSemantic && isFollowUp && namesOnlyUnknown(questionTerms)) return { candidates: [], query, isFollowUp, passages: [], isSemantic };
  const top = {
    score: Math.max(...passages.map(({ score }) => score)) || 1,
    similarity: Math.max(...passages.map(topSimilarity)) || 1,
  };
  const all: Passage[] = [];
  const candidates: Candidate[] = [];
  for (const passage of passages.slice(0, MAX_PASSAGES_READ)) {
    const { segments } = readPassage(passage);
    // A code example with the question itself, such as the body of a request, makes its passage look like an answer.
    if (segments.some((segment) => isExampleOf(segment, question))) continue;
    const context = new PassageContext(query, passage, top);
    all.push(passage);
    for (const [at, segment] of segments.entries()) {
      if (segment.kind === "heading" || isQuestion(segment.text) || POINTER.test(segment.text)) continue;
      candidates.push({ passage, segments, at, features: context.featuresOf(at, type) });
    }
  }
  return { candidates, query, isFollowUp, passages: all, isSemantic };
}

/** The similarity of a passage's most similar segment. */
function topSimilarity({ similarities }: Passage): number {
  return spread(Math.max(0, ...(similarities ?? [])));
}

/** The cosines of unrelated texts, and of a question and its answer. Between them, a similarity is spread over 0..1 like other features. */
const [UNRELATED_SIMILARITY, ANSWER_SIMILARITY] = [0.2, 0.6];

function spread(cosine: number): number {
  return Math.max(0, (cosine - UNRELATED_SIMILARITY) / (ANSWER_SIMILARITY - UNRELATED_SIMILARITY));
}

function namesOnlyUnknown(questionTerms: readonly QueryTerm[]): boolean {
  const content = questionTerms.filter(({ isWeak }) => !isWeak);
  // A single word may be another form of a known one, such as "yearly" of "a year".
  return content.length > 1 && content.every(isUnknown);
}

/** Returns the scores of candidates, higher for better ones. Their differences are log-odds. */
export function scoresOf({ candidates, isSemantic }: Candidates): number[] {
  const weights = isSemantic ? SEMANTIC_FIT.answer : LEXICAL_FIT.answer;
  return candidates.map(({ features }) => weightedSum(weights, features));
}

/** Returns candidates as the reader reads them. */
export function excerptsOf({ candidates, passages }: Candidates, scores: readonly number[]): Excerpt[] {
  return candidates.map(({ passage, segments, at }, index) => ({
    passage: passages.indexOf(passage),
    at,
    heading: headingAbove(passage, segments, at),
    leadIn: segments[leadInOf(segments, at) ?? -1]?.text ?? "",
    text: segments[at]!.text,
    score: scores[index]!,
  }));
}

/** Returns the most probable answer; undefined if there is no candidate. */
export function bestCandidate(found: RankedCandidates): BestCandidate | undefined {
  const features = confidenceFeatures(found);
  if (features === undefined) return undefined;
  const { confidence } = found.isSemantic ? SEMANTIC_FIT : LEXICAL_FIT;
  const logOdds = "readingOdds" in features ? weightedSum(READ_FIT, features) : weightedSum(confidence, features);
  return { best: found.candidates[indexOfBest(found)]!, confidence: 1 / (1 + Math.exp(-logOdds)) };
}

/** Returns the index of the best candidate: the reader's choice, or without a reader the one with the best score. */
export function indexOfBest({ scores, reading }: RankedCandidates): number {
  return indexOfMax(reading ? scores.map((_, index) => reading.excerpts.get(index) ?? Number.NEGATIVE_INFINITY) : scores);
}

function weightedSum<Features extends object>(weights: Weights<Features>, features: Features): number {
  let sum = 0;
  for (const name of Object.keys(weights) as (keyof Features)[]) sum += weights[name] * (features[name] as number);
  return sum;
}

type HeadingFeatures = Pick<SegmentFeatures, "headings" | "headingRecall" | "meaningOfHeadings" | "closestInHeadings">;

/** A passage and its comparison with a query, which is made once for all of its segments. */
class PassageContext {
  private readonly read: ReadPassage;
  private readonly ofHeadings = new Map<ReadonlySet<string>, HeadingFeatures>();
  private readonly passageShare: number;
  private readonly meaning: number;
  private readonly closest: number;
  private readonly similarity: number;

  constructor(
    private readonly query: QueryMatcher,
    private readonly passage: Passage,
    private readonly top: { score: number; similarity: number },
  ) {
    this.read = readPassage(passage);
    this.passageShare = passage.score / top.score;
    this.similarity = topSimilarity(passage);
    this.meaning = query.meaning(this.read.terms);
    this.closest = query.closeness(this.read.terms);
  }

  /** The features of the segment at an index, for a question that asks for a type of answer. */
  featuresOf(at: number, type: AnswerType): SegmentFeatures {
    const { query } = this;
    const { segments, titleTerms } = this.read;
    const segment = segments[at]!;
    const { headingTerms, neighborTerms } = segment;
    const answer = answerSegments(segments, at);
    const answerTerms = termsOf(segments, answer);
    const similarities = this.passage.similarities ?? [];
    const similarity = spread(similarities[at] ?? 0);
    const firstTerms = new Set(query.contentOf(segment.terms).slice(0, TOPIC_TERMS));
    const own = (term: QueryTerm): number => termMatch(segment.terms, term);
    const heading = (term: QueryTerm): number => termMatch(headingTerms, term);
    const nearby = (term: QueryTerm): number => termMatch(neighborTerms, term);
    const inTitle = (term: QueryTerm): number => termMatch(titleTerms, term);
    return {
      own: query.share(own),
      ownInFollowUp: query.ownShareInFollowUp(own),
      ...this.headingFeatures(headingTerms),
      neighbors: query.share(nearby),
      anywhere: query.share((term) => Math.max(own(term), heading(term), inTitle(term), NEIGHBOR_FACTOR * nearby(term))),
      topic: query.share((term) => termMatch(firstTerms, term)),
      answer: query.share((term) => termMatch(answerTerms, term)),
      answerType: hasAnswerType(type, segment.text) ? 1 : 0,
      isFirstOfPassage: at <= 1 && segment.block <= 1 ? 1 : 0,
      isFirstOfBlock: segments[at - 1]?.block === segment.block ? 0 : 1,
      isItem: segment.kind === "item" ? 1 : 0,
      closestInAnswer: query.closeness(answerTerms),
      passage: this.passage.score,
      passageShare: this.passageShare,
      meaning: query.meaning(segment.terms),
      meaningOfPassage: this.meaning,
      closest: query.closeness(segment.terms),
      closestInPassage: this.closest,
      similarity,
      similarityOfAnswer: spread(Math.max(...answer.map((index) => similarities[index] ?? 0))),
      similarityOfPassage: this.similarity,
      similarityShare: similarity / this.top.similarity,
    };
  }

  private headingFeatures(headingTerms: ReadonlySet<string>): HeadingFeatures {
    const known = this.ofHeadings.get(headingTerms);
    if (known) return known;
    const { query } = this;
    const content = query.contentOf(headingTerms);
    const features = {
      headings: query.share((term) => termMatch(headingTerms, term)),
      headingRecall: content.length === 0 ? 0 : content.filter((term) => query.allTerms.has(term)).length / content.length,
      meaningOfHeadings: query.meaning(headingTerms),
      closestInHeadings: query.closeness(headingTerms),
    };
    this.ofHeadings.set(headingTerms, features);
    return features;
  }
}

function termsOf(segments: readonly Segment[], indexes: readonly number[]): Set<string> {
  return new Set(indexes.flatMap((index) => [...segments[index]!.terms]));
}

/** A shorter question, such as "npm install", may be about the code. */
const MIN_EXAMPLE_WORDS = 4;

/** Whether a code example contains the question itself. */
function isExampleOf({ kind, text }: Segment, question: string): boolean {
  return kind === "code" && phraseWords(question).length >= MIN_EXAMPLE_WORDS && hasPhrase(text, [question]);
}

/** The weight of two rare words, which no passage contains by chance. */
const FULL_WEIGHT = 2;

/** Returns the confidence features of the best candidate; undefined if there is none. */
export function confidenceFeatures(found: RankedCandidates): ConfidenceFeatures | ReadFeatures | undefined {
  const { candidates, query, isFollowUp, passages, scores, reading } = found;
  const best = candidates[indexOfBest(found)];
  if (best === undefined) return undefined;
  const probabilities = softmax(scores);
  const others = passages.slice(1).reduce((sum, { score }) => sum + score, 0) / (MAX_PASSAGES_READ - 1);
  const top = passages[0]!.score;
  const { passage, segments, at, features } = best;
  const { terms, titleTerms } = readPassage(passage);
  const said = new Set([...termsOf(segments, answerSegments(segments, at)), ...segments[at]!.headingTerms, ...titleTerms]);
  return {
    constant: 1,
    passageProbability: probabilities.reduce((sum, each, index) => sum + (candidates[index]!.passage === passage ? each : 0), 0),
    passage: features.passage,
    passageMargin: top === 0 ? 0 : 1 - others / top,
    headingRecall: features.headingRecall,
    topic: features.topic,
    meaning: features.meaning,
    meaningOfPassage: features.meaningOfPassage,
    closestInAnswer: features.closestInAnswer,
    isFirstOfPassage: features.isFirstOfPassage,
    matchedWeight: Math.min(1, query.matchedWeight(said) / FULL_WEIGHT),
    isOneWord: query.isOneWord ? 1 : 0,
    unknownWord: query.unknownWord(terms),
    isFollowUp: isFollowUp ? 1 : 0,
    similarity: features.similarity,
    similarityOfPassage: features.similarityOfPassage,
    nearerWithoutMissing: nearerWithout(passage, query.missingIn(terms)),
    ...(reading && readingFeatures(reading)),
  };
}

function readingFeatures({ none, excerpts }: Reading): Omit<ReadFeatures, keyof ConfidenceFeatures> {
  const logits = [...excerpts.values()];
  const most = Math.max(...logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0);
  return { readingOdds: most + Math.log(total) - none, readingShare: 1 / total };
}

/** Returns the largest gain in the similarity of a passage's nearest segment when one of these terms is left out of the question. */
function nearerWithout({ similarities, similarityWithout }: Passage, missing: readonly QueryTerm[]): number {
  const nearest = Math.max(0, ...(similarities ?? []));
  const gains = missing.map(({ term }) => (similarityWithout.get(term) ?? nearest) - nearest);
  return Math.max(0, ...gains) / (ANSWER_SIMILARITY - UNRELATED_SIMILARITY);
}

/** Converts scores to probabilities that sum to 1. */
function softmax(scores: readonly number[]): number[] {
  const max = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - max));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function indexOfMax(values: readonly number[]): number {
  return values.reduce((best, value, at) => (value > values[best]! ? at : best), 0);
}
