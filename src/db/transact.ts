import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import type { Database } from "./client.ts";

type Statement = BatchItem<"sqlite">;
type Reads = readonly [Statement, ...Statement[]];

/**
 * Runs reads, writes and reads again as one batch: one transaction, one round trip. How many writes there are may depend
 * on what is asked.
 */
export async function transact<const Before extends Reads, const After extends Reads>(
  db: Database,
  { before, writes, after }: { before: Before; writes: readonly Statement[]; after: After },
): Promise<{ before: BatchResponse<Before>; after: BatchResponse<After> }> {
  const results: unknown[] = await db.batch([...before, ...writes, ...after]);
  const read = { before: results.slice(0, before.length), after: results.slice(before.length + writes.length) };
  return read as { before: BatchResponse<Before>; after: BatchResponse<After> };
}

/** Runs writes and then reads as one batch. */
export async function writeThenRead<const After extends Reads>(
  db: Database,
  writes: readonly Statement[],
  after: After,
): Promise<BatchResponse<After>> {
  const [first, ...rest] = [...writes, ...after];
  const results: unknown[] = await db.batch([first, ...rest]);
  const read: unknown = results.slice(writes.length);
  return read as BatchResponse<After>;
}
