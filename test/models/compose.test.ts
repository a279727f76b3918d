import { expect, test } from "vitest";
import { composeAnswer, type ScoredPassage } from "../../src/models/compose.ts";
import type { Passage } from "../../src/models/retrieval.ts";
import { segmentsOf } from "../../src/models/segments.ts";

/** A passage whose sentences have these scores. */
function passageOf(content: string, scores: number[]): ScoredPassage {
  const passage: Passage = { sourceId: content, type: "text", title: "Handbook", heading: null, url: null, content, score: 0.5 };
  const segments = segmentsOf(content, "").map((segment, at) => ({ segment, coverage: scores[at]!, score: scores[at]! }));
  return { passage, segments, quotesQuestion: false };
}

test("the passage of the best segment comes first, and each passage keeps its reading order", () => {
  const first = passageOf("Parcels leave the shop on Monday. Nobody knows why.", [0.88, 0.1]);
  const second = passageOf("Refunds need the receipt. Bring it within thirty days after you have bought something here, please.", [0.9, 1]);
  const { text, cited } = composeAnswer([first, second]);
  expect(text).toBe(`${second.passage.content}\n\nParcels leave the shop on Monday.`);
  expect(cited).toEqual([second.passage, first.passage]);
});
