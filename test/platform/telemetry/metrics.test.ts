import { expect, test, vi } from "vitest";
import { COLUMNS, report, type Report, toDataPoint } from "../../../src/platform/telemetry/report.ts";

const COST = { objectHops: 2, d1Trips: 3, rowsRead: 4, rowsWritten: 5 };
const REQUEST: Report = {
  event: "request",
  operation: "askAgent",
  surface: "api",
  workspaceId: "w",
  keyId: "k",
  status: 429,
  errorCode: "rate_limited",
  durationMs: 1,
  cost: COST,
};
const JOB: Report = {
  event: "job",
  job: "ingestion",
  outcome: "ready",
  attempts: 6,
  messages: 7,
  workspaceId: null,
  durationMs: 1,
  cost: COST,
};

test("the dataset's columns keep their numbers, which queries refer to", () => {
  expect(COLUMNS).toEqual({
    workspace_id: "index1",
    event: "blob1",
    name: "blob2",
    outcome: "blob3",
    surface: "blob4",
    key_id: "blob5",
    error_code: "blob6",
    duration_ms: "double1",
    object_hops: "double2",
    d1_trips: "double3",
    rows_read: "double4",
    rows_written: "double5",
    attempts: "double6",
    messages: "double7",
  });
});

test("requests and jobs fill the same columns", () => {
  expect(toDataPoint(REQUEST)).toEqual({
    indexes: ["w"],
    blobs: ["request", "askAgent", "429", "api", "k", "rate_limited"],
    doubles: [1, 2, 3, 4, 5, 1, 0],
  });
  expect(toDataPoint(JOB)).toEqual({ indexes: [""], blobs: ["job", "ingestion", "ready", "", "", ""], doubles: [1, 2, 3, 4, 5, 6, 7] });
});

test("the platform's limits hold for any values", () => {
  const long = "w".repeat(20_000);
  const { indexes, blobs, doubles } = toDataPoint({
    ...REQUEST,
    operation: long,
    surface: long,
    keyId: long,
    errorCode: long,
    workspaceId: long,
  });
  const bytes = (text: unknown) => new TextEncoder().encode(text as string).length;
  expect(indexes).toHaveLength(1);
  expect(bytes(indexes![0])).toBeLessThanOrEqual(96);
  expect(blobs!.length).toBeLessThanOrEqual(20);
  expect(blobs!.reduce((sum, blob) => sum + bytes(blob), 0)).toBeLessThanOrEqual(16_384);
  expect(doubles!.length).toBeLessThanOrEqual(20);
});

test("a deployment without metrics writes its log line, and no warning", () => {
  const lines = vi.spyOn(console, "log").mockReturnValue();
  const problems = vi.spyOn(console, "error").mockReturnValue();
  report({}, REQUEST);
  expect(lines).toHaveBeenCalledOnce();
  expect(problems).not.toHaveBeenCalled();
});
