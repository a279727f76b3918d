/*
 * The query and the result of a search in an agent's knowledge, which the models read.
 */

export interface SearchQuery {
  question: string;
  /** The visitor's earlier questions, oldest first: a follow-up often makes sense only with them. */
  previousQuestions: string[];
  /** The most passages, and the most curated answers, to return. */
  limit: number;
  /** Limits the search to the sources and curated answers with these ids. */
  only?: { sources: string[]; answers: string[] };
}

export interface Retrieval {
  /** Best first. */
  passages: Passage[];
  /** Best first. */
  curated: CuratedMatch[];
  /** The terms of the question itself, in their order. */
  questionTerms: QueryTerm[];
  /** The previous question, if this one can be understood only together with it. */
  previousQuestion: string | null;
  /** The terms from earlier questions. */
  previousTerms: QueryTerm[];
  /** The code of the language in which the question was read, which is one of those of the knowledge. */
  language: string;
}

/** The separator between the headings above a passage. */
export const HEADING_SEPARATOR = " > ";

/** A chunk of the agent's knowledge that a search found. */
export interface Passage {
  sourceId: string;
  type: "page" | "text";
  title: string;
  /** The headings above it, outermost first. */
  heading: string | null;
  url: string | null;
  content: string;
  /** 0..1: how much of the query it contains, and how closely together; with the service's encoder, mostly how near its meaning is. */
  score: number;
  /** The parts of the score, each 0..1; null for a search that did not find the passage or did not take place. */
  scores: PassageScores;
  /** The similarity of each segment (extractive/segments.ts) to the question, 0..1, by the service's encoder; null without it. */
  similarities: readonly number[] | null;
  /** The similarity of the passage's nearest segment to the question without each of its terms, by term; empty without `similarities`. */
  similarityWithout: ReadonlyMap<string, number>;
}

/** A passage, or a curated answer under its question, on which an answer may rest. */
export type CitablePassage = Pick<Passage, "sourceId" | "title" | "heading" | "url" | "content" | "score"> & {
  type: Passage["type"] | "answer";
};

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

/** Returns a curated answer as a passage that can be cited. */
export function answerPassage({ answerId, question, answer, score }: CuratedMatch): CitablePassage {
  return { sourceId: answerId, type: "answer", title: question, heading: null, url: null, content: answer, score };
}

/** A term of the query with its statistics in the index. */
export interface QueryTerm {
  term: string;
  /** The parts of a compound; all of them together match the whole. */
  parts: string[];
  /** Other terms of the index that may match instead: its corrected spelling and synonyms. */
  alternatives: TermAlternative[];
  /** Its inverse document frequency, 0..1, which is lowered for weak terms and for those of earlier questions. */
  weight: number;
  /** How many chunks contain it. */
  documentFrequency: number;
  /** Whether it is a common word of any support question, such as "work" or "need". */
  isWeak: boolean;
}

/** Returns the sum of the terms' weights, each of which is 0..1. */
export function totalWeight(terms: readonly QueryTerm[]): number {
  return terms.reduce((sum, { weight }) => sum + weight, 0);
}

export interface TermAlternative {
  term: string;
  /** How likely it means the same, 0..1: 1 for another form of the same word. */
  weight: number;
}

/** Returns a passage as one text for a model. A change here needs a new TEXT_VERSION (knowledge/vectors), since vectors are made of it. */
export function passageText({ title, heading, content }: Pick<Passage, "title" | "heading" | "content">): string {
  return [title, heading, content].filter((part) => part !== null).join("\n");
}
