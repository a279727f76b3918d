import { type LanguageWords, wordsOf } from "../text/word-forms.ts";
import { cosine, generalWeight, meanVector, rarityOf, RELATED_COSINE, wordVector } from "../text/word-vectors.ts";
import { askedTerms } from "./answer-type.ts";
import { type QueryTerm, totalWeight } from "../models/retrieval.ts";
import { termMatch } from "./segments.ts";

/** Whether the knowledge has neither a term nor an alternative of it. */
export function isUnknown({ documentFrequency, alternatives }: QueryTerm): boolean {
  return documentFrequency === 0 && alternatives.length === 0;
}

/** A number is a value rather than a topic, as in "and if I am 70?", so it is not an unknown word. */
const IS_NUMBER = /^\d/;

/** Compares many texts with one query. */
export class QueryMatcher {
  private readonly terms: readonly QueryTerm[];
  /** The terms with their parts and alternatives. */
  readonly allTerms: ReadonlySet<string>;
  private readonly vector: Float32Array | undefined;
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
    const content = this.terms.filter(({ isWeak }) => !isWeak);
    const isEnglish = this.words === undefined;
    this.vector = isEnglish ? meanVector(this.terms.map(({ term, weight }) => [term, weight])) : undefined;
    const asked = isEnglish ? askedTerms(question) : undefined;
    const rarityIn = ({ term }: QueryTerm): number => {
      if (IS_NUMBER.test(term)) return 0;
      if (!asked) return MEAN_RARITY;
      return asked.has(term) ? rarityOf(term) : 0;
    };
    this.contentWords = content.map((term) => new ContentWord(term, isEnglish, rarityIn(term)));
    this.contentWeight = totalWeight(content);
    this.ownWords = this.contentWords.slice(0, questionTerms.filter(({ isWeak }) => !isWeak).length);
  }

  /** Whether the question has at most one content word. */
  get isOneWord(): boolean {
    return this.ownWords.length <= 1;
  }

  /** The weight of the question's content words that a text has; a similar word counts in part. */
  matchedWeight(all: ReadonlySet<string>): number {
    return this.ownWords.reduce((sum, word) => sum + word.weight * word.closeness(all), 0);
  }

  /** The rarity, 0..1, of the rarest word that the question asks about and the knowledge lacks. It is lower if a text has a similar word. */
  unknownWord(all: ReadonlySet<string>): number {
    return Math.max(0, ...this.ownWords.map((word) => word.unknownRarity * (1 - word.closeness(all))));
  }

  /** The question's own terms of which a text has neither the term nor an alternative. */
  missingIn(all: ReadonlySet<string>): QueryTerm[] {
    return this.questionTerms.filter((term) => termMatch(all, term) === 0);
  }

  /** The share of the query's weight that a text matches. */
  share(match: (term: QueryTerm) => number): number {
    return shareOf(this.terms, match);
  }

  /** The share of a follow-up's own weight that a text matches; 0 for a question that is no follow-up. */
  ownShareInFollowUp(match: (term: QueryTerm) => number): number {
    return this.previousTerms.length === 0 ? 0 : shareOf(this.questionTerms, match);
  }

  /** The terms of a text without the function words of the query's language. */
  contentOf(all: ReadonlySet<string>): string[] {
    const { words } = this;
    return words ? [...all].filter((term) => words.kindOf(term) !== "stop") : [...all];
  }

  /** How close the words of a text are to the content words, 0..1: the mean over the closest word to each. */
  closeness(all: ReadonlySet<string>): number {
    if (this.contentWeight === 0) return 0;
    return this.contentWords.reduce((sum, word) => sum + word.weight * word.closeness(all), 0) / this.contentWeight;
  }

  /** How close the meaning of a text is: the cosine of the mean word vectors, or its `closeness` where one of them has no vector. */
  meaning(all: ReadonlySet<string>): number {
    const vector = this.vector && vectorOf(all);
    return this.vector && vector ? cosine(this.vector, vector) : this.closeness(all);
  }
}

function shareOf(terms: readonly QueryTerm[], match: (term: QueryTerm) => number): number {
  const weight = totalWeight(terms);
  return weight === 0 ? 0 : terms.reduce((sum, term) => sum + term.weight * match(term), 0) / weight;
}

/** The mean word vectors of sets of terms. The sets are those of passages, which `readPassage` keeps. */
const vectors = new WeakMap<ReadonlySet<string>, Float32Array | undefined>();

function vectorOf(all: ReadonlySet<string>): Float32Array | undefined {
  if (!vectors.has(all)) vectors.set(all, meanVector([...all].map((term) => [term, generalWeight(term)])));
  return vectors.get(all);
}

/** The rarity that every word of a language without vectors is assumed to have. */
const MEAN_RARITY = 0.45;

/** A content word of a query. It remembers its similarity to each word that it has been compared with. */
class ContentWord {
  readonly weight: number;
  /** Its rarity, 0..1, if the question asks about it and the knowledge lacks it, otherwise 0. */
  readonly unknownRarity: number;
  private readonly vector: Float32Array | undefined;
  private readonly similarities = new Map<string, number>();

  constructor(
    private readonly term: QueryTerm,
    isEnglish: boolean,
    rarity: number,
  ) {
    this.weight = term.weight;
    this.vector = isEnglish ? wordVector(spelledTerm(term)) : undefined;
    this.unknownRarity = isUnknown(term) ? rarity : 0;
  }

  /** The similarity of the closest word of a text, 0..1: 1 for the word itself. */
  closeness(all: ReadonlySet<string>): number {
    let best = termMatch(all, this.term);
    if (this.vector && best < 1) for (const other of all) best = Math.max(best, this.similarity(other, this.vector));
    return best;
  }

  private similarity(term: string, vector: Float32Array): number {
    const known = this.similarities.get(term);
    if (known !== undefined) return known;
    const other = wordVector(term);
    const similarity = other ? Math.max(0, (cosine(vector, other) - RELATED_COSINE) / (1 - RELATED_COSINE)) : 0;
    this.similarities.set(term, similarity);
    return similarity;
  }
}

/** Returns a term, or its corrected spelling if the index does not have it. */
function spelledTerm({ term, alternatives, documentFrequency }: QueryTerm): string {
  const corrected = alternatives.find(({ weight }) => weight >= MIN_SPELLING_WEIGHT)?.term;
  return documentFrequency === 0 ? (corrected ?? term) : term;
}

/** Alternatives of this weight are corrected spellings; synonyms have a lower one. */
const MIN_SPELLING_WEIGHT = 0.85;
