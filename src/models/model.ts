import type { JSONSchema7 } from "@ai-sdk/provider";
import type { HandoffReason } from "../platform/db/columns.ts";
import type { Passage, Retrieval } from "./retrieval.ts";

/** A question, and what was found of the agent's knowledge to answer it by. */
export interface KnowledgeQuestion {
  question: string;
  /** The visitor's earlier turns, oldest first. */
  previousQuestions: string[];
  retrieval: Retrieval;
  /** The operator's words on how this agent should answer. */
  instructions: string | null;
  /** The language to answer in, as a BCP 47 tag. */
  language: string;
}

/** One earlier message of the conversation; what a colleague of the team wrote was said by the agent's side too. */
export interface Said {
  by: "visitor" | "agent";
  text: string;
}

/** What a model is asked. */
export interface ModelRequest extends KnowledgeQuestion {
  agentName: string;
  /** The operator's words for a visitor who has asked nothing yet. */
  welcomeMessage: string;
  /** The operator's choice of a model for this agent; null: the deployment's. */
  modelName: string | null;
  /** What was said before in this context, oldest first. */
  history: Said[];
  /** What the model may do beside answering, made for this turn alone. */
  tools: Tool[];
}

/** How sure a reply to a greeting or to thanks is: it is answered in kind, and rightly so nearly always. */
export const SMALL_TALK_CONFIDENCE = 0.9;

/**
 * How a reply begins. Whether there is an answer is known before its first word, so that whoever asked can still refuse
 * it: what was said cannot be taken back. `confidence` is the probability, 0..1, that the answer is right.
 */
export type Opening =
  | {
      outcome: "answered";
      confidence: number;
      /** The answer in the pieces that it comes in. It throws HandedOff, or any fault, where it breaks off; `return` stops the model. */
      text: AsyncIterableIterator<string, void>;
      /** What it rests on: complete when the text has ended. */
      cited: Passage[];
    }
  | { outcome: "no_answer"; confidence: number }
  | { outcome: "handed_off"; reason: HandoffReason; confidence: number };

/** Answers a question from what was found of the agent's knowledge, or says that it cannot. */
export interface Model {
  /** @throws Error when the model fails before its first word. */
  answer(request: ModelRequest): Promise<Opening>;
}

/** The model gives the conversation to a human, in the middle of an answer too. */
export class HandedOff extends Error {
  constructor(readonly reason: HandoffReason) {
    super(`handed off: ${reason}`);
  }
}

/** What a tool's run comes to. What was found is quoted to the model as data. */
export type ToolOutcome =
  /** More of the agent's knowledge. */
  | { kind: "found"; query: string; retrieval: Retrieval }
  /** Anything else that the model may rest its answer on. */
  | { kind: "data"; text: string }
  /** That something was done, or why not: words of ours, which the model reads unquoted. */
  | { kind: "note"; text: string }
  /** It did not work: `note` is ours, `text` what the other side said of it, which no answer may rest on. */
  | { kind: "failed"; note: string; text: string }
  /** The end of the turn. */
  | { kind: "handed_off"; reason: HandoffReason };

/** Something that a model may ask for. Made for one turn, so that it knows whose conversation it acts in. */
export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of an object; what does not fit it never reaches `run`. */
  parameters: JSONSchema7;
  /** For one run, where the runner's own limit does not hold. */
  timeoutMs?: number;
  /** @throws Error when it fails: a human takes over, by `tool_failure`. */
  run(input: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
}
