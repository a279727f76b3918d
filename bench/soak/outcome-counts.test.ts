import assert from "node:assert/strict";
import { test } from "node:test";
import type { SoakRequest } from "./load.ts";
import { addCounts, countOutcomes, outcomeTable } from "./outcome-counts.ts";

function ask(attempts: number, outcome: SoakRequest["outcome"]): SoakRequest {
  const prepared = { method: "POST", path: "/api/v1/agents/a/messages" };
  return { kind: "ask", marker: "zq", prepared, attempts, isRepeated: true, response: {}, ...(outcome && { outcome }) };
}

const REQUESTS = [ask(1, "acknowledged"), ask(2, "acknowledged"), ask(1, "unknown")];

void test("requests are counted by their outcome, and findings by their problem", () => {
  const counts = countOutcomes(REQUESTS, 4, [{ kind: "ask", problem: "doubled", text: "" }]);
  assert.deepEqual(Object.values(counts["ask"]!), [3, 2, 1, 1, 0, 0, 1]);
  assert.equal(counts["events"]!.acknowledged, 4);
});

void test("counts of days add up", () => {
  const total = {};
  addCounts(total, countOutcomes(REQUESTS, 4, []));
  addCounts(total, countOutcomes(REQUESTS.slice(2), 1, [{ kind: "events", problem: "lost", text: "" }]));
  assert.deepEqual(
    outcomeTable(total).map((row) => Object.values(row)),
    [
      ["ask", 4, 2, 1, 2, 0, 0, 0],
      ["counters", 6, 6, 0, 0, 0, 0, 0],
      ["events", 5, 5, 0, 0, 1, 0, 0],
    ],
  );
});
