import type { Question } from "../../src/chat/question.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";

/** A question as a channel makes it: the first of a new conversation, with identifiers of its own. */
export function questionOf(workspaceId: string, agentId: string, changes: Partial<Question> = {}): Question {
  const { nowMs = Date.now() } = changes;
  const nextId = () => newId(shardOf(workspaceId), nowMs);
  return {
    workspaceId,
    agentId,
    conversationId: nextId(),
    isNew: true,
    channel: "api",
    message: "Hello",
    visitor: null,
    quota: { period: new Date(nowMs).toISOString().slice(0, 7), limit: 1_000 },
    maxMessages: 1_000,
    leadLimit: { flow: "leads", perDay: 1_000, sender: null },
    questionId: nextId(),
    answerId: nextId(),
    visitorId: nextId(),
    nowMs,
    ...changes,
  };
}
