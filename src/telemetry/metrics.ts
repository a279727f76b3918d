import type { Report } from "./report.ts";

/*
 * The columns of the Analytics Engine dataset, in their order: BLOBS[0] is blob1, DOUBLES[0] is double1. Queries name them by
 * number, so new ones go to the end, and none changes its place. The platform takes 20 of each a point, 16 KB of blobs, and
 * 250 points an invocation: a request or job writes one.
 */

/** `index1`, by which the platform samples: each workspace's own figures stay exact where all together are many. */
const INDEX = "workspace_id";
const BLOBS = ["event", "name", "outcome", "surface", "key_id", "error_code"] as const;
const DOUBLES = ["duration_ms", "object_hops", "d1_trips", "rows_read", "rows_written", "attempts", "messages"] as const;

/** The columns by their names, for queries: `{ duration_ms: "double1", … }`. */
export const COLUMNS: Readonly<Record<string, string>> = Object.fromEntries([
  [INDEX, "index1"],
  ...BLOBS.map((name, at) => [name, `blob${at + 1}`]),
  ...DOUBLES.map((name, at) => [name, `double${at + 1}`]),
]);

/** A point with a longer index is refused; ours are UUIDs. */
const MAX_INDEX_BYTES = 96;
/** Our own words and identifiers are shorter. What is not ours does not come here, and would be cut. */
const MAX_BLOB_LENGTH = 128;

/** What is measured of a request or job; an empty text stands for what there is not. */
export function toDataPoint(told: Report): AnalyticsEngineDataPoint {
  const { durationMs, cost, workspaceId } = told;
  const isRequest = told.event === "request";
  const blobs: Record<(typeof BLOBS)[number], string | null> = {
    event: told.event,
    name: isRequest ? told.operation : told.job,
    outcome: isRequest ? String(told.status) : told.outcome,
    surface: isRequest ? told.surface : null,
    key_id: isRequest ? told.keyId : null,
    error_code: isRequest ? told.errorCode : null,
  };
  const doubles: Record<(typeof DOUBLES)[number], number> = {
    duration_ms: durationMs,
    object_hops: cost.objectHops,
    d1_trips: cost.d1Trips,
    rows_read: cost.rowsRead,
    rows_written: cost.rowsWritten,
    attempts: isRequest ? 1 : told.attempts,
    messages: isRequest ? 0 : told.messages,
  };
  return {
    indexes: [(workspaceId ?? "").slice(0, MAX_INDEX_BYTES)],
    blobs: BLOBS.map((name) => (blobs[name] ?? "").slice(0, MAX_BLOB_LENGTH)),
    doubles: DOUBLES.map((name) => doubles[name]),
  };
}
