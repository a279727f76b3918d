/** What serving one request cost in round trips, the price of everything at the edge. */
export interface Cost {
  /** Durable Object calls, those made by other objects on the request's behalf included. */
  objectHops: number;
  /** D1 calls: one for each `batch`, whatever it holds. */
  d1Trips: number;
  /** Rows that those calls read, as D1 bills them. */
  rowsRead: number;
  /** Rows that those calls wrote, those of indexes included, as D1 bills them. */
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

  /** Adds what another object spent on this request. */
  add(spent: Cost): void {
    this.cost.objectHops += spent.objectHops;
    this.cost.d1Trips += spent.d1Trips;
    this.cost.rowsRead += spent.rowsRead;
    this.cost.rowsWritten += spent.rowsWritten;
  }
}
