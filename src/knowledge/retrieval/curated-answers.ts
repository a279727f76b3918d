import type { CuratedMatch } from "../../models/retrieval.ts";
import { DEFAULT_LANGUAGE } from "../../text/languages.ts";
import type { CuratedAnswer, IndexStore, StoredAnswer } from "../indexing/store.ts";
import { AnswerClassifier, type RankedAnswer } from "./answer-classifier.ts";
import { similarityOf, type Wording, wordingOf } from "./question-similarity.ts";
import { correctSpelling, MAX_CORRECTIONS, normalizedIdf } from "./query.ts";

/** A match with at least this score is strong: its answer is given word for word. */
export const STRONG_MATCH = 0.7;

/** The answers whose questions are compared with the query one by one. */
const MAX_ANSWERS_COMPARED = 5;
/** The questions of one answer that are compared, the newest first. */
const MAX_QUESTIONS_COMPARED = 20;
/** From this score on a question differs in a stop word at most, and is ranked before what the classifier prefers. */
const NEARLY_EQUAL = 0.95;
/** Dampens the idf: in short questions one rare word would outweigh all others. */
const IDF_POWER = 0.7;

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
    if (old) this.classifier?.remove(old.id, old.answer, wordingOf(old.question, DEFAULT_LANGUAGE));
    this.classifier?.add(row, answer.answer, wordingOf(answer.question, DEFAULT_LANGUAGE));
  }

  remove(id: string): void {
    const old = this.find(id);
    if (!old) return;
    this.store.write(() => this.store.deleteAnswer(id));
    this.classifier?.remove(old.id, old.answer, wordingOf(old.question, DEFAULT_LANGUAGE));
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
    const query = wordingOf(question, DEFAULT_LANGUAGE, spellingCorrector(classifier));
    const ranked = classifier.rank(query, Math.min(limit, MAX_ANSWERS_COMPARED), rows);
    const matches = this.mostSimilarQuestions(ranked, query, classifier);
    const equalScore = ({ score }: CuratedMatch): number => (score >= NEARLY_EQUAL ? score : 0);
    return matches.sort((a, b) => equalScore(b) - equalScore(a));
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

/** Replaces terms that no curated question has by the most similar ones that some have. */
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
