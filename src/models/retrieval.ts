/*
 * What the search of an agent's knowledge is asked and returns: the port between `knowledge/` and the models.
 */

export interface SearchQuery {
  question: string;
  /** The visitor's earlier questions, oldest first: a follow-up often makes sense only with them. */
  previousQuestions: string[];
  /** The most passages, and the most curated answers, to return. */
  limit: number;
  /** The ids of the only sources and curated answers to be searched; undefined for all of the agent. */
  only?: { sources: string[]; answers: string[] };
}

export interface Retrieval {
  /** Best first. */
  passages: Passage[];
  /** Best first. */
  curated: CuratedMatch[];
  /** The terms of the question itself, in their order. */
  questionTerms: QueryTerm[];
  /** The question before, where this one is understood only together with it. */
  previousQuestion: string | null;
  /** The terms that earlier questions add. */
  previousTerms: QueryTerm[];
  /** The code of the language, one of those of the knowledge, in which the question was understood. */
  language: string;
}

/** A chunk of the agent's knowledge that a search found. */
export interface Passage {
  sourceId: string;
  type: "page" | "text";
  title: string;
  heading: string | null;
  url: string | null;
  content: string;
  /** 0..1: how much of the query it contains, and how closely together. */
  score: number;
  /** What the score is made of, each 0..1; null for a search that did not find it or did not take place. */
  scores: PassageScores;
}

interface PassageScores {
  /** The score of its words. */
  lexical: number | null;
  /** The score of its meaning: how near its vector is. */
  semantic: number | null;
  /** The reranker's score, which replaces the others. */
  reranker: number | null;
}

/** A curated answer whose question is similar to the one asked. */
export interface CuratedMatch {
  answerId: string;
  question: string;
  answer: string;
  /** 0..1; 1 for a question with the same words, in any order and form. */
  score: number;
}

/** A term of the query with what the index knows of it. */
export interface QueryTerm {
  term: string;
  /** The parts of a compound; all of them together match the whole. */
  parts: string[];
  /** Other terms of the index that may stand for it: its corrected spelling and synonyms. */
  alternatives: TermAlternative[];
  /** Its inverse document frequency, 0..1, less for weak and for earlier terms. */
  weight: number;
  /** How many chunks contain it. */
  documentFrequency: number;
  /** Whether it is a common word of any support question, as "work" or "need". */
  isWeak: boolean;
}

/** The sum of the weights of some terms. */
export function totalWeight(terms: readonly QueryTerm[]): number {
  return terms.reduce((sum, { weight }) => sum + weight, 0);
}

export interface TermAlternative {
  term: string;
  /** How surely it means the same, 0..1: 1 is another form of the same word. */
  weight: number;
}

/** A passage as one text for a model. Vectors are named by it: change TEXT_VERSION of knowledge/vectors with it. */
export function passageText({ title, heading, content }: Pick<Passage, "title" | "heading" | "content">): string {
  return [title, heading, content].filter((part) => part !== null).join("\n");
}
