import { findAgent } from "../agents/store.ts";
import { findAnsweringVersion } from "../agents/version-store.ts";
import { withVersion } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import { findConversation, findLatestHandoff, listTranscript } from "../conversations/store.ts";
import { humanRequestLanguage } from "../text/intents.ts";
import { MAX_HISTORY_MESSAGES } from "../models/limits.ts";
import type { HistoryMessage, Model } from "../models/model.ts";
import type { Operation } from "../platform/db/client.ts";
import { type Answer, makeAnswer } from "./answer.ts";
import { searchTool } from "./built-in-tools.ts";
import { toHistoryMessage, visitorMessagesIn } from "./question.ts";
import { lastQuestions, searchFor } from "./search.ts";

/** How many of the latest messages and notes are read. */
const MAX_MESSAGES = 60;

/** A conversation as an agent reads it that writes for the team: without notes. */
export interface ReadConversation {
  /** The agent with the settings of the version that answers the conversation. */
  agent: AgentRow;
  messages: Awaited<ReturnType<typeof listTranscript>>;
  handoff: Awaited<ReturnType<typeof findLatestHandoff>>[number] | undefined;
  /** The time of the message after which the context begins. It is 0 if the conversation was not reopened, or if this message is not read. */
  contextAfterMs: number;
}

/**
 * Reads a conversation's latest messages, oldest first, with its agent. Returns undefined if the workspace has no such conversation.
 * @param redact masks the messages, some of which may have been stored before the workspace had anything masked.
 */
export async function readConversation(
  { db, workspaceId }: Operation,
  conversationId: string,
  redact: (text: string) => string = (text) => text,
): Promise<ReadConversation | undefined> {
  const [[conversation], [handoff], latest] = await db.batch([
    findConversation(db, workspaceId, conversationId),
    findLatestHandoff(db, workspaceId, conversationId),
    listTranscript(db, { workspaceId, conversationId }, { limit: MAX_MESSAGES }),
  ]);
  if (!conversation) return undefined;
  const { agentId, contextAfter } = conversation;
  const [[agent], [answering]] = await db.batch([
    findAgent(db, workspaceId, agentId),
    findAnsweringVersion(db, { workspaceId, agentId }, conversationId),
  ]);
  const spoken = latest.filter(({ role }) => role === "user" || role === "assistant" || role === "human");
  const messages = spoken.map((message) => ({ ...message, content: redact(message.content) })).reverse();
  const contextAfterMs = latest.find(({ id }) => id === contextAfter)?.createdAt ?? 0;
  return agent && { agent: withVersion(agent, answering?.version ?? null), messages, handoff, contextAfterMs };
}

/** What a reply is suggested for: the visitor's last message that asks for something other than a person. */
export interface OpenQuestion {
  message: string;
  history: HistoryMessage[];
}

/**
 * Returns what a reply is suggested for; undefined if the visitor wrote nothing, or only asked for a person. The messages before a
 * resolution are not the history of a question after it.
 */
export function openQuestionOf({ agent, messages, contextAfterMs }: ReadConversation): OpenQuestion | undefined {
  const at = messages.findLastIndex(({ role, content }) => role === "user" && humanRequestLanguage(content, agent.language) === undefined);
  const asked = messages[at];
  if (!asked) return undefined;
  const before = messages.slice(Math.max(0, at - MAX_HISTORY_MESSAGES), at);
  const inContext = before.filter(({ createdAt }) => createdAt > contextAfterMs || asked.createdAt <= contextAfterMs);
  return { message: asked.content, history: inContext.map(toHistoryMessage) };
}

/**
 * Makes the answer that the agent would give, however unsure it is. It calls none of the agent's tools, and nothing is stored.
 * @param onText receives the pieces of the answer. It must not throw.
 * @returns an answer with a hand-off if there is nothing to suggest; its reason is `model_failure` if the model failed.
 */
export async function suggestReply(
  op: Operation,
  model: Model,
  { agent, conversationId, question }: { agent: AgentRow; conversationId: string; question: OpenQuestion },
  onText: (text: string) => void,
): Promise<Answer> {
  const { message, history } = question;
  const asked = { workspaceId: op.workspaceId, agentId: agent.id, conversationId, message };
  const { retrieval } = await searchFor({ op, question: asked }, message, lastQuestions(visitorMessagesIn(history)));
  const tools = [searchTool({ op, question: asked })];
  const request = { question: asked, agent: { ...agent, confidenceThreshold: 0, handoffWords: [] }, history, retrieval, tools, topics: [] };
  return makeAnswer(model, request, onText);
}
