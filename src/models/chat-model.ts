/*
 * The interface to chat models: their requests, and the parts of their replies. chat-servers.ts implements it for servers of the OpenAI
 * protocol and for Workers AI.
 */

export interface ChatModel {
  /** The model's name on its server. */
  readonly name: string;
  /** Whether its server refuses fields that others ignore, as OpenAI's and Google's do. */
  readonly hasStrictServer?: boolean;
  /** Calls the model. @throws ModelCallError if the server refuses; any other error if it cannot be reached. */
  stream(call: ModelCall): Promise<ModelStream>;
}

export interface ModelCall extends ReasoningFields {
  messages: readonly ChatMessage[];
  /** Tools that the messages name are listed even where none may be called. */
  tools?: readonly ToolDefinition[];
  toolChoice?: "auto" | "none";
  maxOutputTokens: number;
  abortSignal: AbortSignal;
}

/** The fields of a request that set whether a model reasons, and how much. */
export interface ReasoningFields {
  chat_template_kwargs?: { enable_thinking: boolean };
  reasoning_effort?: "low" | "none";
}

export type ChatMessage =
  | { role: "system" | "user"; text: string; images?: readonly PromptImage[] }
  | { role: "assistant"; text: string; reasoning?: string; reasoningField?: ReasoningField | undefined; toolCalls?: readonly ToolCall[] }
  | { role: "tool"; call: ToolCall; text: string };

/** A field of a message in which a server writes its model's reasoning, and takes it back. Servers refuse it under another name. */
export type ReasoningField = "reasoning_content" | "reasoning";

/** An image that the model sees beside a text. */
export interface PromptImage {
  type: string;
  bytes: Uint8Array;
}

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

interface ToolDefinition {
  name: string;
  description: string;
  parameters: JsonSchema;
}

/** A call of a tool, with its input as the JSON text that the model wrote. */
export interface ToolCall {
  id: string;
  name: string;
  input: string;
  /** A value, such as a signature, that the server needs back together with the call. */
  extra?: unknown;
}

/** Why a model stopped. A reply that broke off ends with "error". */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "error";

/** The number of tokens of a call; null if the server does not tell. */
export interface TokenUsage {
  input: number | null;
  output: number | null;
}

export type ModelPart =
  | { type: "text"; text: string }
  /** `field` is undefined if the server does not take the reasoning back. */
  | { type: "reasoning"; text: string; field?: ReasoningField }
  /** The model has begun to write tool calls. Each follows as a whole. */
  | { type: "tool-input" }
  | { type: "tool-call"; call: ToolCall }
  | { type: "finish"; reason: FinishReason; usage?: TokenUsage }
  | { type: "error"; error: Error };

/** A reply that is being written. */
export interface ModelStream {
  /** Returns all parts since the last read, at least one; undefined at the end. */
  read(): Promise<ModelPart[] | undefined>;
  cancel(): void;
}

const TOO_MANY_REQUESTS = 429;
/** Timeouts and conflicts are worth a retry, unlike other client errors. */
const PASSING = new Set([408, 409, TOO_MANY_REQUESTS]);

/** Thrown where a server refused a call. It does not have the server's message, which may contain a key or a visitor's words. */
export class ModelCallError extends Error {
  /** @param status undefined if it is unknown. */
  constructor(
    readonly status: number | undefined,
    readonly retryAfter: string | null = null,
  ) {
    super(`status ${status ?? "none"}`);
  }

  /** Whether the same call would be refused again. */
  get isPermanent(): boolean {
    return this.status !== undefined && this.status < 500 && !PASSING.has(this.status);
  }

  get isRateLimit(): boolean {
    return this.status === TOO_MANY_REQUESTS;
  }
}
