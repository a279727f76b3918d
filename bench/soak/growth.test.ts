import assert from "node:assert/strict";
import { test } from "node:test";
import { type Expectation, fitLine, growthTable, judge, judgeLatency, type Point, unchangedNames } from "./growth.ts";

const HOURS = 3;

/** A point every tenth of an hour. */
function points(valueAt: (hour: number) => number): Point[] {
  return Array.from({ length: HOURS * 10 + 1 }, (_, at) => ({ hour: at / 10, value: valueAt(at / 10) }));
}

function judged(expectation: Expectation, valueAt: (hour: number) => number, slack = 0) {
  return judge({ name: "rows", expectation, points: points(valueAt), slack }, HOURS);
}

void test("the line goes through points that lie on one", () => {
  const { start, end } = fitLine(points((hour) => 5 + 2 * hour));
  assert.deepEqual([start.toFixed(6), end.toFixed(6)], ["5.000000", "11.000000"]);
});

void test("the line of noise around a value is that value", () => {
  const { start, end } = fitLine([0, 1, 2, 3].map((hour) => ({ hour, value: 10 + [1, -1, -1, 1][hour]! })));
  assert.deepEqual([start, end], [10, 10]);
});

void test("no line is fitted through points of one time", () => {
  assert.throws(() => fitLine([{ hour: 1, value: 2 }]), RangeError);
});

void test("growth in the first third does not count", () => {
  const { fault, mean, growth } = judged("flat", (hour) => Math.min(hour, 1) * 1_000);
  assert.deepEqual([fault, mean, Math.abs(growth) < 1e-6], [undefined, 1_000, true]);
});

void test("a series that grows by more than a fifth of its mean is a fault", () => {
  assert.equal(judged("flat", (hour) => 100 + 10 * hour).fault, undefined);
  assert.equal(judged("flat", (hour) => 100 + 20 * hour).fault, "rows grows from 120 to 160, though it should be flat.");
});

void test("a series that shrinks, grows by design or grows by no more than the slack is no fault", () => {
  assert.equal(judged("flat", (hour) => 100 - 20 * hour).fault, undefined);
  assert.equal(judged("grows", (hour) => 100 * hour).fault, undefined);
  assert.equal(judged("flat", (hour) => hour, 2).fault, undefined);
});

void test("what should be empty at the end and is not is a fault", () => {
  assert.equal(judged("zero", (hour) => (hour < HOURS ? 7 : 0)).fault, undefined);
  assert.equal(judged("zero", () => 7).fault, "rows is 7 at the end, though nothing should be left.");
});

void test("a series of too few points is a fault, so that a run which is too short does not pass", () => {
  const { fault } = judge({ name: "rows", expectation: "flat", points: points(() => 1).slice(-3), slack: 0 }, HOURS);
  assert.equal(fault, "rows has 3 points, which are too few to judge.");
});

void test("the p99 of the last third must be about that of the first", () => {
  assert.equal(
    judgeLatency(
      points((hour) => 300 + hour),
      HOURS,
    ).fault,
    undefined,
  );
  assert.equal(
    judgeLatency(
      points((hour) => (hour < 2 ? 10 : 90)),
      HOURS,
    ).fault,
    undefined,
  );
  const { fault } = judgeLatency(
    points((hour) => (hour < 2 ? 300 : 900)),
    HOURS,
  );
  assert.equal(fault, "The p99 rises from 300 ms in the first third to 900 ms in the last.");
  assert.equal(judgeLatency([], HOURS).fault, "The first or the last third has no requests.");
});

void test("the table shows each series that changes and what is wrong", () => {
  const daily = { name: "days", expectation: "grows", reason: "a row for each day", points: points((hour) => hour), slack: 0 } as const;
  const rows = growthTable([judged("flat", (hour) => 10 + Math.sin(hour * 10)), judged("flat", (hour) => hour * 100), judge(daily, HOURS)]);
  assert.deepEqual(
    rows.map(({ last, expected, result }) => [last, expected, result]),
    [
      [9, "flat", "as expected"],
      [300, "flat", "**fault**"],
      [3, "grows: a row for each day", "as expected"],
    ],
  );
});

void test("series that never change are named", () => {
  assert.deepEqual(unchangedNames([judged("flat", () => 10), judged("flat", (hour) => hour), judged("zero", () => 7)]), ["rows"]);
});

void test("a series may be judged from a later share of the run", () => {
  const filling = { name: "memory", expectation: "flat", points: points((hour) => Math.min(hour, 2) * 100), slack: 0 } as const;
  assert.match(judge(filling, HOURS).fault ?? "", /grows/);
  assert.equal(judge({ ...filling, judgedFrom: 2 / 3 }, HOURS).fault, undefined);
});
