import type { ChatAnswer } from "./wire.ts";

/** What all parts of a completion begin with. */
export interface CompletionHead {
  id: string;
  created: number;
  /** The agent's id. */
  model: string;
}

/** The service counts messages, not tokens. */
export const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** An answer as a chat completion of OpenAI, with the service's own fields beside. */
export function toCompletion(head: CompletionHead, { answer: content, ...fields }: ChatAnswer) {
  const message = { role: "assistant" as const, content, refusal: null };
  const choice = { index: 0, message, logprobs: null, finish_reason: "stop" as const };
  return { ...head, object: "chat.completion" as const, choices: [choice], usage: NO_USAGE, ...fields };
}

/** A part of a streamed completion. */
export function completionChunk(head: CompletionHead, choices: object[], fields: object) {
  return { ...head, object: "chat.completion.chunk", choices, ...fields };
}

/** What a part adds to the completion's only choice. */
export function choiceDelta(delta: { role?: "assistant"; content?: string }, finishReason: "stop" | null = null) {
  return [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
}

/** What OpenAI's errors have beside code and message. @param param the path of the field that is wrong. */
export function completionError(status: number, param: string | null = null) {
  const types: Record<number, string> = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
  };
  return { type: types[status] ?? (status >= 500 ? "server_error" : "invalid_request_error"), param };
}
