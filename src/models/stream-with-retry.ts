import { APICallError, type LanguageModelV4, type LanguageModelV4CallOptions, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { retryAfterMs, IdleTimer } from "../platform/time.ts";
import type { ModelLimits } from "./limits.ts";

/** The model gave no sign in time. */
class SilenceError extends Error {
  constructor(sign: "first token" | "sign of life", ms: number) {
    super(`no ${sign} within ${ms} ms`);
  }
}

/** The model ended without having said anything. */
class EmptyReplyError extends Error {
  constructor(reason: string) {
    super(`the reply is empty: ${reason}`);
  }
}

type Limits = Pick<ModelLimits, "firstTokenMs" | "idleMs" | "retryPauseMs" | "maxRetryAfterMs">;
type Parts = AsyncGenerator<LanguageModelV4StreamPart, void>;

/** What a model is asked, and what stops it. */
export type Call = LanguageModelV4CallOptions & { abortSignal: AbortSignal };

const SIGNS: ReadonlySet<LanguageModelV4StreamPart["type"]> = new Set(["text-delta", "reasoning-delta", "tool-input-start", "tool-call"]);
const FIRST_REFUSAL = 300;
const TOO_MANY_REQUESTS = 429;

/**
 * What a model streams when it is called, from its first token on; where it fails before that one it is called once more.
 * @throws Error where that fails too, where the model falls silent, and the signal's reason where the call was stopped.
 */
export async function callSteadily(model: LanguageModelV4, call: Call, limits: Limits): Promise<Parts> {
  try {
    return await attempt(model, call, limits);
  } catch (error) {
    const pauseMs = pauseBefore(error, limits);
    if (pauseMs === undefined || call.abortSignal.aborted) throw error;
    await pause(pauseMs, call.abortSignal);
    return attempt(model, call, limits);
  }
}

/** What went wrong, for the log: no word of the server's, which may hold a key or a visitor's text. */
export function describeFailure(error: unknown): string {
  if (APICallError.isInstance(error)) return `status ${error.statusCode ?? "none"}`;
  if (error instanceof SilenceError || error instanceof EmptyReplyError) return error.message;
  return error instanceof Error ? error.name : typeof error;
}

/** One call, up to its first token. */
async function attempt(model: LanguageModelV4, call: Call, { firstTokenMs, idleMs }: Limits): Promise<Parts> {
  const silent = new AbortController();
  const timeout = setTimeout(() => silent.abort(new SilenceError("first token", firstTokenMs)), firstTokenMs);
  const abortSignal = AbortSignal.any([silent.signal, call.abortSignal]);
  const stopped = aborted(abortSignal);
  try {
    const { stream } = await Promise.race([model.doStream({ ...call, abortSignal }), stopped]);
    const reader = stream.getReader();
    const first = await Promise.race([readFirst(reader), stopped]);
    const silence = new IdleTimer(idleMs, () => silent.abort(new SilenceError("sign of life", idleMs)));
    return readOn(first, reader, silence, abortSignal);
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

async function* readOn(
  first: LanguageModelV4StreamPart[],
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  silence: IdleTimer,
  signal: AbortSignal,
): Parts {
  const leave = () => void reader.cancel().catch(() => undefined);
  // Not every engine ends its stream when its call is stopped.
  signal.addEventListener("abort", leave, { once: true });
  try {
    yield* first;
    for (;;) {
      const read = await reader.read().catch((error: unknown) => (signal.throwIfAborted(), Promise.reject(error as Error)));
      signal.throwIfAborted();
      if (read.done) return;
      silence.reset();
      yield read.value;
    }
  } finally {
    silence.stop();
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** How long to wait before the other try; undefined where there is to be none. */
function pauseBefore(error: unknown, { retryPauseMs, maxRetryAfterMs }: Limits): number | undefined {
  if (!APICallError.isInstance(error)) return retryPauseMs;
  // A response that began well and broke off is not the server's last word.
  if (!error.isRetryable && (error.statusCode ?? 0) >= FIRST_REFUSAL) return undefined;
  const askedMs = retryAfterMs(error.responseHeaders?.["retry-after"], Date.now());
  if (askedMs === undefined) return error.statusCode === TOO_MANY_REQUESTS ? maxRetryAfterMs : retryPauseMs;
  return askedMs <= maxRetryAfterMs ? askedMs : undefined;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await Promise.race([new Promise<void>((resolve) => setTimeout(resolve, ms)), aborted(signal)]);
}

/** Rejects with the signal's reason when it says stop. Nobody need wait for it. */
export function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  promise.catch(() => undefined);
  return promise;
}
