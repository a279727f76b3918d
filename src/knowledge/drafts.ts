import type { z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import type { Database } from "../platform/db/client.ts";
import type { Limits } from "../workspaces/plans.ts";
import { type AnswerChange, putAnswer } from "./answers.ts";
import {
  acceptDrafts,
  createAcceptedAnswer,
  dismissDrafts,
  findAnswerOfDraft,
  listDrafts,
  type ReplyKey,
  setDraftQuestion,
} from "./draft-store.ts";
import { type Draft, mergeDrafts, withoutSalutation } from "./merge-drafts.ts";
import { similarityOf, wordingOf } from "./retrieval/question-similarity.ts";
import type { KnowledgeOperation } from "./sources.ts";
import type { draftAcceptSchema } from "./wire.ts";

/** Lists an agent's drafts that are neither accepted nor dismissed, merged, the latest first; undefined if there is no such agent. */
export async function listOpenDrafts({ db, workspaceId, agentId }: KnowledgeOperation): Promise<Draft[] | undefined> {
  const [[agent], rows] = await db.batch([findAgentBrief(db, workspaceId, agentId), listDrafts(db, workspaceId, agentId)]);
  if (!agent) return undefined;
  const open = mergeDrafts(rows, agent.language).filter((draft) => draft.every(({ status }) => status === "pending"));
  return open.sort((a, b) => b.at(-1)!.updatedAt - a.at(-1)!.updatedAt);
}

/**
 * Makes one curated answer of a draft and its equivalents, and indexes it. A draft that is accepted again keeps its answer.
 * @returns undefined when the agent has no such draft.
 */
export async function acceptDraft(
  op: KnowledgeOperation,
  limits: Limits,
  draftId: string,
  edits: z.output<typeof draftAcceptSchema>,
): Promise<AnswerChange | undefined> {
  const { db, workspaceId, agentId, nowMs } = op;
  const found = await findDraft(op, draftId);
  if (!found) return undefined;
  const { question, answer } = found[0];
  const text = { question: edits.question ?? question, answer: edits.answer ?? withoutSalutation(answer), metadata: edits.metadata ?? {} };
  const ids = { id: op.newId(), workspaceId, agentId };
  const [, , [accepted]] = await db.batch([
    createAcceptedAnswer(db, { ...ids, ...text, createdAt: nowMs, updatedAt: nowMs }, draftId, limits.answers_per_agent),
    acceptDrafts(db, workspaceId, idsOf(found), ids.id, nowMs),
    findAnswerOfDraft(db, workspaceId, draftId),
  ]);
  if (!accepted) return found[0].status === "accepted" ? undefined : { outcome: "too_many" };
  if (accepted.id === ids.id) await putAnswer(op, accepted);
  return { outcome: "done", answer: accepted };
}

/**
 * Makes the draft of a reply carry the question that the reply answers: of what the visitor has written since the hand-off, the message
 * that has the most words in common with it. Of equals it is the latest.
 * @param questions as `listQuestionsBefore` returns them.
 */
export async function matchDraftQuestion(
  db: Database,
  reply: ReplyKey & { content: string },
  questions: readonly { content: string; language: string }[],
): Promise<void> {
  const [latest] = questions;
  if (questions.length < 2 || !latest) return;
  const answer = wordingOf(reply.content, latest.language);
  const similarities = questions.map(({ content, language }) => similarityOf(wordingOf(content, language), answer));
  const { content } = questions[similarities.indexOf(Math.max(...similarities))]!;
  await db.batch([setDraftQuestion(db, reply, content)]);
}

/**
 * Dismisses a draft and its equivalents.
 * @returns false when the agent has no such draft, or it is accepted.
 */
export async function dismissDraft(op: KnowledgeOperation, draftId: string): Promise<boolean> {
  const { db, workspaceId, nowMs } = op;
  const found = await findDraft(op, draftId);
  if (!found || found[0].status === "accepted") return false;
  await db.batch([dismissDrafts(db, workspaceId, idsOf(found), nowMs)]);
  return true;
}

/** Finds a draft with its equivalents; an accepted draft has none. */
async function findDraft({ db, workspaceId, agentId }: KnowledgeOperation, draftId: string): Promise<Draft | undefined> {
  const [[agent], rows] = await db.batch([findAgentBrief(db, workspaceId, agentId), listDrafts(db, workspaceId, agentId)]);
  const row = rows.find(({ id }) => id === draftId);
  if (!agent || !row) return undefined;
  return mergeDrafts(rows, agent.language).find((draft) => draft.includes(row)) ?? [row];
}

function idsOf(rows: Draft): string[] {
  return rows.map(({ id }) => id);
}
