import { describe, expect, it } from "vitest";
import { boundedQuery } from "../../src/knowledge/indexing/full-text.ts";

describe("the full-text query of a large index", () => {
  const query = (frequencies: Record<string, number>, size = 200_000): string | undefined =>
    boundedQuery(Object.keys(frequencies), new Map(Object.entries(frequencies)), size);

  it.each([
    ["uses all known terms, the rarest first", { b: 900, none: 0, a: 5 }, '"a" OR "b"'],
    ["uses rare terms and leaves out a common one", { a: 5, b: 60_000 }, '"a"'],
    ["requires common terms to occur together", { a: 5, b: 10_000, c: 30_000, d: 150_000 }, '"a" OR ("b" AND "c")'],
    ["leaves out common terms that occur together too often", { a: 5, b: 90_000, c: 120_000 }, '"a"'],
    ["requires common terms to occur together where there are no others", { b: 90_000, c: 120_000 }, '("b" AND "c")'],
    ["uses a common term where it is the only one", { b: 90_000 }, '"b"'],
    ["is undefined where the index has none of the terms", { none: 0 }, undefined],
  ] as const)("%s", (_, frequencies, expected) => {
    expect(query(frequencies)).toBe(expected);
  });

  it("takes each term literally", () => {
    expect(query({ 'a"b OR c*': 1 })).toBe('"a""b OR c*"');
  });
});
