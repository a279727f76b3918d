import { expect, test } from "vitest";
import { nextAttemptAt } from "../../src/webhooks/retry-schedule.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;
const WAITS = [5_000, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE, 120 * MINUTE];

const failure = (number: number, status: number | null = 500, retryAfter: string | null = null) => ({
  number,
  endedAtMs: NOW,
  status,
  retryAfter,
});
const waitOf = (...[number, status, retryAfter]: Parameters<typeof failure>) =>
  nextAttemptAt(failure(number, status, retryAfter), 0.5)! - NOW;

test("there are nine attempts, the last 5 h 51 m after the first", () => {
  expect(WAITS.map((_, at) => waitOf(at + 1))).toEqual(WAITS);
  expect(nextAttemptAt(failure(9), 0.5)).toBeUndefined();
  expect(WAITS.reduce((sum, wait) => sum + wait) / MINUTE).toBeCloseTo(5 * 60 + 51, 0);
});

test("each delay varies by a tenth", () => {
  for (const [at, wait] of WAITS.entries()) {
    expect(nextAttemptAt(failure(at + 1), 0)! - NOW).toBe(Math.round(wait * 0.9));
    expect(nextAttemptAt(failure(at + 1), 1)! - NOW).toBe(Math.round(wait * 1.1));
  }
});

test.each([
  [429, "90", 90_000],
  [503, "90", 90_000],
  [503, " 90 ", 90_000],
  // At most twice the wait, and never less than it.
  [503, "121", 120_000],
  [503, "999999999999999999999", 120_000],
  [503, "10", MINUTE],
  [503, "0", MINUTE],
  [429, new Date(NOW + 100_000).toUTCString(), 100_000],
  [429, new Date(NOW + 24 * 60 * MINUTE).toUTCString(), 120_000],
  [429, new Date(NOW - 100_000).toUTCString(), MINUTE],
  [429, "soon", MINUTE],
  [429, "-5", MINUTE],
  [429, "", MINUTE],
  [429, null, MINUTE],
  // Others say nothing of when to come again.
  [500, "90", MINUTE],
  [404, "90", MINUTE],
  [301, "90", MINUTE],
  [null, "90", MINUTE],
])("after a %s with Retry-After %j the second wait is %i ms", (status, retryAfter, wait) => {
  expect(waitOf(2, status, retryAfter)).toBe(wait);
});
