import assert from "node:assert/strict";
import { test } from "node:test";
import { type Line, spentBy } from "./measure.ts";

const line = (event: string, job?: string): Line => ({
  event,
  ...(job && { job }),
  object_hops: 1,
  d1_trips: 2,
  rows_read: 30,
  rows_written: 4,
});

void test("requests and jobs are added up, and a turn is counted once: in its request", () => {
  const spent = spentBy([line("request"), line("job", "turn"), line("job", "webhook_attempt"), { event: "model_failure" }]);
  assert.deepEqual(spent, { objectHops: 2, d1Trips: 4, rowsRead: 60, rowsWritten: 8 });
});
