import { describe, expect, test } from "vitest";
import { SlidingWindow, WINDOW_MS, type WindowState } from "../../src/workspaces/rate-limit.ts";

const START_MS = 1_800_000_000_000;

/** A generator of numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Times of requests: bursts, pauses, whole windows and steps of exactly one window, some at the same millisecond. */
function history(next: () => number, length: number): number[] {
  const times: number[] = [];
  let nowMs = START_MS;
  for (let at = 0; at < length; at++) {
    const kind = next();
    if (kind < 0.5) nowMs += Math.floor(next() * 20);
    else if (kind < 0.8) nowMs += Math.floor(next() * 3_000);
    else if (kind < 0.95) nowMs += Math.floor(next() * 30_000);
    else nowMs += WINDOW_MS - 1 + Math.floor(next() * 3);
    times.push(nowMs);
  }
  return times;
}

/** The same rule, written as it is said: slow, and with nothing to get wrong. */
class Model {
  private accepted: number[] = [];

  admit(nowMs: number, limit: number): WindowState {
    const live = this.accepted.filter((atMs) => atMs > nowMs - WINDOW_MS);
    const accepted = live.length < limit;
    if (accepted) {
      this.accepted.push(nowMs);
      live.push(nowMs);
    }
    const surplus = live.length - limit + 1;
    const retryAtMs = limit === 0 ? nowMs + WINDOW_MS : live[surplus - 1]! + WINDOW_MS;
    return {
      accepted,
      limit,
      remaining: Math.max(0, limit - live.length),
      resetAtMs: live.length === 0 ? nowMs : live.at(-1)! + WINDOW_MS,
      retryInMs: accepted ? 0 : retryAtMs - nowMs,
    };
  }
}

describe("over random histories", () => {
  const seeds = Array.from({ length: 100 }, (_, at) => at + 1);

  test("exactly as many requests as the limit allows are accepted in any 60 s", () => {
    for (const seed of seeds) {
      const next = random(seed);
      const limit = 1 + Math.floor(next() * 12);
      const window = new SlidingWindow();
      const accepted: number[] = [];
      for (const atMs of history(next, 300)) {
        const inWindow = accepted.filter((earlier) => earlier > atMs - WINDOW_MS).length;
        const state = window.admit(atMs, limit);
        expect(state.accepted, `seed ${seed}`).toBe(inWindow < limit);
        if (state.accepted) accepted.push(atMs);
      }
      // Any half-open interval of 60 s holds the most when it begins at an accepted request.
      for (const fromMs of accepted) {
        const held = accepted.filter((atMs) => atMs >= fromMs && atMs < fromMs + WINDOW_MS).length;
        expect(held, `seed ${seed}`).toBeLessThanOrEqual(limit);
      }
    }
  });

  test("remaining, reset and retry match the definition, also while the limit changes", () => {
    for (const seed of seeds) {
      const next = random(seed);
      const [window, model] = [new SlidingWindow(), new Model()];
      let limit = 5;
      for (const atMs of history(next, 300)) {
        if (next() < 0.05) limit = Math.floor(next() * 15);
        expect(window.admit(atMs, limit), `seed ${seed}`).toEqual(model.admit(atMs, limit));
      }
    }
  });

  test("a window that is stored and loaded at any point continues unchanged", () => {
    for (const seed of seeds) {
      const next = random(seed);
      const whole = new SlidingWindow();
      let restarted = new SlidingWindow();
      for (const atMs of history(next, 200)) {
        if (next() < 0.1) restarted = new SlidingWindow(restarted.since(0).filter((entry) => entry.atMs + WINDOW_MS > atMs));
        expect(restarted.admit(atMs, 7), `seed ${seed}`).toEqual(whole.admit(atMs, 7));
      }
    }
  });

  test("a request is accepted after the stated wait, and not a millisecond earlier", () => {
    for (const seed of seeds) {
      const next = random(seed);
      const times = history(next, 100);
      const refused = times.findIndex((_, at) => !admitAll(times.slice(0, at + 1), 3).accepted);
      if (refused === -1) continue;
      const before = times.slice(0, refused + 1);
      const retryAtMs = before.at(-1)! + admitAll(before, 3).retryInMs;
      expect(admitAll([...before, retryAtMs - 1], 3).accepted, `seed ${seed}`).toBe(false);
      expect(admitAll([...before, retryAtMs], 3).accepted, `seed ${seed}`).toBe(true);
    }
  });
});

/** The state after the last of these requests. */
function admitAll(times: number[], limit: number): WindowState {
  const window = new SlidingWindow();
  return times.map((atMs) => window.admit(atMs, limit)).at(-1)!;
}

describe("by example", () => {
  test("a request leaves the window 60 s after it was accepted, to the millisecond", () => {
    const window = new SlidingWindow();
    expect(window.admit(0, 1)).toEqual({ accepted: true, limit: 1, remaining: 0, resetAtMs: 60_000, retryInMs: 0 });
    expect(window.admit(59_999, 1)).toEqual({ accepted: false, limit: 1, remaining: 0, resetAtMs: 60_000, retryInMs: 1 });
    expect(window.admit(60_000, 1)).toMatchObject({ accepted: true, resetAtMs: 120_000 });
  });

  test("refused requests do not count", () => {
    const window = new SlidingWindow();
    window.admit(0, 2);
    window.admit(30_000, 2);
    for (let atMs = 30_001; atMs < 60_000; atMs += 500) expect(window.admit(atMs, 2).accepted).toBe(false);
    expect(window.admit(60_000, 2)).toMatchObject({ accepted: true, remaining: 0, resetAtMs: 120_000 });
    expect(window.admit(60_001, 2)).toMatchObject({ accepted: false, retryInMs: 29_999 });
  });

  test("a lower limit refuses until enough requests have expired, a higher one accepts immediately", () => {
    const window = new SlidingWindow();
    for (let atMs = 0; atMs < 5; atMs++) window.admit(atMs, 10);
    expect(window.admit(10, 2)).toEqual({ accepted: false, limit: 2, remaining: 0, resetAtMs: 60_004, retryInMs: 60_003 - 10 });
    expect(window.admit(10, 6)).toMatchObject({ accepted: true, remaining: 0 });
  });

  test("a limit of 0 accepts nothing", () => {
    const window = new SlidingWindow();
    expect(window.admit(5, 0)).toEqual({ accepted: false, limit: 0, remaining: 0, resetAtMs: 5, retryInMs: 60_000 });
  });

  test("a clock that goes backwards counts as standing still", () => {
    const window = new SlidingWindow();
    window.admit(100_000, 2);
    expect(window.admit(50_000, 2)).toMatchObject({ accepted: true, remaining: 0, resetAtMs: 160_000 });
    expect(window.admit(0, 2)).toMatchObject({ accepted: false, retryInMs: 60_000 });
    expect(window.admit(160_000, 2).accepted).toBe(true);
  });

  test("expired requests are dropped: memory does not grow with time", () => {
    const window = new SlidingWindow();
    for (let atMs = 0; atMs < 10_000_000; atMs += 100) window.admit(atMs, 1_000);
    expect((window as unknown as { entries: unknown[] }).entries.length).toBeLessThan(3_000);
  });
});
