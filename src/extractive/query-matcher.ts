import { type LanguageWords, wordsOf } from "../text/word-forms.ts";
import { cosine, generalWeight, meanVector, rarityOf, RELATED_COSINE, wordVector } from "../text/word-vectors.ts";
import { askedTerms } from "./answer-type.ts";
import { type QueryTerm, totalWeight } from "../models/retrieval.ts";
import { termMatch } from "./segments.ts";

/** Whether the knowledge has neither a term nor anything that may stand for it. */
export function isUnknown({ documentFrequency, alternatives }: QueryTerm): boolean {
  return documentFrequency === 0 && alternatives.length === 0;
}

/** A number is a value of what is asked about: "and if I am 70?" */
const IS_NUMBER = /^\d/;

/** Compares many texts with one query. */
export class QueryMatcher {
  readonly terms: readonly QueryTerm[];
  /** The terms with their parts and alternatives. */
  readonly allTerms: ReadonlySet<string>;
  readonly weight: number;
  readonly vector: Float32Array | undefined;
  private readonly words: LanguageWords | undefined;
  private readonly contentWords: readonly ContentWord[];
  private readonly contentWeight: number;
  /** The content words of the question itself, without those of earlier questions. */
  private readonly ownWords: readonly ContentWord[];

  constructor(
    question: string,
    private readonly questionTerms: readonly QueryTerm[],
    private readonly previousTerms: readonly QueryTerm[],
    language: string,
  ) {
    this.words = wordsOf(language);
    this.terms = [...questionTerms, ...previousTerms];
    this.allTerms = new Set(
      this.terms.flatMap(({ term, parts, alternatives }) => [term, ...parts, ...alternatives.map((other) => other.term)]),
    );
    this.weight = totalWeight(this.terms);
    const content = this.terms.filter(({ isWeak }) => !isWeak);
    const hasVectors = this.words === undefined;
    this.vector = hasVectors ? meanVector(this.terms.map(({ term, weight }) => [term, weight])) : undefined;
    const asked = hasVectors ? askedTerms(question) : undefined;
    const rarityIn = ({ term }: QueryTerm): number => {
      if (IS_NUMBER.test(term)) return 0;
      if (!asked) return MEAN_RARITY;
      return asked.has(term) ? rarityOf(term) : 0;
    };
    this.contentWords = content.map((term) => new ContentWord(term, hasVectors, rarityIn(term)));
    this.contentWeight = totalWeight(content);
    this.ownWords = this.contentWords.slice(0, questionTerms.filter(({ isWeak }) => !isWeak).length);
  }

  /** Whether the question has but one content word. */
  get isOneWord(): boolean {
    return this.ownWords.length <= 1;
  }

  /** The weight of the question's content words that a text has, or words like them. */
  matchedWeight(all: ReadonlySet<string>): number {
    return this.ownWords.reduce((sum, word) => sum + word.weight * word.closeness(all), 0);
  }

  /** The rarity of the rarest word that the question asks about and the knowledge does not have, 0..1, less where a text has a word like it. */
  unknownWord(all: ReadonlySet<string>): number {
    return Math.max(0, ...this.ownWords.map((word) => word.unknown * (1 - word.closeness(all))));
  }

  /** The share of the query's weight that a text matches. */
  share(match: (term: QueryTerm) => number): number {
    if (this.weight === 0) return 0;
    return this.terms.reduce((sum, term) => sum + term.weight * match(term), 0) / this.weight;
  }

  /** In a follow-up, the share of the question's own weight that a text matches; else 0. */
  shareOfQuestion(match: (term: QueryTerm) => number): number {
    const weight = totalWeight(this.questionTerms);
    if (this.previousTerms.length === 0 || weight === 0) return 0;
    return this.questionTerms.reduce((sum, term) => sum + term.weight * match(term), 0) / weight;
  }

  /** The terms of a text that are no function words of the query's language. */
  contentOf(all: ReadonlySet<string>): string[] {
    const { words } = this;
    return words ? [...all].filter((term) => words.kindOf(term) !== "stop") : [...all];
  }

  /** The mean, over the content words, of the closest word of a text: 1 where it has the word itself. */
  closeness(all: ReadonlySet<string>): number {
    if (this.contentWeight === 0) return 0;
    return this.contentWords.reduce((sum, word) => sum + word.weight * word.closeness(all), 0) / this.contentWeight;
  }

  /** The cosine of the query and a text; where the language has no word vectors, the share of words that they have in common. */
  meaning(all: ReadonlySet<string>): number {
    const vector = this.vector && vectorOf(all);
    return this.vector && vector ? cosine(this.vector, vector) : this.closeness(all);
  }
}

/** The mean vectors of the terms of passages, which are kept (`readPassage`). */
const vectors = new WeakMap<ReadonlySet<string>, Float32Array | undefined>();

function vectorOf(all: ReadonlySet<string>): Float32Array | undefined {
  if (!vectors.has(all)) vectors.set(all, meanVector([...all].map((term) => [term, generalWeight(term)])));
  return vectors.get(all);
}

/** The rarity that is assumed of a word in a language without vectors. */
const MEAN_RARITY = 0.45;

/** A content word of a query, with how close it is to each word that it has been compared with. */
class ContentWord {
  readonly weight: number;
  /** How rare it is, 0..1, where it is asked about and the knowledge does not have it, else 0. */
  readonly unknown: number;
  private readonly vector: Float32Array | undefined;
  private readonly known = new Map<string, number>();

  constructor(
    private readonly term: QueryTerm,
    hasVectors: boolean,
    rarity: number,
  ) {
    this.weight = term.weight;
    this.vector = hasVectors ? wordVector(spelledTerm(term)) : undefined;
    this.unknown = isUnknown(term) ? rarity : 0;
  }

  /** How close the closest word of a text is, 0..1: 1 is the word itself. */
  closeness(all: ReadonlySet<string>): number {
    let best = termMatch(all, this.term);
    if (this.vector && best < 1) for (const other of all) best = Math.max(best, this.similarity(other, this.vector));
    return best;
  }

  private similarity(term: string, vector: Float32Array): number {
    const known = this.known.get(term);
    if (known !== undefined) return known;
    const other = wordVector(term);
    const similarity = other ? Math.max(0, (cosine(vector, other) - RELATED_COSINE) / (1 - RELATED_COSINE)) : 0;
    this.known.set(term, similarity);
    return similarity;
  }
}

/** The index's spelling of a term that it does not have. */
function spelledTerm({ term, alternatives, documentFrequency }: QueryTerm): string {
  const corrected = alternatives.find(({ weight }) => weight >= MIN_SPELLING_WEIGHT)?.term;
  return documentFrequency === 0 ? (corrected ?? term) : term;
}

/** Synonyms weigh less. */
const MIN_SPELLING_WEIGHT = 0.85;
