/** The cost of a request or job: its round trips, which dominate at the edge, and its billed rows. */
export interface Cost {
  /** Durable Object calls, including those that other objects make for the request. */
  objectHops: number;
  /** D1 calls; a `batch` is one. */
  d1Trips: number;
  /** The rows read, as D1 bills them. */
  rowsRead: number;
  /** The rows written, as D1 bills them: rows of indexes are included. */
  rowsWritten: number;
}

/** Adds up the cost of one request or job. */
export class Meter {
  readonly cost: Cost = { objectHops: 0, d1Trips: 0, rowsRead: 0, rowsWritten: 0 };

  countObjectHop(): void {
    this.cost.objectHops++;
  }

  countD1Trip(results: readonly D1Result[]): void {
    this.cost.d1Trips++;
    for (const { meta } of results) {
      this.cost.rowsRead += meta.rows_read;
      this.cost.rowsWritten += meta.rows_written;
    }
  }

  /** Adds what another Durable Object spent. */
  add(spent: Cost): void {
    this.cost.objectHops += spent.objectHops;
    this.cost.d1Trips += spent.d1Trips;
    this.cost.rowsRead += spent.rowsRead;
    this.cost.rowsWritten += spent.rowsWritten;
  }
}
