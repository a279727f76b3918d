/** A line of the service's log, as far as it says what something cost. */
export interface Line {
  event: string;
  job?: string;
  object_hops?: number;
  d1_trips?: number;
  rows_read?: number;
  rows_written?: number;
}

/** What lines say was spent. */
export interface Spent {
  objectHops: number;
  d1Trips: number;
  rowsRead: number;
  rowsWritten: number;
}

/** What lines say was spent, all together. A turn's is left out: the request that waited for it has it in its own line. */
export function spentBy(lines: readonly Line[]): Spent {
  const spent: Spent = { objectHops: 0, d1Trips: 0, rowsRead: 0, rowsWritten: 0 };
  for (const line of lines) {
    if (line.job === "turn") continue;
    spent.objectHops += line.object_hops ?? 0;
    spent.d1Trips += line.d1_trips ?? 0;
    spent.rowsRead += line.rows_read ?? 0;
    spent.rowsWritten += line.rows_written ?? 0;
  }
  return spent;
}
