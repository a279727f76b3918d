import type { CuratedMatch } from "../../models/retrieval.ts";
import { DEFAULT_LANGUAGE } from "../../text/languages.ts";
import type { CuratedAnswer, IndexStore, StoredAnswer } from "../indexing/store.ts";
import { AnswerClassifier, type RankedAnswer } from "./answer-classifier.ts";
import { similarityOf, type Wording, wordingOf } from "./question-similarity.ts";
import { correctSpelling, MAX_CORRECTIONS, normalizedIdf } from "./query.ts";

/** From this score on a match is strong, and its answer is given word for word. */
export const STRONG_MATCH = 0.7;

/** The number of answers whose questions are compared with the query one by one. */
const MAX_ANSWERS_COMPARED = 5;
/** The number of questions of one answer that are compared, the newest ones. */
const MAX_QUESTIONS_COMPARED = 20;
/** From this score on a question differs at most in a stop word, and is ranked before the classifier's order. */
const NEARLY_EQUAL = 0.95;
/** The nearest questions by the encoder that are grouped by their answers. */
const NEAREST_QUESTIONS = 50;
/** The similarity that a second question of an answer is assumed to have, as a share of the first one's. */
const SECOND_SHARE = 0.85;
/** The most that the lead over the next answer adds, since in a small set every answer has a lead. */
const MAX_LEAD = 0.15;
/**
 * Scales the scores by meaning so that a strong match is one from 0.65 on. There, of the queries of HINT3's bots that have an answer
 * (all questions known), 0.66 and 0.63 get the right one and 0.07 and 0.09 a wrong one; of the others 0.13 and 0.15 get one.
 */
const MEANING_SCALE = STRONG_MATCH / 0.65;
/** The exponent that dampens the idf, since one rare word would outweigh all others in a short question. */
const IDF_POWER = 0.7;

/**
 * The curated answers of one agent, and the search of them: by meaning where the similarities of their questions are known, otherwise by
 * words in two stages, where a classifier ranks the answers by all their questions together, and each answer's most similar question
 * gives its score.
 */
export class CuratedAnswers {
  /** The classifier is built by the first search, since writing many answers does not need it. */
  private classifier: AnswerClassifier | undefined;

  constructor(private readonly store: IndexStore) {}

  /** Creates an answer, or replaces the one with the same id unless that is newer. */
  put(answer: CuratedAnswer): void {
    const old = this.find(answer.id);
    const row = this.store.write(() => this.store.putAnswer(answer));
    if (row === undefined) return;
    if (old) this.classifier?.remove(old.id, old.answer, wordingOf(old.question, DEFAULT_LANGUAGE));
    this.classifier?.add(row, answer.answer, wordingOf(answer.question, DEFAULT_LANGUAGE));
  }

  remove(id: string): void {
    const old = this.find(id);
    if (!old) return;
    this.store.write(() => this.store.deleteAnswer(id));
    this.classifier?.remove(old.id, old.answer, wordingOf(old.question, DEFAULT_LANGUAGE));
  }

  /** Drops the classifier. */
  forget(): void {
    this.classifier = undefined;
  }

  /**
   * Finds the answers whose questions are similar to this one, best first, each with its most similar question.
   * @param only the ids of the curated answers to consider; undefined means all.
   * @param similarities those of the curated questions by the encoder, by row number; undefined where it is not used.
   */
  search(question: string, limit: number, only?: readonly string[], similarities?: ReadonlyMap<number, number>): CuratedMatch[] {
    const rows = only && this.store.rowsOfAnswers(only);
    const count = Math.min(limit, MAX_ANSWERS_COMPARED);
    const matches = similarities ? this.nearest(question, similarities, count, rows) : this.mostSimilar(question, count, rows);
    const equalScore = ({ score }: CuratedMatch): number => (score >= NEARLY_EQUAL ? score : 0);
    return matches.sort((a, b) => equalScore(b) - equalScore(a));
  }

  /** The answers whose one or two nearest questions are the most similar by the encoder. */
  private nearest(question: string, similarities: ReadonlyMap<number, number>, limit: number, only?: ReadonlySet<number>): CuratedMatch[] {
    const considered = [...similarities].filter(([row]) => only?.has(row) ?? true);
    const nearest = considered.toSorted(([, a], [, b]) => b - a).slice(0, NEAREST_QUESTIONS);
    const stored = new Map(this.store.readAnswers(nearest.map(([row]) => row)).map((row) => [row.id, row]));
    const ofAnswers = [...Map.groupBy(nearest, ([row]) => stored.get(row)!.answer).values()];
    const ranked = ofAnswers
      .map(([first, second]) => ({ row: first![0], likeness: (first![1] + Math.max(second?.[1] ?? 0, SECOND_SHARE * first![1])) / 2 }))
      .toSorted((a, b) => b.likeness - a.likeness);
    const lead = Math.min(MAX_LEAD, (ranked[0]?.likeness ?? 0) - (ranked[1]?.likeness ?? 0));
    const query = wordingOf(question, DEFAULT_LANGUAGE);
    return ranked.slice(0, limit).map(({ row, likeness }, at): CuratedMatch => {
      const { answerId, question: asked, answer } = stored.get(row)!;
      const byWords = similarityOf(query, wordingOf(asked, DEFAULT_LANGUAGE));
      const byMeaning = Math.min(1, MEANING_SCALE * (likeness + (at === 0 ? lead : 0)));
      return { answerId, question: asked, answer, score: byWords >= NEARLY_EQUAL ? byWords : byMeaning };
    });
  }

  /** The answers that the classifier ranks first by their words, each with its most similar question. */
  private mostSimilar(question: string, limit: number, only?: ReadonlySet<number>): CuratedMatch[] {
    const classifier = (this.classifier ??= this.buildClassifier());
    const query = wordingOf(question, DEFAULT_LANGUAGE, spellingCorrector(classifier));
    return this.mostSimilarQuestions(classifier.rank(query, limit, only), query, classifier);
  }

  private find(id: string): StoredAnswer | undefined {
    return this.store.isEmpty ? undefined : this.store.findAnswer(id);
  }

  private buildClassifier(): AnswerClassifier {
    const classifier = new AnswerClassifier();
    for (const { id, question, answer } of this.store.listAnswers()) classifier.add(id, answer, wordingOf(question, DEFAULT_LANGUAGE));
    return classifier;
  }

  private mostSimilarQuestions(ranked: readonly RankedAnswer[], query: Wording, classifier: AnswerClassifier): CuratedMatch[] {
    const importanceOf = (term: string): number => normalizedIdf(classifier.frequencyOf(term), classifier.size) ** IDF_POWER;
    const compared = ranked.map(({ rows }) => rows.slice(-MAX_QUESTIONS_COMPARED));
    const stored = new Map(this.store.readAnswers(compared.flat()).map((row) => [row.id, row]));
    return compared.map((ids): CuratedMatch => {
      const matches = ids.map((id): CuratedMatch => {
        const { answerId, question, answer } = stored.get(id)!;
        return { answerId, question, answer, score: similarityOf(query, wordingOf(question, DEFAULT_LANGUAGE), importanceOf) };
      });
      return matches.reduce((best, match) => (match.score > best.score ? match : best));
    });
  }
}

/** Returns a function that replaces a term that no curated question has by the most similar one that some question has. */
function spellingCorrector(classifier: AnswerClassifier): (term: string) => string {
  const corrections = new Map<string, string>();
  return (term) => {
    if (classifier.frequencyOf(term) > 0) return term;
    const known = corrections.get(term);
    if (known !== undefined) return known;
    const corrected = (corrections.size < MAX_CORRECTIONS && correctSpelling(term, classifier)?.term) || term;
    corrections.set(term, corrected);
    return corrected;
  };
}
