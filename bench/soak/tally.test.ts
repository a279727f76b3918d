import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deed } from "./load.ts";
import { addTally, outcomeTable, tallyOf } from "./tally.ts";

function ask(attempts: number, outcome: Deed["outcome"]): Deed {
  const request = { method: "POST", path: "/api/v1/agents/a/messages" };
  return { kind: "ask", marker: "zq", request, attempts, isRepeated: true, response: {}, ...(outcome && { outcome }) };
}

const DEEDS = [ask(1, "acknowledged"), ask(2, "acknowledged"), ask(1, "unknown")];

void test("requests are counted by their outcome, and findings by their problem", () => {
  const tally = tallyOf(DEEDS, 4, [{ kind: "ask", problem: "doubled", text: "" }]);
  assert.deepEqual(Object.values(tally["ask"]!), [3, 2, 1, 1, 0, 0, 1]);
  assert.equal(tally["events"]!.acknowledged, 4);
});

void test("tallies of days add up", () => {
  const total = {};
  addTally(total, tallyOf(DEEDS, 4, []));
  addTally(total, tallyOf(DEEDS.slice(2), 1, [{ kind: "events", problem: "lost", text: "" }]));
  assert.deepEqual(
    outcomeTable(total).map((row) => Object.values(row)),
    [
      ["ask", 4, 2, 1, 2, 0, 0, 0],
      ["counters", 6, 6, 0, 0, 0, 0, 0],
      ["events", 5, 5, 0, 0, 1, 0, 0],
    ],
  );
});
