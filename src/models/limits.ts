/** How long a model may take, and how much it may read and write. Tests give it less time. */
export interface ModelLimits {
  /** Until the first sign of an answer, for each call of the model. */
  firstTokenMs: number;
  /** Between two signs of life. */
  idleMs: number;
  /** For a whole answer, its tools included. */
  answerMs: number;
  /** For one run of a tool, where the tool itself sets none. */
  toolMs: number;
  /** Before a failed call is tried again, where the server names no time itself. */
  retryPauseMs: number;
  /** The longest that a server's own `Retry-After` is waited for; a visitor waits as well. */
  maxRetryAfterMs: number;
}

export const MODEL_LIMITS: ModelLimits = {
  // A model that is loaded first takes seconds. Tried twice, this is about as long as a visitor waits.
  firstTokenMs: 12_000,
  idleMs: 15_000,
  answerMs: 90_000,
  toolMs: 15_000,
  retryPauseMs: 250,
  maxRetryAfterMs: 5_000,
};

/** Some 700 words: a long answer of a support agent, with room for the header and for thinking. */
export const MAX_OUTPUT_TOKENS = 1_500;
/** As long as a human's reply may be. A server that ignores MAX_OUTPUT_TOKENS is cut off here. */
export const MAX_ANSWER_LENGTH = 8_000;
/** The most that is read of one response: twenty bytes of framing for each of an answer's, thinking included. */
export const MAX_RESPONSE_BYTES = 4 * 1_024 * 1_024;
/** Calls of tools that follow one another before the model has to answer. */
export const MAX_TOOL_ROUNDS = 5;
/** Tools that a model may run for one answer, those that it asks for side by side counted each. */
export const MAX_TOOL_CALLS = 10;

/** What the model is given to read, in tokens: together with the rest it fits a context of 16,000. */
export const HISTORY_TOKENS = 2_000;
export const PASSAGE_TOKENS = 4_000;
export const TOOL_RESULT_TOKENS = 1_000;

/** The length of the vectors of the model on Workers AI; the Vectorize index is made with it. */
export const WORKERS_AI_DIMENSIONS = 1_024;
