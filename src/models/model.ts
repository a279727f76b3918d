import type { HandoffReason } from "../platform/db/columns.ts";
import type { FinishReason, JsonSchema, ReasoningField, TokenUsage, ToolCall } from "./chat-model.ts";
import type { CitablePassage, Retrieval } from "./retrieval.ts";

/*
 * The ports to everything that runs a model. The deployment's configuration chooses an engine for each:
 * - Model (grounded/engine.ts): a language model on an OpenAI-compatible server or on Workers AI; with neither, the extractive engine,
 *   which quotes the knowledge and needs no network;
 * - Embeddings (retrieval-models.ts): an OpenAI-compatible server or Workers AI; with neither, the encoder of the service (encoder/)
 *   computes the vectors of sentences;
 * - Reranker (retrieval-models.ts): Workers AI, where it is switched on.
 */

/** Answers a question from the passages that retrieval found, or says that it cannot. */
export interface Model {
  /** Whether it sees the images of a question. */
  readonly seesImages?: boolean;
  /** @throws TurnSuspendedError if the turn waits for tools; any other error if the model fails before the first token of its answer. */
  answer(request: ModelRequest): Promise<ModelReply>;
  /** Writes a text of its own, without knowledge and tools. Only language models can. @throws Error if the model fails. */
  write?(task: WritingTask): Promise<string>;
}

/** A text that a model writes for the service itself, and not for a visitor. */
export interface WritingTask {
  /** Our own rules. */
  rules: string;
  /** What the model writes from, in which the texts of others are quoted. */
  material: string;
  /** As in `ModelRequest`. */
  modelName: string | null;
}

/** A file of a question. The model is told its name and type, and sees the image if there is one. */
export interface SentFile {
  name: string;
  type: string;
  image?: Uint8Array;
}

export interface ModelRequest {
  question: string;
  /** The files that the visitor sent with the question. */
  files?: readonly SentFile[];
  retrieval: Retrieval;
  history: HistoryMessage[];
  agentName: string;
  /** The operator's text on how this agent should answer. */
  instructions: string | null;
  /** The operator's greeting of new visitors; empty where they have none of their own. */
  welcomeMessage: string;
  /** The names of some of the agent's sources, which an answer to small talk mentions. */
  topics?: readonly string[];
  /** The language to answer in, as a BCP 47 tag. */
  language: string;
  /** The model that the operator chose for this agent; null for the deployment's. */
  modelName: string | null;
  tools: Tool[];
  /** The earlier rounds of a turn that waited for the results of tools. They are not run again. */
  rounds?: readonly ToolRound[] | undefined;
  observer?: ModelObserver | undefined;
}

/** One call of a model that asked for tools, with what they returned. It is plain data, so that it can be stored. */
export interface ToolRound {
  text: string;
  reasoning: string;
  reasoningField?: ReasoningField | undefined;
  report: ModelCallReport;
  calls: CalledTool[];
  /** Whether an earlier answer has shown the text to the visitor. */
  isRead?: boolean;
}

/** A tool call that has ended. Its outcome is undefined if the tool threw an error. */
export interface CalledTool {
  call: ToolCall;
  outcome: ToolOutcome | undefined;
  durationMs: number;
}

/** Receives a report of each call for an answer. Its methods must not throw. */
export interface ModelObserver {
  modelCalled(call: ModelCallReport): void;
  toolCalled(call: ToolCallReport): void;
}

/** One call of a model that has ended. */
export interface ModelCallReport {
  /** The model's name on its server. */
  model: string;
  durationMs: number;
  /** The time until it began to write; null if it did not. */
  firstTokenMs: number | null;
  usage: TokenUsage;
  /** Why it stopped; null if its reply was not read to the end. */
  finish: FinishReason | null;
  /** How it failed, without the server's own text; null if it did not. */
  failure: string | null;
}

/** One call of a tool that a model asked for. */
export interface ToolCallReport {
  name: string;
  /** The JSON text that the model wrote. */
  input: string;
  durationMs: number;
  /** A note where the tool was not run; undefined if it threw an error. */
  outcome: ToolOutcome | undefined;
}

/** An earlier message of the conversation. Human colleagues have the role "agent" too. */
export interface HistoryMessage {
  role: "visitor" | "agent";
  text: string;
  /** Whether a caller reports the message, who may have made it up. The prompt then quotes an agent's message too. */
  isReported?: boolean;
}

/**
 * A model's reply. Its outcome is known before the first token of the text: the caller can refuse an answer that is too unsure, and a
 * streamed text cannot be taken back. `confidence` is the probability, 0..1, that the answer is right.
 */
export type ModelReply =
  | {
      outcome: "answered";
      /** It may change while the text is read, and is final when the text has ended. */
      readonly confidence: number;
      /** The text in pieces. Throws HandoffError, TurnSuspendedError or any other error if the answer breaks off; `return` stops the model. */
      text: AsyncIterableIterator<string, void>;
      /** Complete when the text has ended. */
      cited: CitablePassage[];
    }
  | { outcome: "no_answer"; confidence: number }
  | { outcome: "handed_off"; reason: HandoffReason; confidence: number };

/** The confidence of a reply to small talk, which is nearly always right. */
export const SMALL_TALK_CONFIDENCE = 0.9;

/** Thrown where the model hands the conversation to a human, possibly in the middle of an answer. */
export class HandoffError extends Error {
  constructor(readonly reason: HandoffReason) {
    super(`handed off: ${reason}`);
  }
}

/** Thrown where the model called tools whose results come later. The turn goes on from its rounds once the awaited outcomes are filled in. */
export class TurnSuspendedError extends Error {
  /** @param text what the visitor has seen of the answer. */
  constructor(
    readonly rounds: ToolRound[],
    readonly text = "",
  ) {
    super("the turn waits for the results of tools");
  }
}

/** A function that a model may call. It is created for one turn, and knows its conversation. */
export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of an object. `run` gets only input that is valid by it. */
  parameters: JsonSchema;
  /** Whether the tool checks its input itself, so that `run` gets any object: the schema of a stranger may keep a validator busy. */
  checksInput?: boolean;
  /** Overrides ModelLimits.toolMs. */
  timeoutMs?: number;
  /** @throws Error if it fails: a human takes over, with the reason `tool_failure`. */
  run(input: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
  /** Makes a call that the team has approved, where `run` asks for the approval. */
  runApproved?(input: Record<string, unknown>): Promise<ToolOutcome>;
}

/** The outcome of a tool call. The model reads everything but notes as quoted data. */
export type ToolOutcome =
  | { kind: "found"; query: string; retrieval: Retrieval }
  /** A result on which the model may base its answer. */
  | { kind: "data"; text: string; status?: number | undefined }
  /** Our own text on what was done, or why nothing was. */
  | { kind: "note"; text: string }
  /** `note` is our own text, and `text` the other side's response, on which no answer may be based. */
  | { kind: "failed"; note: string; text: string }
  | { kind: "handed_off"; reason: HandoffReason }
  /** The result comes later, from the caller who runs the tool or after the team has approved the call. The turn waits for it. */
  | { kind: "awaited"; from: "caller" | "team" };

/** Turns texts into vectors. The cosine of two vectors tells how near the meanings of their texts are. */
export interface Embeddings {
  /** The name of the model and its dimensions. Vectors of different versions cannot be compared. */
  readonly version: string;
  /** The cosine of unrelated texts with this model: a lower one carries no information. */
  readonly unrelatedCosine: number;
  /**
   * Returns the vectors of at most MAX_TEXTS_PER_EMBEDDING_CALL texts, in their order, all of one length.
   * @throws Error if the model is down, too slow, refuses a text or returns an invalid response.
   */
  embed(texts: readonly string[], timeoutMs: number): Promise<number[][]>;
}

/** The maximum of Workers AI. */
export const MAX_TEXTS_PER_EMBEDDING_CALL = 100;

/** A cross-encoder, which reads question and passage together. It is slower than comparing vectors, and more accurate. */
export interface Reranker {
  /**
   * Returns how well each text answers the question, 0..1, in the order of the texts.
   * @throws Error if the model is down, too slow or returns an invalid response.
   */
  score(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}
