import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { SlidingWindow, WindowStore } from "../../src/workspaces/rate-limit.ts";

const START_MS = 1_800_000_000_000;

/** Runs with the storage of an object that nothing else uses. */
function withStorage<Result>(work: (storage: DurableObjectStorage) => Promise<Result>): Promise<Result> {
  return runInDurableObject(env.GATE.getByName(crypto.randomUUID()), (_, { storage }) => work(storage));
}

test("accepted requests are loaded again, whatever the number of writes in a second", async () => {
  await withStorage(async (storage) => {
    const window = new SlidingWindow();
    const store = new WindowStore(storage);
    for (const afterMs of [0, 0, 3, 400, 999, 1_000, 1_001, 30_500, 30_500]) {
      window.admit(START_MS + afterMs, 100);
      await store.save(window);
    }
    expect(await new WindowStore(storage).load(START_MS + 31_000)).toEqual([
      { atMs: START_MS, count: 2 },
      { atMs: START_MS + 3, count: 1 },
      { atMs: START_MS + 400, count: 1 },
      { atMs: START_MS + 999, count: 1 },
      { atMs: START_MS + 1_000, count: 1 },
      { atMs: START_MS + 1_001, count: 1 },
      { atMs: START_MS + 30_500, count: 2 },
    ]);
  });
});

test("expired requests are not loaded, to the millisecond", async () => {
  await withStorage(async (storage) => {
    const window = new SlidingWindow();
    window.admit(START_MS, 100);
    window.admit(START_MS + 1, 100);
    await new WindowStore(storage).save(window);
    expect(await new WindowStore(storage).load(START_MS + 59_999)).toHaveLength(2);
    expect(await new WindowStore(storage).load(START_MS + 60_000)).toEqual([{ atMs: START_MS + 1, count: 1 }]);
    expect(await new WindowStore(storage).load(START_MS + 60_001)).toEqual([]);
  });
});

test("an object that restarts at any time loses nothing, and its storage does not grow", async () => {
  await withStorage(async (storage) => {
    let window = new SlidingWindow();
    let store = new WindowStore(storage);
    const accepted: number[] = [];
    let nowMs = START_MS;
    for (let at = 0; at < 400; at++) {
      nowMs += (at * 137) % 1_900;
      if (window.admit(nowMs, 20).accepted) accepted.push(nowMs);
      if (at % 3 === 0) await store.save(window);
      if (at % 9 === 0) {
        store = new WindowStore(storage);
        window = new SlidingWindow(await store.load(nowMs));
        const stored = window.since(0).reduce((sum, { count }) => sum + count, 0);
        expect(stored, `request ${at}`).toBe(accepted.filter((atMs) => atMs > nowMs - 60_000).length);
      }
    }
    expect(nowMs - START_MS).toBeGreaterThan(300_000);
    expect((await storage.list()).size).toBeLessThanOrEqual(64);
  });
});
