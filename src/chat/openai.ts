import type { StreamEvent, StreamFormat } from "./stream-formats.ts";
import type { ChatAnswer } from "./wire.ts";

/** The fields with which a completion and each of its chunks begin. */
export interface CompletionHead {
  id: string;
  created: number;
  /** The agent's id. */
  model: string;
}

/** The end of each stream of OpenAI and of the AI SDK. */
export const DONE = "[DONE]";

/** The service counts messages, not tokens. */
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Returns an answer as a chat completion of OpenAI, which also has the service's own fields. */
export function toCompletion(head: CompletionHead, { answer: content, ...fields }: ChatAnswer) {
  const calls = toolCallsOf(fields);
  const message = { role: "assistant" as const, content, refusal: null, ...(calls.length > 0 && { tool_calls: calls }) };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReasonOf(fields) };
  return { ...head, object: "chat.completion" as const, choices: [choice], usage: NO_USAGE, ...fields };
}

/** Returns the tool calls that an answer waits for, as OpenAI's clients read them. */
function toolCallsOf({ required_action: action }: Pick<ChatAnswer, "required_action">) {
  return (action?.tool_calls ?? []).map(({ id, name, arguments: input }) => {
    return { id, type: "function" as const, function: { name, arguments: JSON.stringify(input) } };
  });
}

function finishReasonOf({ required_action: action }: Pick<ChatAnswer, "required_action">) {
  return action ? ("tool_calls" as const) : ("stop" as const);
}

/** Returns an event as the data of OpenAI's stream: chunks of the completion, and the end. */
export function completionChunks(
  { event, data }: StreamEvent,
  { head, includesUsage }: Extract<StreamFormat, { name: "openai" }>,
): (object | typeof DONE)[] {
  const chunk = (choices: object[], fields: object) => ({ ...head, object: "chat.completion.chunk", choices, ...fields });
  const choice = (delta: object, finishReason: ReturnType<typeof finishReasonOf> | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finishReason },
  ];
  // Clients that ask for the usage expect the field in every chunk, and its numbers in the last one.
  const noUsageYet = includesUsage ? { usage: null } : {};
  switch (event) {
    case "start":
      return [chunk(choice({ role: "assistant", content: "" }), { ...data, ...noUsageYet })];
    case "delta":
      return [chunk(choice({ content: data.text }), noUsageYet)];
    case "tool_call":
      // The chunk of the end has all calls.
      return [];
    case "done": {
      const { answer: _, ...fields } = data;
      const calls = toolCallsOf(data).map((call, index) => ({ index, ...call }));
      const end = chunk(choice(calls.length > 0 ? { tool_calls: calls } : {}, finishReasonOf(data)), { ...fields, ...noUsageYet });
      return [end, ...(includesUsage ? [chunk([], { usage: NO_USAGE })] : []), DONE];
    }
    case "error":
      return [{ error: { ...data.error, ...completionError(500) } }];
  }
}

/** Returns the fields that OpenAI's errors have besides code and message. @param param the path of the field that is wrong. */
export function completionError(status: number, param: string | null = null) {
  const types: Record<number, string> = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
  };
  return { type: types[status] ?? (status >= 500 ? "server_error" : "invalid_request_error"), param };
}
