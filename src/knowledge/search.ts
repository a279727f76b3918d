import type { z } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import { dbFor } from "../db/client.ts";
import { STRONG_MATCH } from "./curated.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { indexOf } from "./stub.ts";
import { type searchResultSchema, toFound } from "./wire.ts";

type Found = z.infer<typeof searchResultSchema>["data"];

/**
 * What retrieval finds for a question: curated answers that match it, then passages.
 * @returns undefined when there is no such agent.
 */
export async function search(op: KnowledgeOperation, { query, limit }: { query: string; limit: number }): Promise<Found | undefined> {
  const { env, meter, workspace, agentId } = op;
  const db = dbFor(env, workspace.id, meter);
  const [[[agent]], retrieval] = await Promise.all([
    db.batch([findAgent(db, workspace.id, agentId)]),
    indexOf(env, meter, workspace.id, agentId).search({ question: query, previousQuestions: [], limit }),
  ]);
  if (!agent) return undefined;
  const curated = retrieval.curated
    .filter((match) => match.score >= STRONG_MATCH)
    .map((match) => ({
      title: match.question,
      url: null,
      source_id: match.answerId,
      type: "answer" as const,
      content: match.answer,
      score: match.score,
    }));
  return [...curated, ...retrieval.passages.map(toFound)].slice(0, limit);
}
