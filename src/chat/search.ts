import { searchIndex } from "../knowledge/search.ts";
import type { Retrieval } from "../models/retrieval.ts";
import type { Operation } from "../platform/db/client.ts";
import { smallTalkOf, withoutSmallTalk } from "../text/intents.ts";
import type { Question } from "./question.ts";

/** How many passages a search returns at most, both the search for a question and a search by the model. */
const PASSAGES_PER_SEARCH = 5;
/** How many of the visitor's earlier questions a search takes into account. */
const QUESTIONS_PER_SEARCH = 3;

export interface SearchContext {
  op: Operation;
  question: Pick<Question, "agentId" | "filter">;
}

/** A search of the agent's knowledge. */
export interface Search {
  query: string;
  retrieval: Retrieval;
  durationMs: number;
}

/**
 * Searches the knowledge of an agent for a visitor's message.
 * @param previousQuestions the visitor's earlier questions, oldest first.
 */
export async function searchFor(context: SearchContext, message: string, previousQuestions: string[]): Promise<Search> {
  const startedMs = Date.now();
  const query = withoutSmallTalk(message, "");
  const retrieval = await searchKnowledge(context, query, previousQuestions);
  return { query, retrieval, durationMs: Date.now() - startedMs };
}

/** Searches the knowledge of an agent for a query. */
export function searchKnowledge({ op, question }: SearchContext, query: string, previousQuestions: string[]): Promise<Retrieval> {
  const { agentId, filter } = question;
  return searchIndex({ ...op, agentId }, { question: query, previousQuestions, limit: PASSAGES_PER_SEARCH }, filter);
}

/** Returns the visitor's last questions, oldest first. Small talk is left out. */
export function lastQuestions(written: readonly string[]): string[] {
  const questions: string[] = [];
  // The newest message comes first, so that the rest of a long conversation is not analysed.
  for (const text of written.toReversed()) {
    if (smallTalkOf(text, "") === undefined) questions.unshift(withoutSmallTalk(text, ""));
    if (questions.length === QUESTIONS_PER_SEARCH) break;
  }
  return questions;
}
