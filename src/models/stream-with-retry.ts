import { APICallError, type LanguageModelV4, type LanguageModelV4CallOptions, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { retryAfterMs, IdleTimer } from "../platform/time.ts";
import type { ModelLimits } from "./limits.ts";

export type ModelCall = LanguageModelV4CallOptions & { abortSignal: AbortSignal };
type StreamParts = AsyncGenerator<LanguageModelV4StreamPart, void>;
type Limits = Pick<ModelLimits, "firstTokenMs" | "idleMs" | "retryDelayMs" | "maxRetryAfterMs">;

/** A stream that stalled or holds no answer. Its message is our own and may be logged. */
export class StreamError extends Error {}

const TOKEN_TYPES: ReadonlySet<LanguageModelV4StreamPart["type"]> = new Set([
  "text-delta",
  "reasoning-delta",
  "tool-input-start",
  "tool-call",
]);
/** Why a reply without a token may be as it is meant: it is refused, or all tokens went into reasoning that the server keeps back. */
const ENDS_WITHOUT_TEXT = new Set(["content-filter", "length"]);
const TOO_MANY_REQUESTS = 429;

/**
 * Calls a model and returns its stream once the first token is there; a call that fails before that is retried once.
 * @throws Error where the retry fails too or the stream stalls; the signal's reason where the call was aborted.
 */
export async function streamWithRetry(model: LanguageModelV4, call: ModelCall, limits: Limits): Promise<StreamParts> {
  try {
    return await openStream(model, call, limits);
  } catch (error) {
    const delayMs = retryDelayMs(error, limits);
    if (delayMs === undefined || call.abortSignal.aborted) throw error;
    await Promise.race([new Promise<void>((resolve) => setTimeout(resolve, delayMs)), rejectOnAbort(call.abortSignal)]);
    return openStream(model, call, limits);
  }
}

/** A failure for the log, without the server's own text, which may hold a key or a visitor's message. */
export function describeFailure(error: unknown): string {
  if (APICallError.isInstance(error)) return `status ${error.statusCode ?? "none"}`;
  if (error instanceof StreamError) return error.message;
  return error instanceof Error ? error.name : typeof error;
}

async function openStream(model: LanguageModelV4, call: ModelCall, { firstTokenMs, idleMs }: Limits): Promise<StreamParts> {
  const timedOut = new AbortController();
  const timer = setTimeout(() => timedOut.abort(new StreamError(`no first token within ${firstTokenMs} ms`)), firstTokenMs);
  const abortSignal = AbortSignal.any([timedOut.signal, call.abortSignal]);
  const aborted = rejectOnAbort(abortSignal);
  try {
    const { stream } = await Promise.race([model.doStream({ ...call, abortSignal }), aborted]);
    const reader = stream.getReader();
    const first = await Promise.race([readToFirstToken(reader), aborted]);
    const idleTimer = new IdleTimer(idleMs, () => timedOut.abort(new StreamError(`no next token within ${idleMs} ms`)));
    return readRest(first, reader, idleTimer, abortSignal);
  } finally {
    clearTimeout(timer);
  }
}

async function readToFirstToken(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new StreamError("the reply is empty: cut off");
    if (value.type === "error") throw value.error;
    if (value.type === "finish" && !ENDS_WITHOUT_TEXT.has(value.finishReason.unified))
      throw new StreamError(`the reply is empty: ${value.finishReason.unified}`);
    parts.push(value);
    if (TOKEN_TYPES.has(value.type) || value.type === "finish") return parts;
  }
}

async function* readRest(
  first: LanguageModelV4StreamPart[],
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  idleTimer: IdleTimer,
  signal: AbortSignal,
): StreamParts {
  const cancel = () => void reader.cancel().catch(() => undefined);
  // Not every provider ends its stream when the call is aborted.
  signal.addEventListener("abort", cancel, { once: true });
  try {
    yield* first;
    for (;;) {
      const read = await reader.read().catch((error: unknown) => (signal.throwIfAborted(), Promise.reject(error as Error)));
      signal.throwIfAborted();
      if (read.done) return;
      idleTimer.reset();
      yield read.value;
    }
  } finally {
    idleTimer.stop();
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** How long to wait before the retry; undefined where there is to be none. */
function retryDelayMs(error: unknown, limits: Limits): number | undefined {
  if (!APICallError.isInstance(error)) return limits.retryDelayMs;
  // A success status with a broken body may be retried.
  const isRefused = (error.statusCode ?? 0) >= 300;
  if (!error.isRetryable && isRefused) return undefined;
  const askedMs = retryAfterMs(error.responseHeaders?.["retry-after"], Date.now());
  if (askedMs === undefined) return error.statusCode === TOO_MANY_REQUESTS ? limits.maxRetryAfterMs : limits.retryDelayMs;
  return askedMs <= limits.maxRetryAfterMs ? askedMs : undefined;
}

/** Rejects with the signal's reason when it aborts. It may be left unawaited. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  promise.catch(() => undefined);
  return promise;
}
