import { expect, test } from "vitest";
import { checksOf, verdictOf } from "../../src/evaluations/expectations.ts";
import { comparer, type Measured, metricsOf } from "../../src/evaluations/metrics.ts";
import type { Expectation, HandoffReason, Verdict } from "../../src/platform/db/columns.ts";

const SOURCE = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

test.each<[Expectation, { answer?: string; cited?: string[]; handoffReason?: HandoffReason }, Verdict]>([
  [{ answer_contains: "five  DAYS" }, { answer: "Within five\ndays." }, "right"],
  [{ answer_contains: "ﬁve days" }, { answer: "Within five days." }, "right"],
  [{ answer_contains: "six days" }, { answer: "Within five days." }, "wrong"],
  [{ answer_contains: "colleague" }, { answer: "I asked a colleague.", handoffReason: "missing_knowledge" }, "refused"],
  [{ source_id: SOURCE }, { cited: [SOURCE] }, "right"],
  [{ source_id: SOURCE }, { cited: [] }, "wrong"],
  [{ source_id: SOURCE, answer_contains: "six" }, { answer: "Five.", cited: [SOURCE] }, "wrong"],
  [{ refusal: true }, { handoffReason: "customer_request" }, "right"],
  [{ refusal: true }, {}, "wrong"],
  [{ refusal: true }, { handoffReason: "model_failure" }, "failed"],
  [{ refusal: false }, {}, "right"],
  [{ refusal: false }, { handoffReason: "low_confidence" }, "refused"],
])("%j of %j is %s", (expectation, outcome, verdict) => {
  const { handoffReason = null, ...made } = outcome;
  const checks = checksOf(expectation, { answer: "", cited: [], calls: [], handoffReason, ...made });
  expect(verdictOf(expectation, handoffReason, checks)).toBe(verdict);
});

const measured = (
  verdict: Verdict | null,
  confidence: number | null = null,
  sourceFound: boolean | null = null,
  question = "?",
): Measured => ({
  question,
  previous: [],
  verdict,
  confidence,
  sourceFound,
  trace: { decision: { outcome: "answered" } },
});
const handedOff = (verdict: Verdict, confidence: number, sourceFound: boolean | null = null): Measured => ({
  ...measured(verdict, confidence, sourceFound),
  trace: { decision: { outcome: "handed_off" } },
});

test("the figures of an evaluation count what has run and not failed, and its calibration what was answered", () => {
  const cases = [
    measured("right", 0.9, true),
    measured("right", 1, true),
    measured("wrong", 0.8, false),
    handedOff("refused", 0.3, true),
    handedOff("right", 0.1),
    handedOff("wrong", 0.2),
    handedOff("failed", 0),
    measured(null),
  ];
  const { calibration, ...figures } = metricsOf(cases);
  expect(figures).toEqual({ accuracy: 0.5, recall: 0.75, recall_cases: 4, brier: expect.closeTo((0.01 + 0 + 0.64) / 3) });
  expect(calibration.slice(0, 4).map((bucket) => [bucket.cases, bucket.confidence, bucket.right])).toEqual(
    Array.from({ length: 4 }, () => [0, null, null]),
  );
  expect(calibration[4]).toEqual({ from: 0.8, to: 1, cases: 3, confidence: expect.closeTo(0.9), right: expect.closeTo(2 / 3) });
  expect(metricsOf([])).toMatchObject({ accuracy: null, recall: null, brier: null });
});

test.each<[Verdict | null, Verdict | null, string | null]>([
  ["wrong", "refused", "better"],
  ["refused", "right", "better"],
  ["right", "refused", "worse"],
  ["refused", "wrong", "worse"],
  ["wrong", "wrong", "same"],
  ["failed", "right", null],
  ["right", "failed", null],
  ["right", null, null],
])("a case that was %s and is %s is %s", (before, verdict, change) => {
  expect(comparer([measured(before)])(measured(verdict))).toEqual({ before, change });
});

test("cases are matched by their questions and those before them", () => {
  const compare = comparer([measured("right", 1, null, "Why?"), { ...measured("wrong", 1, null, "Why?"), previous: ["Who?"] }]);
  expect(compare(measured("right", 1, null, "Why?"))).toEqual({ before: "right", change: "same" });
  expect(compare({ ...measured("right", 1, null, "Why?"), previous: ["Who?"] })).toEqual({ before: "wrong", change: "better" });
  expect(compare(measured("right", 1, null, "How?"))).toEqual({ before: null, change: "new" });
});

test("cases that ask the same are matched in their order, each once", () => {
  const compare = comparer([measured("wrong"), measured("right")]);
  const changes = [measured("right"), measured("right"), measured("right")].map((one) => compare(one).change);
  expect(changes).toEqual(["better", "same", "new"]);
});
