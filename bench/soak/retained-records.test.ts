import assert from "node:assert/strict";
import { test } from "node:test";
import { RetainedRecords } from "./retained-records.ts";

const DAY_MS = 24 * 60 * 60_000;

function recordsOf(listed: { id: string; atMs: number }[]): RetainedRecords {
  const records = new RetainedRecords("conversation", 30 * DAY_MS);
  records.update(listed);
  return records;
}

void test("a record that is missing before its retention ends is lost", () => {
  const [finding, ...others] = recordsOf([{ id: "one", atMs: 0 }]).check([], 29 * DAY_MS);
  assert.deepEqual([finding?.problem, others], ["lost", []]);
});

void test("a record that is listed after its retention is half deleted", () => {
  const listed = [{ id: "one", atMs: 0 }];
  assert.deepEqual(recordsOf(listed).check(listed, 30 * DAY_MS), []);
  assert.deepEqual(
    recordsOf(listed)
      .check(listed, 31 * DAY_MS)
      .map(({ problem }) => problem),
    ["half"],
  );
});

void test("a record may be missing after its retention, and is forgotten then", () => {
  const records = recordsOf([{ id: "one", atMs: 0 }]);
  assert.deepEqual(records.check([], 31 * DAY_MS), []);
  records.update([{ id: "two", atMs: 31 * DAY_MS }]);
  assert.deepEqual([...records.ids], ["two"]);
});
