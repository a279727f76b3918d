import { IdleTimer, retryAfterMs } from "../platform/time.ts";
import { type ChatModel, type ModelCall, ModelCallError, type ModelPart, type ModelStream } from "./chat-model.ts";
import type { ModelLimits } from "./limits.ts";

type Limits = Pick<ModelLimits, "firstTokenMs" | "idleMs" | "retryDelayMs" | "maxRetryAfterMs">;

/** Thrown for a stream that stalled or has no answer. Its message is our own text, which may be logged. */
export class StreamError extends Error {}

/** A reply may end without a token for these reasons: it was refused, or all tokens went into reasoning that the server keeps back. */
const ENDS_WITHOUT_TEXT = new Set(["content-filter", "length"]);

/**
 * Calls a model, waits for its first token, and returns the stream of its parts. A call that fails before the first token is retried
 * once. Leaving the generator ends the stream.
 * @throws Error if the retry fails too or the stream stalls; the signal's reason where the call was aborted.
 */
export async function streamWithRetry(model: ChatModel, call: ModelCall, limits: Limits): Promise<AsyncGenerator<ModelPart[], void>> {
  try {
    return await openStream(model, call, limits);
  } catch (error) {
    const delayMs = retryDelayMs(error, limits);
    if (delayMs === undefined || call.abortSignal.aborted) throw error;
    await Promise.race([new Promise<void>((resolve) => setTimeout(resolve, delayMs)), rejectOnAbort(call.abortSignal)]);
    return openStream(model, call, limits);
  }
}

/** Describes a failure for the log, without the server's own text, which may contain a key or a visitor's message. */
export function describeFailure(error: unknown): string {
  if (error instanceof StreamError || error instanceof ModelCallError) return error.message;
  return error instanceof Error ? error.name : typeof error;
}

async function openStream(model: ChatModel, call: ModelCall, { firstTokenMs, idleMs }: Limits): Promise<AsyncGenerator<ModelPart[], void>> {
  const timedOut = new AbortController();
  const timer = setTimeout(() => timedOut.abort(new StreamError(`no first token within ${firstTokenMs} ms`)), firstTokenMs);
  const abortSignal = AbortSignal.any([timedOut.signal, call.abortSignal]);
  const aborted = rejectOnAbort(abortSignal);
  try {
    const stream = await Promise.race([model.stream({ ...call, abortSignal }), aborted]);
    const first = await Promise.race([readFirst(stream), aborted]).catch((error: unknown) => {
      stream.cancel();
      throw error;
    });
    const idleTimer = new IdleTimer(idleMs, () => timedOut.abort(new StreamError(`no next token within ${idleMs} ms`)));
    return readRest(first, stream, idleTimer, abortSignal);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the first parts, in which there is a token, unless they are the whole reply. */
async function readFirst(stream: ModelStream): Promise<ModelPart[]> {
  const parts = await stream.read();
  const [first] = parts ?? [];
  if (first?.type === "error") throw first.error;
  if (!first || (first.type === "finish" && !ENDS_WITHOUT_TEXT.has(first.reason)))
    throw new StreamError(`the reply is empty: ${first?.reason ?? "cut off"}`);
  return parts!;
}

async function* readRest(
  first: ModelPart[],
  stream: ModelStream,
  idleTimer: IdleTimer,
  signal: AbortSignal,
): AsyncGenerator<ModelPart[], void> {
  const cancel = () => stream.cancel();
  // Some servers do not end their stream when the call is aborted.
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (let parts: ModelPart[] | undefined = first; parts;) {
      yield parts;
      parts = await stream.read().catch((error: unknown) => (signal.throwIfAborted(), Promise.reject(error as Error)));
      signal.throwIfAborted();
      idleTimer.reset();
    }
  } finally {
    idleTimer.stop();
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Returns how long to wait before the retry, in milliseconds; undefined if the call is not retried. */
function retryDelayMs(error: unknown, limits: Limits): number | undefined {
  if (!(error instanceof ModelCallError)) return limits.retryDelayMs;
  if (error.isPermanent) return undefined;
  const askedMs = retryAfterMs(error.retryAfter, Date.now());
  if (askedMs === undefined) return error.isRateLimit ? limits.maxRetryAfterMs : limits.retryDelayMs;
  return askedMs <= limits.maxRetryAfterMs ? askedMs : undefined;
}

/** Returns a promise that rejects with the signal's reason when it aborts. It need not be awaited. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  promise.catch(() => undefined);
  return promise;
}
