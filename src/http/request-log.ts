import type { AppContext } from "./context.ts";

/** One structured line for each request: what was asked, how it ended and what it cost. No personal data, no secret. */
export function logRequest(c: AppContext): void {
  const { objectHops, d1Trips, rowsRead, rowsWritten } = c.get("meter").cost;
  const line = {
    event: "request",
    request_id: c.get("requestId"),
    operation: c.get("operationId") ?? null,
    method: c.req.method,
    status: c.res.status,
    ...c.get("logFields"),
    duration_ms: Date.now() - c.get("startedAtMs"),
    object_hops: objectHops,
    d1_trips: d1Trips,
    rows_read: rowsRead,
    rows_written: rowsWritten,
  };
  console.log(JSON.stringify(line));
}

/** A failure of ours, for the log alone. */
export function logFailure(c: AppContext, error: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  console.error(JSON.stringify({ event: "failure", request_id: c.get("requestId"), operation: c.get("operationId") ?? null, detail }));
}
