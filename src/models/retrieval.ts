/** What a search is asked. */
export interface SearchQuery {
  question: string;
  /** The visitor's earlier turns, oldest first: a follow-up often makes sense only with them. */
  previousQuestions: string[];
  /** The most passages, and the most curated matches, to return. */
  limit: number;
}

/** A piece of the agent's knowledge that a search found. */
export interface Passage {
  sourceId: string;
  type: "page" | "text";
  title: string;
  heading: string | null;
  url: string | null;
  content: string;
  /** 0..1: how much of what was asked it holds, and how closely. */
  score: number;
}

/** A passage as one text for a model: what it is about stands before what it says. Vectors are named by it (TEXT_VERSION). */
export function passageText({ title, heading, content }: Pick<Passage, "title" | "heading" | "content">): string {
  return [title, heading, content].filter((part) => part !== null).join("\n");
}

/** A curated answer whose question resembles the one asked. */
export interface CuratedMatch {
  answerId: string;
  question: string;
  answer: string;
  /** 0..1: 1 is the same question but for order, inflection and filler words. */
  score: number;
}

/** A word of the query, as the index sees it. */
export interface QueryTerm {
  term: string;
  /** A compound's parts; all of them together stand for the whole. */
  parts: string[];
  /** Its word in the index that is spelt almost alike, where the index does not have it itself. */
  alike: string | null;
  /** How much it tells passages apart: rare words more. */
  weight: number;
  /** How many chunks hold it, or its like. */
  documents: number;
  /** Whether any question may hold it. */
  weak: boolean;
}

/** What the agent's knowledge has on a question. */
export interface Retrieval {
  /** Best first. */
  passages: Passage[];
  /** Best first. */
  curated: CuratedMatch[];
  /** The words of the question itself, not of earlier turns, in their order. */
  questionTerms: QueryTerm[];
  /** The words that earlier turns add. */
  previousTerms: QueryTerm[];
}
