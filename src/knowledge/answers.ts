import { findAgent } from "../agents/store.ts";
import { dbFor } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { answers } from "../platform/db/schema.ts";
import { indexOf } from "./index.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { createAnswer, eraseAnswer, findAnswer, markIndexed } from "./store.ts";

type AnswerRow = typeof answers.$inferSelect;

export type AnswerChange = { outcome: "done"; answer: AnswerRow } | { outcome: "agent_not_found" } | { outcome: "too_many" };

/** Adds a curated answer and indexes it. If the request dies after the row was stored, the sweep indexes it. */
export async function addAnswer(op: KnowledgeOperation, body: { question: string; answer: string }): Promise<AnswerChange> {
  const { env, meter, workspace, agentId, nowMs } = op;
  const db = dbFor(env, workspace.id, meter);
  const row = { id: op.newId(shardOf(workspace.id)), workspaceId: workspace.id, agentId, ...body, createdAt: nowMs, updatedAt: nowMs };
  const [[agent], , [answer]] = await db.batch([
    findAgent(db, workspace.id, agentId),
    createAnswer(db, row, workspace.limits.answers_per_agent),
    findAnswer(db, workspace.id, agentId, row.id),
  ]);
  if (!agent) return { outcome: "agent_not_found" };
  if (!answer) return { outcome: "too_many" };
  await indexOf(env, meter, workspace.id, agentId).putAnswer({ id: answer.id, ...body });
  return { outcome: "done", answer };
}

/**
 * Marks an answer as indexed, or removes it from the index when it was deleted meanwhile. No caller waits for this: if it fails,
 * the sweep indexes the answer once more.
 */
export async function confirmIndexed(op: Pick<KnowledgeOperation, "env" | "meter" | "nowMs">, answer: AnswerRow): Promise<void> {
  const { env, meter, nowMs } = op;
  const db = dbFor(env, answer.workspaceId, meter);
  const [[marked]] = await db.batch([markIndexed(db, answer.id, nowMs)]);
  if (!marked) await indexOf(env, meter, answer.workspaceId, answer.agentId).removeAnswer(answer.id);
}

/** Indexes an answer whose request died before doing so. */
export async function indexAnswer(op: Pick<KnowledgeOperation, "env" | "meter" | "nowMs">, answer: AnswerRow): Promise<void> {
  const { id, question } = answer;
  await indexOf(op.env, op.meter, answer.workspaceId, answer.agentId).putAnswer({ id, question, answer: answer.answer });
  await confirmIndexed(op, answer);
}

/**
 * Removes a curated answer.
 * @returns whether the agent had it.
 */
export async function removeAnswer(op: KnowledgeOperation, answerId: string): Promise<boolean> {
  const { env, meter, workspace, agentId } = op;
  const db = dbFor(env, workspace.id, meter);
  const [[answer]] = await db.batch([findAnswer(db, workspace.id, agentId, answerId)]);
  if (!answer) return false;
  // The index comes first: if the request dies in between, the answer is still listed and can be deleted again.
  await indexOf(env, meter, workspace.id, agentId).removeAnswer(answerId);
  await db.batch([eraseAnswer(db, workspace.id, agentId, answerId)]);
  return true;
}
