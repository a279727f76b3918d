import { describe, expect, test } from "vitest";
import { candidateQuery } from "../../src/knowledge/indexing/full-text.ts";

const query = (frequencies: Record<string, number>, size = 1_000_000) =>
  candidateQuery(Object.keys(frequencies), new Map(Object.entries(frequencies)), size);

describe("the full-text query of a large index", () => {
  test.each([
    ["uses all known terms, the rarest first", { b: 900, none: 0, a: 5 }, '"a" OR "b"'],
    ["uses rare terms and leaves out a common one", { a: 5, b: 60_000 }, '"a"'],
    ["requires common terms to occur together", { a: 5, b: 10_000, c: 30_000 }, '"a" OR ("b" AND "c")'],
    ["requires common terms to occur together where there are no others", { b: 10_000, c: 30_000 }, '("b" AND "c")'],
    ["uses a common term where it is the only one", { b: 9_000 }, '("b")'],
  ] as const)("%s", (_, frequencies, ranked) => {
    expect(query(frequencies)).toEqual({ ranked, scans: [] });
  });

  test("is undefined where the index has none of the terms", () => {
    expect(query({ none: 0 })).toBeUndefined();
  });

  test("takes each term literally", () => {
    expect(query({ 'a"b OR c*': 1 })?.ranked).toBe('"a""b OR c*"');
  });
});

describe("terms that too many chunks have", () => {
  const expressions = (frequencies: Record<string, number>, size?: number) => {
    const { ranked, scans } = query(frequencies, size)!;
    return [ranked, ...scans.map(({ expression }) => expression)];
  };

  test("are looked for together, the most of them first, and the rarest at last alone", () => {
    const all = { e: 500_000, c: 70_000, d: 90_000, b: 60_000, a: 50_000 };
    const groups = ['("a" AND "b" AND "c")', '("a" AND "b")'];
    expect(expressions(all)).toEqual([undefined, ...groups, '{title heading} : ("a")', '("a")']);
  });

  test("are looked for together beside a rare one, and never alone", () => {
    expect(expressions({ rare: 3, a: 50_000, b: 60_000 })).toEqual(['"rare"', '("a" AND "b")']);
  });

  test("are not ranked beside a rare one where they occur together too often", () => {
    expect(expressions({ rare: 3, a: 4_900, b: 5_000 }, 5_000)).toEqual(['"rare"', '("a" AND "b")']);
  });

  test("are looked for in a smaller part of the index the more chunks have them", () => {
    const [all, part, less] = [50_001, 200_000, 400_000].map((count) => query({ a: count })!.scans[0]!.share);
    expect([all, part, less]).toEqual([1, 0.5, 0.25]);
  });
});
