import { dbFor } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { answers } from "../platform/db/schema.ts";
import { indexOf } from "./index.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { createAnswer, eraseAnswer, findAnswer, markIndexed } from "./store.ts";

type AnswerRow = typeof answers.$inferSelect;

/**
 * Adds a curated answer and hands it to the agent's index. If the request dies between the row and the index, the sweep
 * hands the answer over.
 * @returns undefined when there is no such agent.
 */
export async function addAnswer(op: KnowledgeOperation, body: { question: string; answer: string }): Promise<AnswerRow | undefined> {
  const { env, meter, workspace, agentId, nowMs } = op;
  const db = dbFor(env, workspace.id, meter);
  const row = { id: op.newId(shardOf(workspace.id)), workspaceId: workspace.id, agentId, ...body, createdAt: nowMs, updatedAt: nowMs };
  const [, [answer]] = await db.batch([createAnswer(db, row), findAnswer(db, workspace.id, agentId, row.id)]);
  if (!answer) return undefined;
  await indexOf(env, meter, workspace.id, agentId).putAnswer({ id: answer.id, ...body });
  return answer;
}

/**
 * Marks an answer as indexed, or takes it out of the index again when it was deleted meanwhile. No caller waits for
 * this: if it fails, the sweep only repeats the hand-over.
 */
export async function noteIndexed(op: Pick<KnowledgeOperation, "env" | "meter" | "nowMs">, answer: AnswerRow): Promise<void> {
  const { env, meter, nowMs } = op;
  const db = dbFor(env, answer.workspaceId, meter);
  const [[noted]] = await db.batch([markIndexed(db, answer.id, nowMs)]);
  if (!noted) await indexOf(env, meter, answer.workspaceId, answer.agentId).removeAnswer(answer.id);
}

/** Hands an answer to its agent's index, for a request that died before doing so. */
export async function indexAnswer(op: Pick<KnowledgeOperation, "env" | "meter" | "nowMs">, answer: AnswerRow): Promise<void> {
  const { id, question } = answer;
  await indexOf(op.env, op.meter, answer.workspaceId, answer.agentId).putAnswer({ id, question, answer: answer.answer });
  await noteIndexed(op, answer);
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
  // The index goes first: should this stop half-way, the answer is still listed, and deleting it again finishes it.
  await indexOf(env, meter, workspace.id, agentId).removeAnswer(answerId);
  await db.batch([eraseAnswer(db, workspace.id, agentId, answerId)]);
  return true;
}
