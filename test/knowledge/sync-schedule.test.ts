import { expect, test } from "vitest";
import { nextSyncAtMs } from "../../src/knowledge/sync-schedule.ts";
import { newId } from "../../src/platform/db/ids.ts";

const HOUR = 60 * 60_000;
const NOW = 1_790_000_000_000;

test.for([
  ["daily", 24],
  ["weekly", 7 * 24],
] as const)("%s: after its period, up to a tenth sooner or later, spread over all of that", ([schedule, hours]) => {
  const ids = Array.from({ length: 500 }, () => newId(0, NOW));
  for (const type of ["website", "url"] as const) {
    const shares = ids.map((id) => (nextSyncAtMs({ id, type, schedule }, NOW)! - NOW) / (hours * HOUR));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.9);
    expect(Math.min(...shares)).toBeLessThan(0.92);
    expect(Math.max(...shares)).toBeLessThanOrEqual(1.1);
    expect(Math.max(...shares)).toBeGreaterThan(1.08);
  }
});

test("a source has its own offset, which stays", () => {
  const source = { id: newId(1, NOW), type: "website", schedule: "daily" } as const;
  expect(nextSyncAtMs(source, NOW)! - NOW).toBe(nextSyncAtMs(source, NOW + HOUR)! - NOW - HOUR);
});

test("manual schedules and texts have no next sync", () => {
  const id = newId(0, NOW);
  expect(nextSyncAtMs({ id, type: "website", schedule: "manual" }, NOW)).toBeNull();
  expect(nextSyncAtMs({ id, type: "text", schedule: "daily" }, NOW)).toBeNull();
});
