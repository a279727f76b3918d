/** The time limits of a model. Tests shorten them. */
export interface ModelLimits {
  firstTokenMs: number;
  /** The time between two parts of a stream. */
  idleMs: number;
  /** The time for a whole answer, including its tool calls. */
  answerMs: number;
  /** The time for one tool call, where the tool does not set its own. */
  toolMs: number;
  /** The wait before a failed call is retried, where the server sends no `Retry-After`. */
  retryDelayMs: number;
  /** A call with a longer `Retry-After` is not retried: the visitor is waiting. */
  maxRetryAfterMs: number;
}

export const MODEL_LIMITS: ModelLimits = {
  // A cold model takes seconds to load. Two calls are about as long as a visitor waits.
  firstTokenMs: 12_000,
  idleMs: 15_000,
  answerMs: 90_000,
  toolMs: 15_000,
  retryDelayMs: 250,
  maxRetryAfterMs: 5_000,
};

/** A model on this machine is loaded by its first request, and may read the prompt slowly. */
export const LOCAL_MODEL_LIMITS: ModelLimits = { ...MODEL_LIMITS, firstTokenMs: 40_000 };

/** Some 700 words: a long answer of a support agent, with room for the header and for reasoning. */
export const MAX_OUTPUT_TOKENS = 1_500;
/** The limit is that of a human's reply. It also bounds the answers of servers that ignore MAX_OUTPUT_TOKENS. */
export const MAX_ANSWER_LENGTH = 8_000;
/** The size of one response: the longest answer and its reasoning, framed as an event stream. */
export const MAX_RESPONSE_BYTES = 4 * 1_024 * 1_024;
/** The tools of an agent, where an MCP server counts as one. */
export const MAX_TOOLS = 20;
/** Consecutive rounds of tool calls before the model has to answer. */
export const MAX_TOOL_ROUNDS = 5;
/** Tool calls for one answer. Each of several parallel calls counts. */
export const MAX_TOOL_CALLS = 10;

/** How many earlier messages of both sides a model is offered; the size of its context decides how many it reads. */
export const MAX_HISTORY_MESSAGES = 16;
/** Token budgets of the prompt. Together with the rest of it and a few results of tools, they fit a context window of 16,000 tokens. */
export const HISTORY_TOKENS = 2_000;
export const PASSAGE_TOKENS = 4_000;
/** The passages of all searches of a turn. */
export const ALL_PASSAGES_TOKENS = 2 * PASSAGE_TOKENS;
export const TOOL_RESULT_TOKENS = 1_000;

/** The models on Workers AI that are used where neither the deployment nor the agent names one. */
export const WORKERS_AI_MODELS = {
  /** It can call tools and stream, and knows many languages. */
  language: "@cf/zai-org/glm-4.7-flash",
  /** It knows many languages, and reads 8,192 tokens of a text. */
  embedding: "@cf/baai/bge-m3",
  reranker: "@cf/baai/bge-reranker-base",
} as const;

/** The dimensions of the embedding model on Workers AI; the Vectorize index is created with them. */
export const WORKERS_AI_DIMENSIONS = 1_024;
