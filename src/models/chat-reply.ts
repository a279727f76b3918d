import { createParser } from "eventsource-parser";
import type { FinishReason, ModelPart, ModelStream, ReasoningField, TokenUsage, ToolCall } from "./chat-model.ts";
import { StreamError } from "./stream-with-retry.ts";

/*
 * Replies of the chat completions protocol. A chunk holds `choices`, the last one also `usage`; older models of Workers AI write
 * `response` and `tool_calls` at the top instead, and some write both. Only these fields are read, so only they are checked.
 */

/** The fields of a chunk, or of a whole reply, that are read. Any of them may be missing or have another type. */
interface Chunk {
  error?: unknown;
  choices?: { delta?: Delta; message?: Delta; finish_reason?: unknown }[];
  response?: unknown;
  tool_calls?: unknown;
  finish_reason?: unknown;
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
}

interface Delta {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  refusal?: unknown;
  tool_calls?: unknown;
}

/** A tool call, or a piece of one; some servers put name and arguments beside the id. */
interface CallPiece extends CallFunction {
  index?: number | null;
  id?: string | null;
  function?: CallFunction | null;
  extra_content?: unknown;
}

interface CallFunction {
  name?: string | null;
  arguments?: unknown;
}

const REASONING_FIELDS: readonly ReasoningField[] = ["reasoning_content", "reasoning"];

/** Reads the parts of one reply from its chunks. */
class ChunkReader {
  private parts: ModelPart[] = [];
  private readonly calls: ToolCall[] = [];
  /** The calls that the server numbers, by their numbers. */
  private readonly numberedCalls = new Map<number, ToolCall>();
  private finishReason: unknown;
  private usage: TokenUsage | undefined;
  private isRefused = false;
  /** Whether the reply is complete. */
  isEnded = false;

  /** Reads the data of an event. */
  add(data: string): void {
    if (data === "[DONE]") {
      this.isEnded = true;
      return;
    }
    try {
      this.read(JSON.parse(data) as Chunk);
    } catch {
      this.parts.push({ type: "error", error: new StreamError("the model's stream is malformed") });
    }
  }

  /** Reads a reply that was not streamed. */
  addWhole(reply: Chunk): void {
    this.read(reply);
    this.isEnded = true;
  }

  /** The parts since the last call; consecutive text is one of them. */
  take(): ModelPart[] {
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  /** The last parts, when the stream has ended. */
  end(): ModelPart[] {
    for (const call of this.calls) {
      call.id ||= crypto.randomUUID();
      this.parts.push({ type: "tool-call", call });
    }
    this.parts.push({ type: "finish", reason: this.finish(), ...(this.usage && { usage: this.usage }) });
    return this.take();
  }

  private read(chunk: Chunk): void {
    if (chunk.error) {
      this.parts.push({ type: "error", error: new StreamError("the model's stream holds an error") });
      return;
    }
    const { usage } = chunk;
    if (usage) this.usage = { input: countOf(usage.prompt_tokens), output: countOf(usage.completion_tokens) };
    const choice = chunk.choices?.[0];
    this.finishReason = choice?.finish_reason ?? chunk.finish_reason ?? this.finishReason;
    const delta = choice?.delta ?? choice?.message;
    if (delta) this.readDelta(delta);
    const { response } = chunk;
    // A chunk of both formats holds the same text and calls twice.
    if (!delta?.content) this.addText("text", typeof response === "object" && response !== null ? JSON.stringify(response) : response);
    if (!Array.isArray(delta?.tool_calls) || delta.tool_calls.length === 0) this.readCalls(chunk.tool_calls);
  }

  private readDelta(delta: Delta): void {
    const { content, refusal, tool_calls: calls } = delta;
    const field = REASONING_FIELDS.find((name) => delta[name]);
    if (field) this.addText("reasoning", delta[field], field);
    if (Array.isArray(content)) for (const part of content) this.readContentPart(part as ContentPart | null);
    else this.addText("text", content);
    if (typeof refusal === "string" && refusal !== "") this.isRefused = true;
    this.addText("text", refusal);
    this.readCalls(calls);
  }

  private readContentPart(part: ContentPart | null): void {
    if (part?.type === "text") this.addText("text", part.text);
    if (part?.type === "thinking" && Array.isArray(part.thinking)) {
      for (const thought of part.thinking as (ContentPart | null)[]) this.addText("reasoning", thought?.text);
    }
  }

  private addText(type: "text" | "reasoning", text: unknown, field?: ReasoningField): void {
    const added = typeof text === "number" ? String(text) : text;
    if (typeof added !== "string" || added === "") return;
    const last = this.parts.at(-1);
    if (last?.type === type) last.text += added;
    else this.parts.push({ type, text: added, ...(field && { field }) });
  }

  private readCalls(pieces: unknown): void {
    if (!Array.isArray(pieces)) return;
    for (const piece of pieces as (CallPiece | null)[]) if (piece) this.readCall(piece);
  }

  private readCall(piece: CallPiece): void {
    const { name, arguments: input } = piece.function ?? piece;
    const call = this.callOf(piece, Boolean(name));
    // Some models end their calls with a piece that holds nothing.
    if (!call) return;
    if (name) call.name ||= name;
    if (piece.id) call.id ||= piece.id;
    if (piece.extra_content) call.extra ??= piece.extra_content;
    if (typeof input === "string") call.input += input;
    else if (input) call.input += JSON.stringify(input);
  }

  /**
   * Finds the tool call that a piece of a stream continues, or adds a new one. OpenAI numbers calls (`index`), but Gemini gives all of
   * them the same number; some servers send only an `id`, and some neither, in which case a piece without a name continues the last call.
   */
  private callOf({ index, id }: CallPiece, isStart: boolean): ToolCall | undefined {
    const isNumbered = typeof index === "number";
    if (!isNumbered && !id && !isStart) return this.calls.at(-1);
    const known = isNumbered ? this.numberedCalls.get(index) : this.calls.find((call) => id && call.id === id);
    const isOther = isStart && id && known?.id && known.id !== id;
    if (known && !isOther) return known;
    if (this.calls.length === 0) this.parts.push({ type: "tool-input" });
    const call = { id: "", name: "", input: "" };
    this.calls.push(call);
    if (isNumbered) this.numberedCalls.set(index, call);
    return call;
  }

  private finish(): FinishReason {
    if ((this.finishReason ?? null) === null) return this.isEnded ? "stop" : "error";
    return FINISH_REASONS.get(this.finishReason) ?? (this.isRefused ? "content-filter" : "stop");
  }
}

/** The servers' names of the reasons; any other is "stop". */
const FINISH_REASONS = new Map<unknown, FinishReason>([
  ["length", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
  ["error", "error"],
]);

function countOf(tokens: unknown): number | null {
  return typeof tokens === "number" && Number.isFinite(tokens) ? tokens : null;
}

interface ContentPart {
  type?: unknown;
  text?: unknown;
  thinking?: unknown;
}

/** Reads a reply from the bytes of an event stream. One that is longer than `maxBytes` ends with an error. */
export function readReply(body: ReadableStream<Uint8Array>, maxBytes: number): ModelStream {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const reply = new ChunkReader();
  const parser = createParser({ onEvent: ({ data }) => reply.add(data) });
  let left = maxBytes;
  let isEnded = false;
  return {
    async read() {
      while (!isEnded) {
        const { done, value } = await reader.read().catch(() => {
          throw new StreamError("the model's stream broke off");
        });
        left -= value?.byteLength ?? 0;
        if (left < 0) throw new StreamError("the model's response is too long");
        parser.feed(decoder.decode(value, { stream: true }));
        // Some servers keep the connection open after the end of a reply.
        isEnded = done || reply.isEnded;
        if (isEnded) return reply.end();
        const parts = reply.take();
        if (parts.length > 0) return parts;
      }
      return undefined;
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** Reads a reply that was not streamed. */
export function wholeReply(reply: unknown): ModelStream {
  const reader = new ChunkReader();
  reader.addWhole(reply as Chunk);
  const reads = [reader.end()];
  return { read: async () => reads.shift(), cancel: () => undefined };
}
