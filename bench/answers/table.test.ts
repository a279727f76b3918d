import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "./ask.ts";
import { tableOf } from "./table.ts";

const QUESTIONS = 100;

/** A run in which so many of the first questions are answered rightly, and the others refused. */
function run(right: number): Outcome[] {
  return Array.from({ length: QUESTIONS }, (_, at) => ({
    id: String(at),
    set: "shop",
    group: "shop",
    language: "en",
    kind: "answer",
    retrieval: null,
    result: at < right ? "right" : "refused",
    confidence: 0.5,
    certainty: 0.5,
  }));
}

function rightOf(now: readonly Outcome[], before?: readonly Outcome[]): string | number | undefined {
  return tableOf(now, before)[0]!["right"];
}

void test("a figure stands alone without an earlier run, or without its questions in it", () => {
  assert.equal(rightOf(run(60)), "0.600");
  const other = run(60).map((outcome) => ({ ...outcome, set: "bank" }));
  assert.equal(rightOf(run(60), other), "0.600");
});

void test("a change is shown, and marked only beyond noise", () => {
  assert.equal(rightOf(run(60), run(60)), "0.600");
  assert.equal(rightOf(run(60), run(58)), "0.600 (+0.020)");
  assert.equal(rightOf(run(60), run(50)), "**0.600 (+0.100)**");
  assert.equal(rightOf(run(50), run(60)), "**0.500 (−0.100)**");
});

void test("unanswerable questions count in the figures about them alone", () => {
  const misses = run(0).map((outcome): Outcome => ({
    ...outcome,
    id: `miss ${outcome.id}`,
    kind: "miss",
    result: "wrong",
    certainty: 0.4,
  }));
  const [row] = tableOf([...run(60), ...misses]);
  assert.deepEqual(
    ["questions", "right", "wrong", "unanswerable answered", "AUROC"].map((column) => row![column]),
    ["100 + 100", "0.600", "0.000", "1.000", "1.000"],
  );
});
