import assert from "node:assert/strict";
import { test } from "node:test";
import { spentBy } from "./measure.ts";

const USED = { object_hops: 1, d1_trips: 2, rows_read: 30, rows_written: 4 };

void test("requests and jobs are added up, and a turn is counted once: in its request", () => {
  const spent = spentBy([
    { event: "request", ...USED },
    { event: "job", job: "turn", ...USED },
    { event: "job", job: "webhook_attempt", ...USED },
    { event: "model_failure" },
  ]);
  assert.deepEqual(spent, { objectHops: 2, d1Trips: 4, rowsRead: 60, rowsWritten: 8 });
});
