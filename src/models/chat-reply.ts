import { createParser } from "eventsource-parser";
import type { FinishReason, ModelPart, ModelStream, TokenUsage, ToolCall } from "./chat-model.ts";
import { StreamError } from "./stream-with-retry.ts";

/*
 * Replies of the chat completions protocol. A chunk holds `choices`, the last one also `usage`; older models of Workers AI write
 * `response` and `tool_calls` at the top instead. Only these fields are read, so only they are checked.
 */

/** The fields of a chunk, or of a whole reply, that are read. Each may be missing or have another type. */
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

/** Reads the parts of one reply from its chunks. */
class ChunkReader {
  private parts: ModelPart[] = [];
  private readonly calls: ToolCall[] = [];
  /** The places in `calls` by the server's numbers. */
  private readonly places = new Map<number, number>();
  private finishReason: unknown;
  private usage: TokenUsage | undefined;
  private isRefused = false;
  private isEnded = false;

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
    this.addText("text", typeof response === "object" && response !== null ? JSON.stringify(response) : response);
    this.readCalls(chunk.tool_calls);
  }

  private readDelta({ content, reasoning_content: reasoning, reasoning: plainReasoning, refusal, tool_calls: calls }: Delta): void {
    this.addText("reasoning", reasoning ?? plainReasoning);
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

  private addText(type: "text" | "reasoning", text: unknown): void {
    const added = typeof text === "number" ? String(text) : text;
    if (typeof added !== "string" || added === "") return;
    const last = this.parts.at(-1);
    if (last?.type === type) last.text += added;
    else this.parts.push({ type, text: added });
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
   * Finds the tool call that a piece of a stream continues, or adds a new one. OpenAI numbers calls (`index`); some servers send
   * only an `id`, and some neither, in which case a piece without a name continues the last call.
   */
  private callOf({ index, id }: CallPiece, isStart: boolean): ToolCall | undefined {
    const hasNumber = typeof index === "number";
    const place = hasNumber ? (this.places.get(index) ?? -1) : id ? this.calls.findIndex((call) => call.id === id) : this.calls.length - 1;
    if (place >= 0 && (hasNumber || id || !isStart)) return this.calls[place];
    if (!hasNumber && !id && !isStart) return undefined;
    if (this.calls.length === 0) this.parts.push({ type: "tool-input" });
    if (hasNumber) this.places.set(index, this.calls.length);
    const call = { id: "", name: "", input: "" };
    this.calls.push(call);
    return call;
  }

  private finish(): FinishReason {
    switch (this.finishReason) {
      case "length":
      case "model_length":
        return "length";
      case "tool_calls":
      case "function_call":
        return "tool-calls";
      case "content_filter":
        return "content-filter";
      case "error":
        return "error";
      case undefined:
      case null:
        return this.isEnded ? "stop" : "error";
      default:
        return this.isRefused ? "content-filter" : "stop";
    }
  }
}

function countOf(tokens: unknown): number | null {
  return typeof tokens === "number" && Number.isFinite(tokens) ? tokens : null;
}

interface ContentPart {
  type?: unknown;
  text?: unknown;
  thinking?: unknown;
}

/** Reads a reply from the bytes of an event stream. Longer ones than `maxBytes` end with an error. */
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
        isEnded = done;
        if (done) return reply.end();
        left -= value.byteLength;
        if (left < 0) throw new StreamError("the model's response is too long");
        parser.feed(decoder.decode(value, { stream: true }));
        const parts = reply.take();
        if (parts.length > 0) return parts;
      }
      return undefined;
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** A reply that was not streamed. */
export function wholeReply(reply: unknown): ModelStream {
  const parts = new ChunkReader();
  parts.addWhole(reply as Chunk);
  let all: ModelPart[] | undefined = [...parts.take(), ...parts.end()];
  return {
    read: async () => {
      const read = all;
      all = undefined;
      return read;
    },
    cancel: () => undefined,
  };
}
