import { retryAfterMs } from "../platform/time.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The wait after each failed attempt: quick for a restart, long for an outage, nine attempts in about 5 h 51 m. */
const WAITS_MS = [5 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS] as const;

/** Up to so much of a wait is added or taken off, so that what failed together does not come back together. */
const JITTER = 0.1;

/** Answers whose `Retry-After` is heeded: the receiver is there, and says when it can take more. */
const ASKS_FOR_TIME: ReadonlySet<number | null> = new Set([429, 503]);
/** A receiver may lengthen a wait up to so many times; more, and a delivery could wait for days. */
const MAX_LENGTHENING = 2;

/** A failed attempt, with what its backoff depends on. */
export interface Failure {
  /** Which attempt it was, from 1. */
  number: number;
  endedAtMs: number;
  /** Null when there was no answer. */
  status: number | null;
  /** The header of that name. */
  retryAfter: string | null;
}

/**
 * The time of a delivery's next attempt by the backoff schedule, in Unix milliseconds; undefined after the last attempt.
 * @param random in [0, 1).
 */
export function nextAttemptAt(failure: Failure, random: number): number | undefined {
  const regularMs = WAITS_MS[failure.number - 1];
  if (regularMs === undefined) return undefined;
  const jitteredMs = regularMs * (1 - JITTER + 2 * JITTER * random);
  const askedMs = ASKS_FOR_TIME.has(failure.status) ? (retryAfterMs(failure.retryAfter, failure.endedAtMs) ?? 0) : 0;
  const waitMs = Math.min(Math.max(jitteredMs, askedMs), Math.max(jitteredMs, regularMs * MAX_LENGTHENING));
  return failure.endedAtMs + Math.round(waitMs);
}

/**
 * An endpoint is disabled after so many failed attempts in a row, spread over at least so long: neither one busy hour
 * nor a few attempts over a weekend are enough.
 */
export const MAX_FAILURE_STREAK = 20;
export const MIN_FAILING_MS = 24 * 60 * 60 * 1000;

/** 410 Gone (RFC 9110): the receiver asks for no more requests, so the endpoint is disabled at once. */
export const GONE_STATUS = 410;

/** Why the service disabled an endpoint. */
export type SelfDisabledReason = "failing" | "gone";

/** An endpoint whose last exchange took longer is slow, and is served on the slow lane. */
export const SLOW_MS = 1_000;

/** Whether an endpoint belongs on the slow lane: its last attempt failed, or its last exchange took long. */
export function isSlow({ failureStreak, lastDurationMs }: { failureStreak: number; lastDurationMs: number | null }): boolean {
  return failureStreak > 0 || (lastDurationMs ?? 0) > SLOW_MS;
}
