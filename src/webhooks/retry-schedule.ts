import { HOUR_MS, MINUTE_MS, retryAfterMs, SECOND_MS } from "../platform/time.ts";

/** The delay after each failed attempt. Nine attempts take about 5 h 51 m. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  1 * MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  1 * HOUR_MS,
  2 * HOUR_MS,
  2 * HOUR_MS,
] as const;

/** Each delay varies by up to this fraction, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** Statuses with which a receiver may lengthen the delay by `Retry-After`. */
const RETRY_AFTER_STATUSES: ReadonlySet<number | null> = new Set([429, 503]);
/** `Retry-After` lengthens a delay at most this many times; otherwise a delivery could wait for days. */
const MAX_LENGTHENING = 2;

/** A failed attempt, with what its backoff depends on. */
export interface FailedAttempt {
  /** 1 for the first attempt. */
  number: number;
  endedAtMs: number;
  /** Null when there was no response. */
  status: number | null;
  /** The response header. */
  retryAfter: string | null;
}

/**
 * The time of a delivery's next attempt in Unix milliseconds; undefined after the last attempt.
 * @param random in [0, 1).
 */
export function nextAttemptAt(failed: FailedAttempt, random: number): number | undefined {
  const delayMs = RETRY_DELAYS_MS[failed.number - 1];
  if (delayMs === undefined) return undefined;
  const jitteredMs = delayMs * (1 - JITTER + 2 * JITTER * random);
  const requestedMs = RETRY_AFTER_STATUSES.has(failed.status) ? (retryAfterMs(failed.retryAfter, failed.endedAtMs) ?? 0) : 0;
  const waitMs = Math.max(jitteredMs, Math.min(requestedMs, delayMs * MAX_LENGTHENING));
  return failed.endedAtMs + Math.round(waitMs);
}

/** An endpoint is disabled after this many failed attempts in a row, if they are spread over at least this long. */
export const MAX_FAILURE_STREAK = 20;
export const MIN_FAILING_MS = 24 * HOUR_MS;

/** 410 Gone (RFC 9110): the receiver wants no more requests, so the endpoint is disabled immediately. */
export const GONE_STATUS = 410;

/** An endpoint whose last response took longer is slow. */
export const SLOW_MS = 1_000;

/** Whether an endpoint belongs on the slow queue: its last attempt failed or took long. */
export function isSlow({ failureStreak, lastDurationMs }: { failureStreak: number; lastDurationMs: number | null }): boolean {
  return failureStreak > 0 || (lastDurationMs ?? 0) > SLOW_MS;
}
