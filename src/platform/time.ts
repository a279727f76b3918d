/** A day. The database triggers count whole UTC days since 1970-01-01. */
export const DAY_MS = 86_400_000;

export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;
export const SECOND_MS = 1_000;

/** Returns the calendar month of a time, in UTC: "2026-11". It is the billing period. */
export function monthOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7);
}

/**
 * Waits at most `limitMs` for a promise; the work itself is not cancelled.
 * @param what names the work in the error.
 * @throws Error when the time is up.
 */
export async function withTimeout<T>(limitMs: number, work: Promise<T>, what: string): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs);
  // A rejection after the timeout must not count as unhandled.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

/** The time of work after which `pacer` pauses. */
const SLICE_MS = 5;
/** The pause after a slice, as a multiple of the time that the slice took. */
const PAUSE_RATIO = 3;
/** Longer pauses would help nobody: the measured time includes the work of other requests. */
const MAX_PAUSE_MS = 50;

/**
 * Divides long work into slices. The returned function is called between pieces of the work. It waits three times as long as the slice
 * before it took, so that the isolate serves other requests for at least three quarters of the time.
 * @param sliceBytes the bytes of work after which it may pause. The returned function is given the bytes since its last call.
 */
export function pacer(sliceBytes = 0): (bytes?: number) => Promise<void> {
  let resumedAtMs = Date.now();
  let doneBytes = 0;
  return async (bytes = 0) => {
    doneBytes += bytes;
    if (doneBytes < sliceBytes) return;
    doneBytes = 0;
    // On the platform, the clock stands still until the work waits for something.
    await scheduler.wait(0);
    const tookMs = Date.now() - resumedAtMs;
    if (tookMs < SLICE_MS) return;
    await scheduler.wait(Math.min(PAUSE_RATIO * tookMs, MAX_PAUSE_MS));
    resumedAtMs = Date.now();
  };
}

/** Work that is done in slices: it yields between them, and returns its result. */
export type Slices<Result> = Generator<void, Result>;

/** Does work in slices, between which the isolate serves other requests. */
export async function inSlices<Result>(slices: Slices<Result>): Promise<Result> {
  const pause = pacer();
  for (let next = slices.next(); ; next = slices.next()) {
    if (next.done) return next.value;
    await pause();
  }
}

/** Does all slices of work at once. */
export function atOnce<Result>(slices: Slices<Result>): Result {
  let next = slices.next();
  while (!next.done) next = slices.next();
  return next.value;
}

/**
 * Calls `onIdle` whenever `reset` was not called for `limitMs`, until it is stopped. `reset` only notes the time: setting a
 * timer for each token of an answer would cost more than the token.
 */
export class IdleTimer {
  private lastResetMs = Date.now();
  private timer: ReturnType<typeof setTimeout>;

  constructor(
    private readonly limitMs: number,
    private readonly onIdle: () => void,
  ) {
    this.timer = this.schedule(limitMs);
  }

  reset(): void {
    this.lastResetMs = Date.now();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private schedule(delayMs: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.check(), delayMs);
  }

  private check(): void {
    const leftMs = this.lastResetMs + this.limitMs - Date.now();
    if (leftMs > 0) {
      this.timer = this.schedule(leftMs);
      return;
    }
    this.reset();
    this.timer = this.schedule(this.limitMs);
    this.onIdle();
  }
}

/**
 * Returns the wait in milliseconds that a `Retry-After` header (RFC 9110) asks for, given as seconds or as a date; 0 for a past date,
 * undefined when the header is missing or malformed.
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
