import type { CuratedMatch } from "../../models/retrieval.ts";
import { allTokens } from "../../text/terms.ts";
import type { CuratedAnswer, IndexStore, StoredAnswer } from "../indexing/store.ts";
import { AnswerClassifier, questionFeatures, type RankedAnswer } from "./answer-classifier.ts";
import { correctSpelling, MAX_CORRECTIONS, normalizedIdf, type Vocabulary } from "./query.ts";

/** A match with at least this score is strong: its answer is given word for word. */
export const STRONG_MATCH = 0.7;

/** The answers whose questions are compared with the query one by one. */
const MAX_ANSWERS_COMPARED = 5;
/** The questions of one answer that are compared, the newest first. */
const MAX_QUESTIONS_COMPARED = 20;
/** From this score on it is the same question but for a stop word, and is ranked before what the classifier prefers. */
const SAME_QUESTION = 0.95;

/**
 * The curated answers of one agent, and the search of them in two stages: the classifier ranks the answers by all their
 * questions together, then each answer's most similar question gives its score.
 */
export class CuratedAnswers {
  /** Built by the first search: writing many answers does not need it. */
  private classifier: AnswerClassifier | undefined;

  constructor(private readonly store: IndexStore) {}

  /** Creates an answer, or replaces the one with the same id unless that is newer. */
  put(answer: CuratedAnswer): void {
    const old = this.find(answer.id);
    const row = this.store.write(() => this.store.putAnswer(answer));
    if (row === undefined) return;
    if (old) this.classifier?.remove(old.id, old.answer, questionFeatures(old.question));
    this.classifier?.add(row, answer.answer, questionFeatures(answer.question));
  }

  remove(id: string): void {
    const old = this.find(id);
    if (!old) return;
    this.store.write(() => this.store.deleteAnswer(id));
    this.classifier?.remove(old.id, old.answer, questionFeatures(old.question));
  }

  /** Drops what is held in memory. */
  forget(): void {
    this.classifier = undefined;
  }

  /**
   * The answers whose questions are similar to this one, best first: each once, with its most similar question.
   * @param only the ids of the questions to compare with; all, where it is undefined.
   */
  search(question: string, limit: number, only?: readonly string[]): CuratedMatch[] {
    if (this.store.size.answers === 0) return [];
    const rows = only && this.store.rowsOfAnswers(only);
    const classifier = (this.classifier ??= this.buildClassifier());
    const correct = spellingCorrector(classifier);
    const ranked = classifier.rank(questionFeatures(question, correct), Math.min(limit, MAX_ANSWERS_COMPARED), rows);
    const matches = this.mostSimilarQuestions(ranked, termWeights(question, correct), classifier);
    const sameScore = ({ score }: CuratedMatch): number => (score >= SAME_QUESTION ? score : 0);
    return matches.sort((a, b) => sameScore(b) - sameScore(a));
  }

  private find(id: string): StoredAnswer | undefined {
    return this.store.isEmpty ? undefined : this.store.findAnswer(id);
  }

  private buildClassifier(): AnswerClassifier {
    const classifier = new AnswerClassifier();
    for (const { id, question, answer } of this.store.listAnswers()) classifier.add(id, answer, questionFeatures(question));
    return classifier;
  }

  private mostSimilarQuestions(ranked: readonly RankedAnswer[], query: TermWeights, classifier: AnswerClassifier): CuratedMatch[] {
    const idf = (term: string): number => normalizedIdf(classifier.frequencyOf(term), classifier.size) ** IDF_POWER;
    const compared = ranked.map(({ questions }) => [...questions].slice(-MAX_QUESTIONS_COMPARED));
    const rows = new Map(this.store.readAnswers(compared.flat()).map((row) => [row.id, row]));
    return compared.map((ids): CuratedMatch => {
      const matches = ids.map((id): CuratedMatch => {
        const { answerId, question, answer } = rows.get(id)!;
        return { answerId, question, answer, score: diceCoefficient(query, termWeights(question), idf) };
      });
      return matches.reduce((best, match) => (match.score > best.score ? match : best));
    });
  }
}

// --- Similarity of two questions ---

type TermWeights = ReadonlyMap<string, number>;

/** A differing stop word still makes it nearly the same question. */
const KIND_WEIGHTS = { content: 1, weak: 0.6, stop: 0.2 } as const;
/** A compound's part beside the whole. */
const PART_WEIGHT = 0.5;
/** Dampens the idf: in short questions one rare word would outweigh all others. */
const IDF_POWER = 0.7;

function termWeights(question: string, correct: (term: string) => string = (term) => term): Map<string, number> {
  const weights = new Map<string, number>();
  for (const { term, parts, kind } of allTokens(question)) {
    weights.set(correct(term), KIND_WEIGHTS[kind]);
    for (const part of parts) weights.set(part, weights.get(part) ?? PART_WEIGHT);
  }
  return weights;
}

/** The share of both questions' weighted terms that they have in common, 0..1: 1 only if neither has any other. */
function diceCoefficient(a: TermWeights, b: TermWeights, idf: (term: string) => number): number {
  let common = 0;
  let total = 0;
  for (const [term, weight] of a) {
    const termIdf = idf(term);
    total += weight * termIdf;
    if (b.has(term)) common += (weight + b.get(term)!) * termIdf;
  }
  for (const [term, weight] of b) total += weight * idf(term);
  return total === 0 ? 0 : Math.min(1, common / total);
}

/** Replaces terms that no curated question has by the most similar ones that some have. */
function spellingCorrector(classifier: AnswerClassifier): (term: string) => string {
  const vocabulary: Vocabulary = {
    size: classifier.size,
    documentFrequencies: (terms) => new Map(terms.map((term) => [term, classifier.frequencyOf(term)])),
    present: (terms) => new Set(terms.filter((term) => classifier.frequencyOf(term) > 0)),
    termsWithPrefix: (prefix) => [...classifier.termsWithPrefix(prefix).keys()],
  };
  const corrections = new Map<string, string>();
  return (term) => {
    if (classifier.frequencyOf(term) > 0) return term;
    const known = corrections.get(term);
    if (known !== undefined) return known;
    const corrected = (corrections.size < MAX_CORRECTIONS && correctSpelling(term, vocabulary)?.term) || term;
    corrections.set(term, corrected);
    return corrected;
  };
}
