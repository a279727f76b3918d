import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { DIMENSIONS, MAX_TOKENS } from "../../../src/models/encoder/network.ts";
import { sentenceEncoder } from "../../../src/models/encoder/load.ts";
import reference from "./vectors.bin";
import sentences from "./sentences.txt?raw";

/** A vector of the original model, scaled so that its largest number is 127 (encoder/reference.py). */
function originalVector(at: number): Int8Array {
  return new Int8Array(reference, at * DIMENSIONS, DIMENSIONS);
}

function cosine(one: ArrayLike<number>, other: ArrayLike<number>): number {
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a, (value, at) => value * b[at]!).reduce((x, y) => x + y, 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

describe("the sentence encoder", () => {
  test("gives the vectors of the original model", async () => {
    const encoder = await sentenceEncoder(env);
    const texts = sentences.split("\n").slice(0, -1);
    expect(texts).toHaveLength(1_000);
    const far = texts.filter((text, at) => cosine(encoder.encode(text), originalVector(at)) < 0.995);
    expect(far).toEqual([]);
  });

  test("finds texts of similar meaning alike, whatever their words", async () => {
    const encoder = await sentenceEncoder(env);
    const [asked, meant, other] = ["can flex be paused", "The Flex membership may be frozen.", "Our pool is closed."].map((text) =>
      encoder.encode(text),
    );
    expect(cosine(asked!, meant!)).toBeGreaterThan(cosine(asked!, other!) + 0.2);
  });

  test("leaves out each word of a text, as if the text were encoded without it", async () => {
    const encoder = await sentenceEncoder(env);
    const { vector, without } = encoder.encodeWithout("Can I bring my Labrador to the pool?");
    expect(cosine(vector, encoder.encode("Can I bring my Labrador to the pool?"))).toBeCloseTo(1, 5);
    expect([...without.keys()]).toEqual(["can", "i", "bring", "my", "labrador", "to", "the", "pool", "?"]);
    const other = encoder.encode("Children may bring a friend to the pool.");
    expect(cosine(without.get("labrador")!, other)).toBeGreaterThan(cosine(vector, other) + 0.02);
    expect(cosine(without.get("pool")!, other)).toBeLessThan(cosine(vector, other));
  });

  test("reads the beginning of a text that is too long, and any characters", async () => {
    const encoder = await sentenceEncoder(env);
    const long = encoder.encode("word ".repeat(100_000));
    expect(cosine(long, encoder.encode("word ".repeat(MAX_TOKENS)))).toBeCloseTo(1, 5);
    for (const text of ["", "\0\uD800", "😀".repeat(5_000), "x".repeat(100_000)]) {
      const vector = encoder.encode(text);
      expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    }
  });
});
