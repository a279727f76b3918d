import type { Passage, Retrieval } from "../knowledge/passage.ts";

/** What a model is asked. */
export interface ModelRequest {
  question: string;
  /** The visitor's earlier turns, oldest first. */
  previousQuestions: string[];
  retrieval: Retrieval;
  /** The operator's words on how this agent should answer. */
  instructions: string | null;
  /** The language to answer in, as a BCP 47 tag. */
  language: string;
}

/** What it says. `confidence` is the probability, 0..1, that an answer from this knowledge is right. */
export type ModelReply =
  | { outcome: "answered"; text: string; cited: Passage[]; confidence: number }
  | { outcome: "no_answer"; confidence: number };

/** Answers a question from what was found of the agent's knowledge, or says that it cannot. */
export interface Model {
  answer(request: ModelRequest): Promise<ModelReply>;
}
