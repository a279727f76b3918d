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
