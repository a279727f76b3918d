import type { HandoffReason } from "../platform/db/columns.ts";
import type { FinishReason, JsonSchema, TokenUsage } from "./chat-model.ts";
import type { Passage, Retrieval } from "./retrieval.ts";

/*
 * The ports to everything that runs a model. `providers.ts` chooses an engine for each from the deployment's configuration:
 * - Model: a language model on an OpenAI-compatible server or on Workers AI (`language-model.ts`); with neither, the
 *   extractive engine, which quotes the knowledge and needs no network (`extractive.ts`);
 * - Embeddings: an OpenAI-compatible server or Workers AI; with neither, search is lexical;
 * - Reranker: Workers AI, where it is switched on.
 */

/** Answers a question from what retrieval found of the agent's knowledge, or says that it cannot. */
export interface Model {
  /** @throws Error when the model fails before the first token of its answer. */
  answer(request: ModelRequest): Promise<ModelReply>;
}

export interface ModelRequest {
  question: string;
  retrieval: Retrieval;
  history: HistoryMessage[];
  agentName: string;
  /** The operator's text on how this agent should answer. */
  instructions: string | null;
  /** The operator's greeting of new visitors; empty where they have none of their own. */
  welcomeMessage: string;
  /** What the agent knows about, in a few names; without them it does not say. */
  topics?: readonly string[];
  /** The language to answer in, as a BCP 47 tag. */
  language: string;
  /** The model that the operator chose for this agent; null for the deployment's. */
  modelName: string | null;
  /** Created for this turn alone. */
  tools: Tool[];
  observer?: ModelObserver | undefined;
}

/** Is told what is done for an answer. It must not throw. */
export interface ModelObserver {
  modelCalled(call: ModelCallReport): void;
  toolCalled(call: ToolCallReport): void;
}

/** One call of a model that has ended. */
export interface ModelCallReport {
  /** By its server's name. */
  model: string;
  durationMs: number;
  /** Until it began to write; null where it did not. */
  firstTokenMs: number | null;
  usage: TokenUsage;
  /** Why it stopped; null where its reply was not read to the end. */
  finish: FinishReason | null;
  /** How it failed, in our own words. */
  failure: string | null;
}

/** One call of a tool that a model asked for. */
export interface ToolCallReport {
  name: string;
  /** The JSON text that the model wrote. */
  input: string;
  durationMs: number;
  /** A note where it was not run; undefined where it failed by an error of our own. */
  outcome: ToolOutcome | undefined;
}

/** What a human agent wrote has the role "agent" too. */
export interface HistoryMessage {
  role: "visitor" | "agent";
  text: string;
  /** Somebody else says that it was written: an agent's message too is quoted then. */
  isReported?: boolean;
}

/**
 * The outcome is known before the first token of the text, so that the caller can still refuse an answer that is too
 * unsure: a streamed text cannot be taken back. `confidence` is the probability, 0..1, that the answer is right.
 */
export type ModelReply =
  | {
      outcome: "answered";
      confidence: number;
      /** Text deltas. Throws HandoffError, or any other error, where the answer breaks off; `return` stops the model. */
      text: AsyncIterableIterator<string, void>;
      /** Complete when the text has ended. */
      cited: Passage[];
    }
  | { outcome: "no_answer"; confidence: number }
  | { outcome: "handed_off"; reason: HandoffReason; confidence: number };

/** A text as a stream of one delta. */
export async function* singleDelta(text: string): AsyncGenerator<string, void> {
  yield text;
}

/** The confidence of a reply to a greeting or to thanks, which is nearly always right. */
export const SMALL_TALK_CONFIDENCE = 0.9;

/** The model hands the conversation to a human, possibly in the middle of an answer. */
export class HandoffError extends Error {
  constructor(readonly reason: HandoffReason) {
    super(`handed off: ${reason}`);
  }
}

/** A function that a model may call. Created for one turn, so that it knows the conversation that it acts in. */
export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of an object; input that breaks it never reaches `run`. */
  parameters: JsonSchema;
  /** Whether the other side checks the input, which may be any object then: its schema may be written to keep a validator busy. */
  checksInput?: boolean;
  /** Overrides ModelLimits.toolMs. */
  timeoutMs?: number;
  /** @throws Error when it fails: a human takes over, by `tool_failure`. */
  run(input: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
}

/** The model reads what a tool found or received as quoted data. */
export type ToolOutcome =
  | { kind: "found"; query: string; retrieval: Retrieval }
  /** Anything else that the model may base its answer on. */
  | { kind: "data"; text: string; status?: number | undefined }
  /** Our own words on what was done, or why nothing was; not quoted. */
  | { kind: "note"; text: string }
  /** It failed: `note` is our own, `text` the other side's response, which no answer may be based on. */
  | { kind: "failed"; note: string; text: string }
  | { kind: "handed_off"; reason: HandoffReason };

/** Turns texts into vectors, whose cosine says how near their meanings are. */
export interface Embeddings {
  /** Names model and dimensions: vectors of different versions cannot be compared. */
  readonly version: string;
  /** The cosine of unrelated texts with this model: a lower one carries no information. */
  readonly unrelatedCosine: number;
  /**
   * The vectors of at most MAX_TEXTS_PER_EMBEDDING_CALL texts, in their order, all of one length.
   * @throws Error when the model is down, too slow, refuses a text or returns an invalid response.
   */
  embed(texts: readonly string[], timeoutMs: number): Promise<number[][]>;
}

/** The maximum of Workers AI. */
export const MAX_TEXTS_PER_EMBEDDING_CALL = 100;

/** A cross-encoder: it reads question and passage together, which is slower than comparing vectors, and more accurate. */
export interface Reranker {
  /**
   * How well each text answers the question, 0..1, in their order.
   * @throws Error when the model is down, too slow or returns an invalid response.
   */
  score(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}
