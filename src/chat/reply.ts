import type { HandoffReason } from "../platform/db/columns.ts";
import { HANDOFF_SUMMARY_LENGTH } from "../conversations/status.ts";
import type { Citation } from "../conversations/wire.ts";
import { STRONG_MATCH } from "../knowledge/retrieval/curated.ts";
import { titleOf } from "../knowledge/wire.ts";
import { wantsHuman } from "../models/intent.ts";
import { HandedOff, type Model, type Opening, type Said, type Tool } from "../models/model.ts";
import type { CuratedMatch, Passage, Retrieval } from "../models/retrieval.ts";
import { describeFailure } from "../models/stream-with-retry.ts";
import type { agents } from "../platform/db/schema.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { truncate } from "../platform/text.ts";
import type { Turn } from "./turn.ts";

/** How much of a passage a citation shows. */
const SNIPPET_LENGTH = 300;

/** What is answered to a visitor. */
export interface Reply {
  text: string;
  citations: Citation[];
  confidence: number;
  handoff: { reason: HandoffReason; summary: string } | null;
}

/** A question, with all that answering it needs. */
export interface Question {
  turn: Turn;
  agent: typeof agents.$inferSelect;
  previousQuestions: string[];
  /** What was said before, oldest first. */
  history: Said[];
  retrieval: Retrieval;
  tools: Tool[];
}

/** Hears of an answer's pieces as a model writes them; what they join to is the beginning of the answer. It must not throw. */
export type DeltaListener = (text: string) => void;

/**
 * The agent's reply: a curated answer that matches word for word, else the model's; the hand-off message where the
 * visitor asks for a human, nothing answers the question, or the answer is too unsure. Nothing of an answer is heard of
 * before it is certain to be one.
 */
export async function replyTo(model: Model, question: Question, onDelta: DeltaListener): Promise<Reply> {
  const { turn, agent, retrieval } = question;
  if (wantsHuman(turn.message)) return handOff(question, "customer_request", 0);
  const [curated] = retrieval.curated;
  if (curated && curated.score >= STRONG_MATCH) return curatedReply(curated);
  const opening = await ask(model, question);
  if (opening === undefined) return failedReply(question);
  if (opening.outcome === "no_answer") return handOff(question, "missing_knowledge", opening.confidence);
  if (opening.outcome === "handed_off") return handOff(question, opening.reason, opening.confidence);
  if (opening.confidence >= agent.confidenceThreshold) return speak(question, opening, onDelta);
  await opening.text.return?.();
  return handOff(question, "low_confidence", opening.confidence);
}

/** What is answered when we could not answer: a human takes over. */
export function failedReply(question: Pick<Question, "turn" | "agent">): Reply {
  return handOff(question, "model_failure", 0);
}

/** A model that fails is a reason for a human, not for an error. */
async function ask(model: Model, question: Question): Promise<Opening | undefined> {
  const { turn, agent, previousQuestions, history, retrieval, tools } = question;
  const { name: agentName, model: modelName, instructions, language, welcomeMessage } = agent;
  const known = { agentName, modelName, instructions, language, welcomeMessage };
  const asked = { ...known, question: turn.message, previousQuestions, history, retrieval, tools };
  try {
    return await model.answer(asked);
  } catch (error) {
    logFailure(turn, error);
    return undefined;
  }
}

/** Reads an answer to its end. One that breaks off ends with the hand-off message: what was said cannot be taken back. */
async function speak(question: Question, opening: Extract<Opening, { outcome: "answered" }>, onDelta: DeltaListener): Promise<Reply> {
  let text = "";
  try {
    for await (const piece of opening.text) {
      text += piece;
      onDelta(piece);
    }
  } catch (error) {
    if (!(error instanceof HandedOff)) logFailure(question.turn, error);
    const reply = handOff(question, error instanceof HandedOff ? error.reason : "model_failure", 0);
    return text === "" ? reply : { ...reply, text: `${text}\n\n${reply.text}` };
  }
  return { text, citations: opening.cited.map(toCitation), confidence: opening.confidence, handoff: null };
}

function logFailure({ workspaceId, conversationId }: Turn, error: unknown): void {
  logProblem("model_failure", { workspace_id: workspaceId, conversation_id: conversationId, detail: describeFailure(error) });
}

function curatedReply({ answerId, question, answer, score }: CuratedMatch): Reply {
  const citation = { title: question, url: null, source_id: answerId, type: "answer" as const, snippet: snippetOf(answer), score };
  return { text: answer, citations: [citation], confidence: score, handoff: null };
}

function handOff({ turn, agent }: Pick<Question, "turn" | "agent">, reason: HandoffReason, confidence: number): Reply {
  const summary = truncate(turn.message, HANDOFF_SUMMARY_LENGTH);
  return { text: agent.handoffMessage, citations: [], confidence, handoff: { reason, summary } };
}

function toCitation(passage: Passage): Citation {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, snippet: snippetOf(content), score };
}

function snippetOf(content: string): string {
  return content.length <= SNIPPET_LENGTH ? content : `${truncate(content, SNIPPET_LENGTH).trimEnd()}…`;
}
