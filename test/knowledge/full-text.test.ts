import { describe, expect, it } from "vitest";
import { boundedQuery } from "../../src/knowledge/indexing/full-text.ts";

describe("the query of a large knowledge", () => {
  const query = (frequencies: Record<string, number>, size = 200_000): string | undefined =>
    boundedQuery(Object.keys(frequencies), new Map(Object.entries(frequencies)), size);

  it.each([
    ["takes all words that are there, however they come", { b: 900, none: 0, a: 5 }, '"a" OR "b"'],
    ["takes rare words and leaves out one that is common", { a: 5, b: 60_000 }, '"a"'],
    ["wants common words together", { a: 5, b: 10_000, c: 30_000, d: 150_000 }, '"a" OR ("b" AND "c")'],
    ["leaves out common words that stand together by chance too often", { a: 5, b: 90_000, c: 120_000 }, '"a"'],
    ["wants common words together where there are no others", { b: 90_000, c: 120_000 }, '("b" AND "c")'],
    ["takes a common word where it is all that there is", { b: 90_000 }, '"b"'],
    ["is none where the index has none of the words", { none: 0 }, undefined],
  ] as const)("%s", (_, frequencies, expected) => {
    expect(query(frequencies)).toBe(expected);
  });

  it("takes each term literally", () => {
    expect(query({ 'a"b OR c*': 1 })).toBe('"a""b OR c*"');
  });
});
