import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Excerpt, Reading } from "../../../src/models/encoder/answer-reader.ts";
import { answerReader } from "../../../src/models/encoder/load.ts";
import { MAX_TOKENS } from "../../../src/models/encoder/network.ts";
import readings from "./readings.json";

function excerpts(heading: string, ...texts: string[]): Excerpt[] {
  return texts.map((text, at) => ({ passage: 0, at, heading, leadIn: "", text, score: 0 }));
}

/** The probability that none of the excerpts answers, then that of each excerpt. */
function probabilities({ none, excerpts }: Reading, count: number): number[] {
  const powers = [none, ...Array.from({ length: count }, (_, at) => excerpts.get(at) ?? Number.NEGATIVE_INFINITY)].map(Math.exp);
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

const FERRY = [
  ...excerpts(
    "Tickets",
    "A single crossing costs 12 euros for an adult.",
    "People aged 65 and over pay 9 euros.",
    "Bicycles travel for 3 euros.",
    "Dogs are welcome on the open deck if they are on a lead.",
  ),
];

describe("the reader", () => {
  test("computes what the trained network computes", async () => {
    const reader = await answerReader(env);
    for (const { question, previousQuestion, excerpts, tokens, none, logits } of readings) {
      expect(reader.arrange(question, previousQuestion, excerpts).tokens).toEqual(tokens);
      const reading = reader.read(question, previousQuestion, excerpts);
      expect(reading.none).toBeCloseTo(none, 0);
      expect([...reading.excerpts.keys()]).toEqual(Object.keys(logits).map(Number));
      for (const [index, logit] of Object.entries(logits)) expect(reading.excerpts.get(Number(index))).toBeCloseTo(logit, 0);
    }
  });

  test.each(["do dogs need a ticket of their own", "how long does the crossing take", "is there a student discount"])(
    "says that none answers %j, whose topic is there",
    async (question) => {
      const [none, ...each] = probabilities((await answerReader(env)).read(question, null, FERRY), FERRY.length);
      expect(none).toBeGreaterThan(Math.max(...each));
    },
  );

  test("reads a question together with the one before it", async () => {
    const reader = await answerReader(env);
    const [, ...each] = probabilities(reader.read("and for my bike?", "what does a crossing cost", FERRY), FERRY.length);
    expect(Math.max(...each)).toBe(each[2]);
  });

  test("reads the best excerpts as far as they fit, and any characters", async () => {
    const reader = await answerReader(env);
    const long = Array.from({ length: 100 }, (_, at) => ({ ...FERRY[0]!, at, text: "word ".repeat(1_000), score: at }));
    const { excerpts } = reader.read("word ".repeat(10_000), "word ".repeat(10_000), long);
    expect([...excerpts.keys()]).toEqual([98, 99]);
    for (const text of ["", "\0\uD800", "😀".repeat(5_000), "x".repeat(100_000)]) {
      const { none, excerpts } = reader.read(text, text, [{ ...FERRY[0]!, heading: text, leadIn: text, text }]);
      expect([none, excerpts.get(0)].every(Number.isFinite)).toBe(true);
    }
    expect(reader.read("Is anybody there?", null, []).excerpts.size).toBe(0);
  });

  test("reads no more than the network does where each sentence has another heading than the one before it", async () => {
    const reader = await answerReader(env);
    const heading = "heading ".repeat(14);
    const alternating = Array.from({ length: 40 }, (_, at) => ({
      ...FERRY[0]!,
      at,
      heading,
      leadIn: at % 2 === 0 ? "" : heading,
      text: "a",
      score: 0,
    }));
    const { tokens, rows } = reader.arrange("word ".repeat(100), "word ".repeat(100), alternating);
    expect(tokens.length).toBeLessThanOrEqual(MAX_TOKENS);
    expect(rows.size).toBeGreaterThan(5);
    expect(reader.read("word ".repeat(100), "word ".repeat(100), alternating).excerpts.size).toBe(rows.size);
  });
});
