import type { z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import { knowledgeIndexOf } from "./knowledge-index.ts";
import { HEADING_SEPARATOR, type Passage, type Retrieval, type SearchQuery } from "../models/retrieval.ts";
import { STRONG_MATCH } from "./retrieval/curated-answers.ts";
import type { DocumentName, DocumentPart } from "./retrieval/document.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { listMatching } from "./store.ts";
import type { MetadataFilter } from "./search-wire.ts";
import type { SearchResult, searchSchema } from "./wire.ts";

/** A query of up to this number of lines is a conversation with one question a line; a longer one is pasted text. */
const MAX_QUESTIONS = 4;

/**
 * Searches an agent's knowledge: strong matches of curated answers come first, then passages and other curated answers. The last line
 * of a query is the question, the lines before it are earlier questions.
 * @returns undefined when there is no such agent.
 */
export async function search(op: KnowledgeOperation, body: z.output<typeof searchSchema>): Promise<SearchResult[] | undefined> {
  const { db, workspaceId, agentId } = op;
  const { query, limit, filter } = body;
  const [[[agent]], retrieval] = await Promise.all([
    db.batch([findAgentBrief(db, workspaceId, agentId)]),
    searchIndex(op, { ...questionsOf(query), limit }, filter),
  ]);
  if (!agent) return undefined;
  const curated = retrieval.curated.map(({ question, answerId, answer, score }): SearchResult => ({
    title: question,
    url: null,
    source_id: answerId,
    type: "answer",
    content: answer,
    score,
  }));
  return merge(curated, retrieval.passages.map(toSearchResult)).slice(0, limit);
}

/**
 * Searches an agent's index.
 * @param filter is applied to the metadata in D1, which takes a trip before the search.
 */
export async function searchIndex(op: KnowledgeOperation, query: SearchQuery, filter?: MetadataFilter | null): Promise<Retrieval> {
  const { db, workspaceId, agentId } = op;
  const index = knowledgeIndexOf(op, agentId);
  if (!filter || Object.keys(filter).length === 0) return index.search(query);
  const [sources, answers] = await db.batch(listMatching(db, workspaceId, agentId, filter));
  return index.search({ ...query, only: { sources: sources.map(({ id }) => id), answers: answers.map(({ id }) => id) } });
}

/** Reads a part of a document that a search found, after its chunk `after`. Undefined when there is no such agent or document. */
export async function readDocument(op: KnowledgeOperation, name: DocumentName, after: number): Promise<DocumentPart | undefined> {
  const { db, workspaceId, agentId } = op;
  const [[[agent]], part] = await Promise.all([
    db.batch([findAgentBrief(db, workspaceId, agentId)]),
    knowledgeIndexOf(op, agentId).readDocument(name, after),
  ]);
  return agent && part;
}

function questionsOf(query: string): { question: string; previousQuestions: string[] } {
  const lines = query.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > MAX_QUESTIONS) return { question: query, previousQuestions: [] };
  return { question: lines.at(-1) ?? query, previousQuestions: lines.slice(0, -1) };
}

/** Merges two lists, each in its own order. A strong match of a curated answer comes before any passage. */
function merge(curated: readonly SearchResult[], passages: readonly SearchResult[]): SearchResult[] {
  const merged: SearchResult[] = [];
  let next = 0;
  for (const answer of curated) {
    while (answer.score < STRONG_MATCH && next < passages.length && passages[next]!.score > answer.score) merged.push(passages[next++]!);
    merged.push(answer);
  }
  return [...merged, ...passages.slice(next)];
}

/** The wire record of a passage, with the heading in its title. */
function toSearchResult(passage: Passage): SearchResult {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, content, score };
}

/** Joins a passage's title and the headings above it, the first of which is often the title itself. */
export function titleOf({ title, heading }: Pick<Passage, "title" | "heading">): string {
  const headings = heading?.split(HEADING_SEPARATOR) ?? [];
  return [title, ...(headings[0] === title ? headings.slice(1) : headings)].join(" › ");
}
