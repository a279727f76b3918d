import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from "@ai-sdk/provider";
import { APICallError } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { aborted } from "./aborted.ts";
import type { ModelLimits } from "./limits.ts";

/** The model gave no sign in time. */
class SilenceError extends Error {
  constructor(ms: number) {
    super(`no first token within ${ms} ms`);
  }
}

/** The model ended without having said anything. */
class EmptyReplyError extends Error {
  constructor(reason: string) {
    super(`the reply is empty: ${reason}`);
  }
}

type Limits = Pick<ModelLimits, "firstTokenMs" | "retryPauseMs" | "maxRetryAfterMs">;

const SIGNS: ReadonlySet<LanguageModelV4StreamPart["type"]> = new Set(["text-delta", "reasoning-delta", "tool-input-start", "tool-call"]);
const FIRST_REFUSAL = 300;
const TOO_MANY_REQUESTS = 429;

/** The same model, each of whose calls is tried once more where it fails before its first token; it has only so long for that one. */
export function steadied(model: LanguageModelV4, limits: Limits): LanguageModelV4 {
  const wrapStream = async ({ model: inner, params }: { model: LanguageModelV4; params: LanguageModelV4CallOptions }) => {
    try {
      return await attempt(inner, params, limits);
    } catch (error) {
      const pauseMs = pauseBefore(error, limits);
      if (pauseMs === undefined || params.abortSignal?.aborted) throw error;
      await pause(pauseMs, params.abortSignal);
      return await attempt(inner, params, limits);
    }
  };
  return wrapLanguageModel({ model, middleware: { specificationVersion: "v4", wrapStream } });
}

/** What went wrong, for the log: no word of the server's, which may hold a key or a visitor's text. */
export function describeFailure(error: unknown): string {
  if (APICallError.isInstance(error)) return `status ${error.statusCode ?? "none"}`;
  if (error instanceof SilenceError || error instanceof EmptyReplyError) return error.message;
  return error instanceof Error ? error.name : typeof error;
}

/** One call, up to its first token. */
async function attempt(model: LanguageModelV4, params: LanguageModelV4CallOptions, limits: Limits): Promise<LanguageModelV4StreamResult> {
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(new SilenceError(limits.firstTokenMs)), limits.firstTokenMs);
  const abortSignal = AbortSignal.any([timer.signal, ...(params.abortSignal ? [params.abortSignal] : [])]);
  const stopped = aborted(abortSignal);
  try {
    const result = await Promise.race([model.doStream({ ...params, abortSignal }), stopped]);
    const reader = result.stream.getReader();
    const first = await Promise.race([readFirst(reader), stopped]);
    return { ...result, stream: resumed(first, reader) };
  } finally {
    clearTimeout(timeout);
  }
}

/** The parts up to the first that says something. */
async function readFirst(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new EmptyReplyError("cut off");
    if (value.type === "error") throw value.error;
    if (value.type === "finish" && value.finishReason.unified !== "content-filter") throw new EmptyReplyError(value.finishReason.unified);
    parts.push(value);
    if (SIGNS.has(value.type) || value.type === "finish") return parts;
  }
}

function resumed(first: LanguageModelV4StreamPart[], reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>) {
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of first) controller.enqueue(part);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** How long to wait before the other try; undefined where there is to be none. */
function pauseBefore(error: unknown, { retryPauseMs, maxRetryAfterMs }: Limits): number | undefined {
  if (!APICallError.isInstance(error)) return retryPauseMs;
  // A response that began well and broke off is not the server's last word.
  if (!error.isRetryable && (error.statusCode ?? 0) >= FIRST_REFUSAL) return undefined;
  const askedMs = retryAfterMs(error.responseHeaders?.["retry-after"]);
  if (askedMs === undefined) return error.statusCode === TOO_MANY_REQUESTS ? maxRetryAfterMs : retryPauseMs;
  return askedMs <= maxRetryAfterMs ? askedMs : undefined;
}

/** A `Retry-After` header, in seconds or as a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const waited = new Promise<void>((resolve) => setTimeout(resolve, ms));
  await (signal ? Promise.race([waited, aborted(signal)]) : waited);
}
