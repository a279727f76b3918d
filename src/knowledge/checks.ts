import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { operationOf } from "../workspaces/checks.ts";
import { type AnswerChange, confirmIndexedSoon } from "./answers.ts";
import type { KnowledgeOperation } from "./sources.ts";

/** The operation of a request on an agent's knowledge. */
export function knowledgeOperationOf(c: AppContext, agentId: string): KnowledgeOperation {
  return { ...operationOf(c), agentId };
}

/** Returns the added answer, and marks it as indexed soon. @throws ApiError if it was refused. */
export function addedAnswer(c: AppContext, op: KnowledgeOperation, change: AnswerChange) {
  if (change.outcome === "agent_not_found") throw notFound("agent");
  if (change.outcome === "too_many") {
    throw new ApiError(
      "plan_required",
      "The agent has as many curated answers as the plan includes. Delete one, or ask for a larger plan.",
    );
  }
  if (change.answer.indexedAt === null) c.executionCtx.waitUntil(confirmIndexedSoon(op, change.answer));
  return change.answer;
}
