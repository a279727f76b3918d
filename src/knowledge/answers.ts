import type { z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import type { Operation } from "../platform/db/client.ts";
import type { answers } from "../platform/db/schema.ts";
import type { Limits } from "../workspaces/plans.ts";
import { knowledgeIndexOf } from "./knowledge-index.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { createAnswer, eraseAnswer, findAnswer, markIndexed, updateAnswer } from "./store.ts";
import type { answerCreateSchema, answerPatchSchema } from "./wire.ts";

type AnswerRow = typeof answers.$inferSelect;

export type AnswerChange = { outcome: "done"; answer: AnswerRow } | { outcome: "agent_not_found" } | { outcome: "too_many" };

/** Adds a curated answer and indexes it. If the request is interrupted after the row was stored, the sweep indexes it. */
export async function addAnswer(op: KnowledgeOperation, limits: Limits, body: z.output<typeof answerCreateSchema>): Promise<AnswerChange> {
  const { db, workspaceId, agentId, nowMs } = op;
  const row = { id: op.newId(), workspaceId, agentId, ...body, createdAt: nowMs, updatedAt: nowMs };
  const [[created]] = await db.batch([createAnswer(db, row, limits.answers_per_agent)]);
  const added: AnswerChange = created ? { outcome: "done", answer: created } : await findAdded(op, row.id);
  if (added.outcome === "done") await putAnswer(op, added.answer);
  return added;
}

/** Finds the answer if an earlier attempt of this request added it, otherwise the reason why it could not be added. */
async function findAdded({ db, workspaceId, agentId }: KnowledgeOperation, answerId: string): Promise<AnswerChange> {
  const [[agent], [answer]] = await db.batch([findAgentBrief(db, workspaceId, agentId), findAnswer(db, workspaceId, agentId, answerId)]);
  if (!agent) return { outcome: "agent_not_found" };
  return answer ? { outcome: "done", answer } : { outcome: "too_many" };
}

/**
 * Changes a curated answer, and indexes it if its question or answer has changed.
 * @returns undefined when the agent has no such answer.
 */
export async function changeAnswer(
  op: KnowledgeOperation,
  answerId: string,
  body: z.output<typeof answerPatchSchema>,
): Promise<AnswerRow | undefined> {
  const { db, workspaceId, agentId, nowMs } = op;
  const changes = {
    ...(body.question && { question: body.question }),
    ...(body.answer && { answer: body.answer }),
    ...(body.metadata && { metadata: body.metadata }),
  };
  const [[answer]] = await db.batch([updateAnswer(db, workspaceId, agentId, answerId, changes, nowMs)]);
  if (answer?.indexedAt === null) await putAnswer(op, answer);
  return answer;
}

/** Indexes an answer. The index keeps the latest version, even if it receives an older one later. */
export function putAnswer(op: Operation, { id, agentId, question, answer, updatedAt }: AnswerRow): Promise<void> {
  return knowledgeIndexOf(op, agentId).putAnswer({ id, question, answer, updatedAt });
}

/** Answers that are indexed within this time are marked in one write. No response waits for it. */
const MARK_DELAY_MS = 1_000;

/** The answers of each workspace that this isolate will mark. */
const unmarked = new Map<string, AnswerRow[]>();

/**
 * Marks an answer as indexed after a delay, together with others of its workspace. If the isolate ends before, the sweep indexes
 * the answer again.
 */
export async function confirmIndexedSoon(op: Operation, answer: AnswerRow): Promise<void> {
  const gathered = unmarked.get(answer.workspaceId);
  if (gathered) return void gathered.push(answer);
  const answers = [answer];
  unmarked.set(answer.workspaceId, answers);
  await scheduler.wait(MARK_DELAY_MS);
  unmarked.delete(answer.workspaceId);
  await confirmIndexed(op, answers);
}

/** Marks answers of the workspace as indexed. Those that were deleted meanwhile are removed from the index. */
export async function confirmIndexed(op: Operation, answers: readonly AnswerRow[]): Promise<void> {
  const { db, workspaceId, nowMs } = op;
  const versions = Object.fromEntries(answers.map(({ id, updatedAt }) => [id, updatedAt]));
  const [marked] = await db.batch([markIndexed(db, workspaceId, versions, nowMs)]);
  const existing = new Set(marked.map(({ id }) => id));
  for (const { id, agentId } of answers) if (!existing.has(id)) await knowledgeIndexOf(op, agentId).removeAnswer(id);
}

/** Indexes an answer whose request was interrupted before doing so. */
export async function indexAnswer(op: Operation, answer: AnswerRow): Promise<void> {
  await putAnswer(op, answer);
  await confirmIndexed(op, [answer]);
}

/**
 * Removes a curated answer.
 * @returns whether the agent had it.
 */
export async function removeAnswer(op: KnowledgeOperation, answerId: string): Promise<boolean> {
  const { db, workspaceId, agentId } = op;
  const [[answer]] = await db.batch([findAnswer(db, workspaceId, agentId, answerId)]);
  if (!answer) return false;
  // The index comes first: if the request is interrupted in between, the answer is still listed and can be deleted again.
  await knowledgeIndexOf(op, agentId).removeAnswer(answerId);
  await db.batch([eraseAnswer(db, workspaceId, agentId, answerId)]);
  return true;
}
