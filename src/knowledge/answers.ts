import type { z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import { dbFor } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { answers } from "../platform/db/schema.ts";
import { indexOf } from "./index.ts";
import type { KnowledgeOperation } from "./sources.ts";
import { createAnswer, eraseAnswer, findAnswer, markIndexed, updateAnswer } from "./store.ts";
import type { answerCreateSchema, answerPatchSchema } from "./wire.ts";

type AnswerRow = typeof answers.$inferSelect;

export type AnswerChange = { outcome: "done"; answer: AnswerRow } | { outcome: "agent_not_found" } | { outcome: "too_many" };

/** Adds a curated answer and indexes it. If the request dies after the row was stored, the sweep indexes it. */
export async function addAnswer(op: KnowledgeOperation, body: z.output<typeof answerCreateSchema>): Promise<AnswerChange> {
  const { env, meter, workspace, agentId, nowMs } = op;
  const db = dbFor(env, workspace.id, meter);
  const row = { id: op.newId(shardOf(workspace.id)), workspaceId: workspace.id, agentId, ...body, createdAt: nowMs, updatedAt: nowMs };
  const [[created]] = await db.batch([createAnswer(db, row, workspace.limits.answers_per_agent)]);
  const added: AnswerChange = created ? { outcome: "done", answer: created } : await findAdded(op, row.id);
  if (added.outcome === "done") await putAnswer(op, added.answer);
  return added;
}

/** The answer, where a request added it that this one repeats; else why it could not be added. */
async function findAdded({ env, meter, workspace, agentId }: KnowledgeOperation, answerId: string): Promise<AnswerChange> {
  const db = dbFor(env, workspace.id, meter);
  const [[agent], [answer]] = await db.batch([findAgentBrief(db, workspace.id, agentId), findAnswer(db, workspace.id, agentId, answerId)]);
  if (!agent) return { outcome: "agent_not_found" };
  return answer ? { outcome: "done", answer } : { outcome: "too_many" };
}

/**
 * Changes a curated answer, and indexes it where its words have changed.
 * @returns undefined when the agent has no such answer.
 */
export async function changeAnswer(
  op: KnowledgeOperation,
  answerId: string,
  body: z.output<typeof answerPatchSchema>,
): Promise<AnswerRow | undefined> {
  const { env, meter, workspace, agentId, nowMs } = op;
  const db = dbFor(env, workspace.id, meter);
  const changes = {
    ...(body.question && { question: body.question }),
    ...(body.answer && { answer: body.answer }),
    ...(body.metadata && { metadata: body.metadata }),
  };
  const [[answer]] = await db.batch([updateAnswer(db, workspace.id, agentId, answerId, changes, nowMs)]);
  if (answer?.indexedAt === null) await putAnswer(op, answer);
  return answer;
}

type IndexOperation = Pick<KnowledgeOperation, "env" | "meter" | "nowMs">;

/** The index keeps the answer that was changed last, in whatever order changes arrive. */
export function putAnswer(
  { env, meter }: IndexOperation,
  { id, workspaceId, agentId, question, answer, updatedAt }: AnswerRow,
): Promise<void> {
  return indexOf(env, meter, workspaceId, agentId).putAnswer({ id, question, answer, updatedAt });
}

/** Answers that are indexed within this time are marked in one write, which no response waits for. */
const MARK_DELAY_MS = 1_000;

/** The answers of each workspace that this isolate is about to mark. */
const unmarked = new Map<string, AnswerRow[]>();

/**
 * Marks an answer as indexed soon, together with others of its workspace. If the isolate dies before, the sweep indexes the
 * answer once more.
 */
export async function confirmIndexedSoon(op: IndexOperation, answer: AnswerRow): Promise<void> {
  const gathered = unmarked.get(answer.workspaceId);
  if (gathered) return void gathered.push(answer);
  const answers = [answer];
  unmarked.set(answer.workspaceId, answers);
  await scheduler.wait(MARK_DELAY_MS);
  unmarked.delete(answer.workspaceId);
  await confirmIndexed(op, answers);
}

/** Marks answers of one workspace as indexed, and removes from the index those that were deleted meanwhile. */
export async function confirmIndexed({ env, meter, nowMs }: IndexOperation, answers: readonly AnswerRow[]): Promise<void> {
  const { workspaceId } = answers[0]!;
  const db = dbFor(env, workspaceId, meter);
  const versions = Object.fromEntries(answers.map(({ id, updatedAt }) => [id, updatedAt]));
  const [marked] = await db.batch([markIndexed(db, workspaceId, versions, nowMs)]);
  const existing = new Set(marked.map(({ id }) => id));
  for (const { id, agentId } of answers) if (!existing.has(id)) await indexOf(env, meter, workspaceId, agentId).removeAnswer(id);
}

/** Indexes an answer whose request died before doing so. */
export async function indexAnswer(op: IndexOperation, answer: AnswerRow): Promise<void> {
  await putAnswer(op, answer);
  await confirmIndexed(op, [answer]);
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
