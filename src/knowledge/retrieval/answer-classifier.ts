import { allTokens } from "../../text/terms.ts";
import { FeatureIndex } from "./feature-index.ts";
import { synonymGroups } from "./synonyms.ts";

/*
 * A text classifier whose classes are the curated answers and whose training data are their questions. It adds two textbook
 * measures: the cosine of the query and the sum of the answer's questions (a Rocchio classifier with tf-idf weights), and
 * naive Bayes smoothed with a background, as a share of the most that the query could reach.
 *
 * Simpler ones are worse. Accuracy@1 and @3 on Banking77 (77 answers with ten questions each, 616 queries): this 0.805 and
 * 0.920; BM25 over all questions of an answer 0.789 and 0.909; cosine alone 0.737 and 0.906; naive Bayes alone 0.711 and
 * 0.877; the single nearest question 0.687 and 0.875; this without word pairs 0.783 and 0.917, without synonyms 0.768 and 0.912.
 */

/** The features of a question with their weights, 0..1. */
export type Features = ReadonlyMap<string, number>;

/** Function words are features too: "why" or "not" alone may tell two short questions apart. */
const KIND_WEIGHTS = { content: 1, weak: 1, stop: 0.6 } as const;
/** A compound's part beside the whole. */
const PART_WEIGHT = 0.5;
/** Two words together, in either order: "card stolen" says more than "card" and "stolen" apart. */
const PAIR_WEIGHT = 0.5;
/** The most positions between the words of a pair. */
const MAX_PAIR_DISTANCE = 5;
const PAIR_SEPARATOR = "~";
/** The words of a question that count, which is more than questions have: a longer one tells no more. */
const MAX_WORDS = 64;
const MAX_LENGTH = 800;

/**
 * The features of a question: its terms, their synonym groups, and pairs of its words (by synonym group, where a word has
 * one). `correct` may replace a term by its corrected spelling.
 */
export function questionFeatures(question: string, correct: (term: string) => string = (term) => term): Map<string, number> {
  const features = new Map<string, number>();
  const add = (feature: string, weight: number): void => {
    features.set(feature, Math.max(features.get(feature) ?? 0, weight));
  };
  const words: string[] = [];
  for (const token of allTokens(question.slice(0, MAX_LENGTH)).slice(0, MAX_WORDS)) {
    const term = correct(token.term);
    const groups = synonymGroups(isStopWord(term) ? term.slice(1) : term);
    add(term, KIND_WEIGHTS[token.kind]);
    for (const part of token.parts) add(part, PART_WEIGHT);
    for (const group of groups) add(group, 1);
    if (token.kind !== "stop") words.push(groups[0] ?? term);
  }
  for (const pair of pairsOf(words)) add(pair, PAIR_WEIGHT);
  return features;
}

function* pairsOf(words: readonly string[]): Generator<string> {
  for (const [at, left] of words.entries()) {
    for (const right of words.slice(at + 1, at + 1 + MAX_PAIR_DISTANCE)) {
      if (left !== right) yield left < right ? left + PAIR_SEPARATOR + right : right + PAIR_SEPARATOR + left;
    }
  }
}

/** The terms of stop words start with this character. */
function isStopWord(feature: string): boolean {
  return feature.startsWith("_");
}

/** One answer, which several curated questions may share. */
interface AnswerClass {
  key: string;
  /** Its number in the index of features. */
  owner: number;
  /** Row ids of its questions. */
  questions: Set<number>;
}

export interface RankedAnswer {
  questions: ReadonlySet<number>;
  /** At most about 2; near 0 where the query is equally close to every answer. */
  score: number;
}

/** Naive Bayes counts so many extra questions for each answer, with the features of all: a missing one rules no answer out. */
const BACKGROUND_QUESTIONS = 1;
/** Long answers are told apart by their beginning and length. */
const KEY_LENGTH = 512;

/** Words that a misspelt one is compared with, and how full the index may be for pairs: single words need the rest. */
const MAX_SPELLED_TERMS = 50_000;
const MAX_LOAD_FOR_PAIRS = 0.5;

/** Held in memory, which is bounded. It is built from all questions in a second at most, and updated with each change. */
export class AnswerClassifier {
  private readonly classes = new Map<string, AnswerClass>();
  /** The same by their numbers. */
  private readonly owners: (AnswerClass | undefined)[] = [];
  private readonly freeOwners: number[] = [];
  private readonly features = new FeatureIndex();
  /** The single words, and in how many questions they are. */
  private readonly terms = new Map<string, number>();
  private norms: Float64Array | undefined;
  private questions = 0;

  get size(): number {
    return this.questions;
  }

  frequencyOf(feature: string): number {
    return this.features.frequencyOf(feature);
  }

  /** The terms with a prefix, and in how many questions they are. */
  termsWithPrefix(prefix: string): Map<string, number> {
    return new Map([...this.terms].filter(([term]) => term.startsWith(prefix)));
  }

  add(row: number, answer: string, features: Features): void {
    const own = this.classes.get(keyOf(answer)) ?? this.newClass(keyOf(answer));
    own.questions.add(row);
    for (const [feature, weight] of features) {
      const isPair = feature.includes(PAIR_SEPARATOR);
      if (isPair && this.features.load > MAX_LOAD_FOR_PAIRS) continue;
      if (this.features.add(feature, own.owner, weight) && !isPair) this.spell(feature);
    }
    this.questions++;
    this.norms = undefined;
  }

  remove(row: number, answer: string, features: Features): void {
    const own = this.classes.get(keyOf(answer));
    if (!own?.questions.delete(row)) return;
    for (const [feature, weight] of features) {
      const isGone = this.features.remove(feature, own.owner, weight) && this.frequencyOf(feature) === 0;
      if (isGone) this.terms.delete(feature);
      else if (this.terms.has(feature)) this.terms.set(feature, this.frequencyOf(feature));
    }
    this.questions--;
    this.norms = undefined;
    if (own.questions.size > 0) return;
    this.classes.delete(own.key);
    this.owners[own.owner] = undefined;
    this.freeOwners.push(own.owner);
  }

  /**
   * The answers that share a feature with the query, best first. Stop words alone count only if it has nothing else.
   * @param only row ids of the questions to rank by; all, where it is undefined.
   */
  rank(query: Features, limit: number, only?: ReadonlySet<number>): RankedAnswer[] {
    const onlyStopWords = [...query.keys()].every(isStopWord);
    const candidates = new Set<number>();
    const dotProducts = new Float64Array(this.owners.length);
    const logLikelihoods = new Float64Array(this.owners.length);
    let squaredNorm = 0;
    let maxLogLikelihood = 0;
    let knownWeight = 0;
    for (const [feature, weight] of query) {
      const frequency = this.frequencyOf(feature);
      maxLogLikelihood += weight * Math.log((this.questions + 1) / (frequency + 0.5));
      if (frequency === 0) continue;
      const holders = this.features.holdersOf(feature);
      const background = frequency / this.questions;
      const idf = this.idf(holders.length);
      squaredNorm += (weight * idf) ** 2;
      knownWeight += weight;
      for (const { owner, count, weight: sum } of holders) {
        if (onlyStopWords || !isStopWord(feature)) candidates.add(owner);
        dotProducts[owner]! += weight * idf * idf * sum;
        // Relative to an answer without the feature, so that only those with it have to be visited.
        logLikelihoods[owner]! += weight * Math.log(1 + count / (BACKGROUND_QUESTIONS * background));
      }
    }
    const norms = (this.norms ??= this.computeNorms());
    const ranked = [...candidates].map((owner) => {
      const { questions } = this.owners[owner]!;
      const cosine = dotProducts[owner]! / Math.sqrt(squaredNorm) / norms[owner]!;
      const withoutFeatures = knownWeight * Math.log(BACKGROUND_QUESTIONS / (questions.size + BACKGROUND_QUESTIONS));
      const logPrior = Math.log(questions.size);
      const bayes = (logPrior + logLikelihoods[owner]! + withoutFeatures) / maxLogLikelihood;
      return { questions, score: cosine + bayes };
    });
    const sorted = ranked.sort((a, b) => b.score - a.score);
    if (!only) return sorted.slice(0, limit);
    const wanted = sorted.map(({ questions, score }) => ({ questions: new Set([...questions].filter((row) => only.has(row))), score }));
    return wanted.filter(({ questions }) => questions.size > 0).slice(0, limit);
  }

  private newClass(key: string): AnswerClass {
    const own = { key, owner: this.freeOwners.pop() ?? this.owners.length, questions: new Set<number>() };
    this.classes.set(key, own);
    this.owners[own.owner] = own;
    return own;
  }

  private spell(term: string): void {
    if (this.terms.has(term) || this.terms.size < MAX_SPELLED_TERMS) this.terms.set(term, this.frequencyOf(term));
  }

  /** By answers, not by questions: a feature of all questions of one answer is characteristic of it. */
  private idf(holders: number): number {
    return Math.log(1 + this.classes.size / holders);
  }

  private computeNorms(): Float64Array {
    const norms = new Float64Array(this.owners.length);
    for (const holders of this.features.all()) {
      const idf = this.idf(holders.length);
      for (const { owner, weight } of holders) norms[owner]! += (weight * idf) ** 2;
    }
    return norms.map(Math.sqrt);
  }
}

function keyOf(answer: string): string {
  return `${answer.length}:${answer.slice(0, KEY_LENGTH)}`;
}
