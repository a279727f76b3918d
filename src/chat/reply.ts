import { HANDOFF_SUMMARY_LENGTH, type HandoffReason } from "../conversations/status.ts";
import type { Citation } from "../conversations/wire.ts";
import type { agents } from "../db/schema.ts";
import { STRONG_MATCH } from "../knowledge/curated.ts";
import type { CuratedMatch, Passage, Retrieval } from "../knowledge/passage.ts";
import { titleOf } from "../knowledge/wire.ts";
import type { Model, ModelReply } from "../models/model.ts";
import { wantsHuman } from "../models/wish.ts";
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

interface Question {
  turn: Turn;
  agent: typeof agents.$inferSelect;
  previousQuestions: string[];
  retrieval: Retrieval;
}

/**
 * The agent's reply: a curated answer that matches word for word, else the model's; the hand-off message where the
 * visitor asks for a human, nothing answers the question, or the answer is too unsure.
 */
export async function replyTo(model: Model, question: Question): Promise<Reply> {
  const { turn, agent, retrieval } = question;
  if (wantsHuman(turn.message)) return handOff(question, "customer_request", 0);
  const [curated] = retrieval.curated;
  if (curated && curated.score >= STRONG_MATCH) return curatedReply(curated);
  const reply = await ask(model, question);
  if (reply === undefined) return failedReply(question);
  if (reply.outcome === "no_answer") return handOff(question, "missing_knowledge", reply.confidence);
  if (reply.confidence < agent.confidenceThreshold) return handOff(question, "low_confidence", reply.confidence);
  return { text: reply.text, citations: reply.cited.map(toCitation), confidence: reply.confidence, handoff: null };
}

/** What is answered when we could not answer: a human takes over. */
export function failedReply(question: Question): Reply {
  return handOff(question, "model_failure", 0);
}

/** A model that fails is a reason for a human, not for an error. */
async function ask(model: Model, { turn, agent, previousQuestions, retrieval }: Question): Promise<ModelReply | undefined> {
  const { instructions, language } = agent;
  try {
    return await model.answer({ question: turn.message, previousQuestions, retrieval, instructions, language });
  } catch (error) {
    console.error(JSON.stringify({ event: "model_failure", conversation_id: turn.conversationId, detail: String(error) }));
    return undefined;
  }
}

function curatedReply({ answerId, question, answer, score }: CuratedMatch): Reply {
  const citation = { title: question, url: null, source_id: answerId, type: "answer" as const, snippet: snippetOf(answer), score };
  return { text: answer, citations: [citation], confidence: score, handoff: null };
}

function handOff({ turn, agent }: Question, reason: HandoffReason, confidence: number): Reply {
  const summary = firstOf(turn.message, HANDOFF_SUMMARY_LENGTH);
  return { text: agent.handoffMessage, citations: [], confidence, handoff: { reason, summary } };
}

function toCitation(passage: Passage): Citation {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, snippet: snippetOf(content), score };
}

function snippetOf(content: string): string {
  return content.length <= SNIPPET_LENGTH ? content : `${firstOf(content, SNIPPET_LENGTH).trimEnd()}…`;
}

/** The first `length` UTF-16 units of a text, without half a character at its end. */
function firstOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}
