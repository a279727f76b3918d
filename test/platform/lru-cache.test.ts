import { expect, test } from "vitest";
import { LruCache } from "../../src/platform/lru-cache.ts";

test("a cache never holds more than its size", () => {
  const cache = new LruCache<number, number>(10);
  for (let key = 0; key < 100; key++) {
    cache.set(key, key);
    expect(cache.values().length).toBeLessThanOrEqual(10);
    expect(cache.get(key)).toBe(key);
  }
});

test("an entry that is read stays while others are dropped", () => {
  const cache = new LruCache<number, number>(10);
  cache.set(-1, -1);
  cache.set(-2, -2);
  for (let key = 0; key < 100; key++) {
    cache.set(key, key);
    expect(cache.get(-1)).toBe(-1);
  }
  expect(cache.get(-2)).toBeUndefined();
});

test("setting an entry again replaces its value, whichever generation holds it", () => {
  const cache = new LruCache<string, number>(4);
  for (const key of ["a", "b", "c"]) cache.set(key, 1);
  cache.set("a", 2);
  expect(cache.get("a")).toBe(2);
  expect(cache.values()).toEqual([1, 1, 2]);
  cache.clear();
  expect(cache.values()).toEqual([]);
});
