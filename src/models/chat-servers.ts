import { type ChatMessage, type ChatModel, type ModelCall, ModelCallError, type ToolCall } from "./chat-model.ts";
import { readReply, wholeReply } from "./chat-reply.ts";
import { MAX_RESPONSE_BYTES } from "./limits.ts";
import { parsedJson } from "../platform/json.ts";

/*
 * The servers of language models: those of the OpenAI protocol, and Workers AI, whose binding takes nearly the same requests.
 */

export interface OpenAiServer {
  baseUrl: string;
  apiKey: string | undefined;
}

/**
 * Sends a request to an OpenAI-compatible server. Its address is the operator's configuration: unlike addresses that tenants
 * give, it does not pass the egress guard, and may be in a private network. Redirects are not followed: they would get the key.
 * @throws ModelCallError if it refuses.
 */
export async function postToServer(
  { baseUrl, apiKey }: OpenAiServer,
  path: string,
  body: object,
  { send = fetch, signal }: { send?: typeof fetch | undefined; signal: AbortSignal },
): Promise<Response> {
  const headers = { "Content-Type": "application/json", ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }) };
  const url = `${baseUrl.replace(/\/$/, "")}${path}`;
  const response = await send(url, { method: "POST", headers, body: JSON.stringify(body), redirect: "manual", signal });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new ModelCallError(response.status, response.headers.get("Retry-After"));
}

/** The hosts at which OpenAI and Azure serve OpenAI's models. */
const OPENAI_HOST = /^(?:[\w-]+\.)?api\.openai\.com$|\.openai\.azure\.com$/;

/** The hosts at which Google serves Gemini and Vertex AI. */
const GOOGLE_HOST = /^(?:generativelanguage|(?:[\w-]+-)?aiplatform)\.googleapis\.com$/;

/** A model of an OpenAI-compatible server. */
export function openAiModel(server: OpenAiServer, name: string, send?: typeof fetch): ChatModel {
  const { hostname } = new URL(server.baseUrl);
  const isOpenAi = OPENAI_HOST.test(hostname);
  // OpenAI's models that reason take the new name alone, and other servers may know the old name alone.
  const limit = isOpenAi ? "max_completion_tokens" : "max_tokens";
  return {
    name,
    hasStrictServer: isOpenAi || GOOGLE_HOST.test(hostname),
    async stream({ abortSignal, maxOutputTokens, ...call }) {
      const inputs = { [limit]: maxOutputTokens, ...inputsOf(call, openAiMessage) };
      const body = { model: name, ...inputs, stream_options: { include_usage: true } };
      const response = await postToServer(server, "/chat/completions", body, { send, signal: abortSignal });
      return readReply(response.body ?? new Response("").body!, MAX_RESPONSE_BYTES);
    },
  };
}

/** A model of Workers AI. Some of them do not stream, although the request asks for it. */
export function workersAiModel(ai: Ai, name: string, options: { gateway?: { id: string } }): ChatModel {
  return {
    name,
    async stream({ abortSignal: signal, reasoning_effort: effort, maxOutputTokens, ...call }) {
      // Workers AI takes null if other servers take "none".
      const reasoning = effort && { reasoning_effort: effort === "none" ? null : effort };
      const inputs = { max_tokens: maxOutputTokens, ...inputsOf(call, workersAiMessage), ...reasoning };
      // The generated types know neither all models nor all fields.
      const { run } = ai as unknown as { run: (model: string, inputs: object, options: object) => Promise<unknown> };
      const reply = await run.call(ai, name, inputs, { ...options, signal }).catch((error: unknown) => {
        throw signal.aborted ? error : new ModelCallError(workersAiStatus(error));
      });
      return reply instanceof ReadableStream ? readReply(reply as ReadableStream<Uint8Array>, MAX_RESPONSE_BYTES) : wholeReply(reply);
    },
  };
}

function inputsOf(call: Omit<ModelCall, "abortSignal" | "maxOutputTokens">, toMessage: (message: ChatMessage) => object) {
  const { messages, tools, toolChoice, ...reasoning } = call;
  const listed = tools?.map((tool) => ({ type: "function", function: tool }));
  return {
    messages: messages.map(toMessage),
    ...(listed && { tools: listed, tool_choice: toolChoice }),
    ...reasoning,
    stream: true,
  };
}

function openAiMessage(message: ChatMessage): object {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.call.id, content: message.text };
  if (message.role !== "assistant") return { role: message.role, content: contentOf(message) };
  const { text, reasoning, reasoningField, toolCalls } = message;
  const calls = toolCalls?.map((call) => ({ ...toolCall(call), ...(call.extra !== undefined && { extra_content: call.extra }) }));
  // Some servers refuse an empty text beside tool calls.
  const thought = reasoning && reasoningField && { [reasoningField]: reasoning };
  return { role: "assistant", content: calls ? text || null : text, ...thought, tool_calls: calls };
}

/** Returns a text, or a text and images as their data. */
function contentOf({ text, images = [] }: Extract<ChatMessage, { role: "system" | "user" }>): string | object[] {
  if (images.length === 0) return text;
  const parts = images.map(({ type, bytes }) => ({ type: "image_url", image_url: { url: `data:${type};base64,${bytes.toBase64()}` } }));
  return [{ type: "text", text }, ...parts];
}

function workersAiMessage(message: ChatMessage): object {
  if (message.role === "tool") return { role: "tool", name: message.call.name, tool_call_id: message.call.id, content: message.text };
  if (message.role !== "assistant") return { role: message.role, content: message.text };
  const { text, reasoning, toolCalls } = message;
  return { role: "assistant", content: text, ...(reasoning && { reasoning }), tool_calls: toolCalls?.map(toolCall) };
}

function toolCall({ id, name, input }: ToolCall) {
  return { id, type: "function", function: { name, arguments: jsonOf(input) } };
}

/** Returns arguments as the JSON of an object: servers refuse any others, even those that their own model wrote. */
function jsonOf(input: string): string {
  const value = parsedJson(input);
  return value instanceof Object && !Array.isArray(value) ? input : "{}";
}

/** The errors of Workers AI: https://developers.cloudflare.com/workers-ai/platform/errors/ */
const WORKERS_AI_STATUSES: Readonly<Record<string, number>> = {
  3003: 400,
  3006: 413,
  3007: 408,
  3008: 408,
  3023: 403,
  3036: 429,
  3039: 400,
  3040: 429,
  3041: 403,
  3042: 404,
  5004: 400,
  5005: 405,
  5007: 400,
  5016: 403,
  5018: 403,
  5019: 405,
};

/** Returns the HTTP status of an error of the binding, whose code is in its message. */
function workersAiStatus(error: unknown): number | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const codes = [String(code), ...[...String(message).matchAll(/\b(\d{4})\s*:/g)].map(([, found]) => found!)];
  return codes.map((found) => WORKERS_AI_STATUSES[found]).find((status) => status !== undefined);
}
