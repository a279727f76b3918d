import assert from "node:assert/strict";
import { test } from "node:test";
import { activeMs } from "./startup.ts";

void test("the time of a start is read where wrangler prints it", () => {
  const output = "│   Profile window: 290.2 ms\n│   Active: 131.3 ms (including 12.1 ms garbage collection)\n│   Idle: 142.3 ms\n";
  assert.equal(activeMs(output), 131.3);
  assert.throws(() => activeMs("│   Idle: 142.3 ms\n"), /did not say how long/);
});
