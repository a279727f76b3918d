import { expect, test } from "vitest";
import { formatUuid, newId, parseUuid, shardOf } from "../../../src/platform/db/ids.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The time that an identifier carries. */
const timeOf = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

test("an id is a UUIDv7 with the given time", () => {
  const nowMs = Date.now() + 1_000_000;
  const ids = Array.from({ length: 200 }, (_, at) => newId(at % 256, nowMs + at));
  for (const [at, id] of ids.entries()) {
    expect(id).toMatch(UUID);
    expect(timeOf(id)).toBe(nowMs + at);
  }
  expect(new Set(ids.map((id) => id[19]))).toEqual(new Set(["8", "9", "a", "b"]));
});

test("the last byte is the shard, for all 256", () => {
  for (let shard = 0; shard < 256; shard++) {
    const id = newId(shard, Date.now());
    expect(shardOf(id)).toBe(shard);
    expect(shardOf(id.toUpperCase())).toBe(shard);
  }
  expect(newId(0, Date.now()).endsWith("00")).toBe(true);
  expect(newId(255, Date.now()).endsWith("ff")).toBe(true);
});

test("ids of one millisecond increase, even past the counter's range", () => {
  const nowMs = Date.now() + 2_000_000;
  const ids = Array.from({ length: 10_000 }, (_, at) => newId(at % 2 === 0 ? 0 : 255, nowMs));
  for (let at = 1; at < ids.length; at++) expect(ids[at]! > ids[at - 1]!).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  // The counter has room for 2,048 at least; what is more borrows from the milliseconds after it.
  expect(timeOf(ids[2047]!)).toBe(nowMs);
  expect(timeOf(ids.at(-1)!) - nowMs).toBeLessThanOrEqual(3);
});

test("ids sort by time", () => {
  const start = Date.now() + 3_000_000;
  const ids = Array.from({ length: 500 }, (_, at) => newId(at % 256, start + at * 977));
  expect(ids.toSorted()).toEqual(ids);
});

test("a clock that goes backwards does not change the order", () => {
  const nowMs = Date.now() + 5_000_000;
  const before = newId(0, nowMs);
  const after = newId(0, nowMs - 60_000);
  expect(after > before).toBe(true);
  expect(timeOf(after)).toBe(nowMs);
});

test("each millisecond's counter starts at random, so that ids cannot be guessed from each other", () => {
  const start = Date.now() + 6_000_000;
  const ids = Array.from({ length: 64 }, (_, at) => newId(0, start + at));
  expect(new Set(ids.map((id) => id.slice(15, 18))).size).toBeGreaterThan(50);
  expect(new Set(ids.map((id) => id.slice(20, 34))).size).toBe(64);
});

test("formatting and parsing a UUID are inverse", () => {
  const id = newId(7, Date.now());
  expect(parseUuid(id)).toHaveLength(16);
  expect(formatUuid(parseUuid(id))).toBe(id);
  expect(formatUuid(parseUuid(id.toUpperCase()))).toBe(id);
});
