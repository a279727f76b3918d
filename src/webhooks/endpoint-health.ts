/**
 * An endpoint is disabled after so many failed attempts in a row, spread over at least so long: neither one busy hour
 * nor a few attempts over a weekend are enough.
 */
export const MAX_FAILURE_STREAK = 20;
export const MIN_FAILING_MS = 24 * 60 * 60 * 1000;

/** The answer that says that nobody lives here any more (RFC 9110): the endpoint is disabled at once. */
export const GONE_STATUS = 410;

/** Why an endpoint was disabled by itself. */
export type SelfDisabledReason = "failing" | "gone";

/** An endpoint that took longer is slow: it is served on the slow lane, where those who answer do not wait for it. */
export const SLOW_MS = 2_000;

/** Whether an endpoint belongs on the slow lane: it fails, or its last exchange took long. */
export function isSlow({ failureStreak, lastDurationMs }: { failureStreak: number; lastDurationMs: number | null }): boolean {
  return failureStreak > 0 || (lastDurationMs ?? 0) > SLOW_MS;
}
