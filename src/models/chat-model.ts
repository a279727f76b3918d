/*
 * The interface to chat models: what a request contains, and what a reply is read as. chat-servers.ts implements it for servers
 * of the OpenAI protocol and for Workers AI.
 */

/** A language model, by its server's name for it. */
export interface ChatModel {
  readonly name: string;
  /** Calls the model. @throws ModelCallError where the server refuses; any other error where it cannot be reached. */
  stream(call: ModelCall): Promise<ModelStream>;
}

export interface ModelCall extends ReasoningFields {
  messages: readonly ChatMessage[];
  /** Those that the messages name are listed even where none may be called. */
  tools?: readonly ToolDefinition[];
  toolChoice?: "auto" | "none";
  maxOutputTokens: number;
  abortSignal: AbortSignal;
}

/** The fields of a request that say whether a model reasons, and how much. */
export interface ReasoningFields {
  chat_template_kwargs?: { enable_thinking: boolean };
  reasoning_effort?: "low" | "none";
}

export type ChatMessage =
  | { role: "system" | "user"; text: string }
  | { role: "assistant"; text: string; reasoning?: string; toolCalls?: readonly ToolCall[] }
  | { role: "tool"; call: ToolCall; text: string };

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
  /** What the server wants back with the call, as a signature. */
  extra?: unknown;
}

/** Why a model stopped. A reply that was cut off ends with "error". */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "error";

/** How many tokens a call took, where the server says so. */
export interface TokenUsage {
  input: number | null;
  output: number | null;
}

export type ModelPart =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** It has begun to write the calls of tools, which follow whole. */
  | { type: "tool-input" }
  | { type: "tool-call"; call: ToolCall }
  | { type: "finish"; reason: FinishReason; usage?: TokenUsage }
  | { type: "error"; error: Error };

/** A reply while it is written. */
export interface ModelStream {
  /** All parts that have arrived since the last read, at least one; undefined at the end. */
  read(): Promise<ModelPart[] | undefined>;
  cancel(): void;
}

const TOO_MANY_REQUESTS = 429;
/** Timeouts and conflicts are worth a retry, unlike other client errors. */
const PASSING = new Set([408, 409, TOO_MANY_REQUESTS]);

/** A server refused a call. Its message is left out, since it may contain a key or what a visitor wrote. */
export class ModelCallError extends Error {
  /** @param status undefined where it is unknown. */
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
