import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import type { Database } from "./client.ts";

/** A statement that is not run yet: a part of a batch. */
export type Statement = BatchItem<"sqlite">;
type Reads = readonly [Statement, ...Statement[]];

/**
 * Runs reads, writes and reads again as one batch: one transaction, one round trip. How many writes there are may depend
 * on what is asked; what they return is given as it is.
 */
export async function transact<const Before extends readonly Statement[], const After extends Reads>(
  db: Database,
  { before, writes, after }: { before: Before; writes: readonly Statement[]; after: After },
): Promise<{ before: BatchResponse<Before>; written: readonly unknown[]; after: BatchResponse<After> }> {
  const [first, ...rest] = [...before, ...writes, ...after];
  const results: unknown[] = await db.batch([first, ...rest]);
  const afterAt = before.length + writes.length;
  const read = { before: results.slice(0, before.length), written: results.slice(before.length, afterAt), after: results.slice(afterAt) };
  return read as { before: BatchResponse<Before>; written: readonly unknown[]; after: BatchResponse<After> };
}

/** Runs writes and then reads as one batch. */
export async function writeThenRead<const After extends Reads>(db: Database, writes: readonly Statement[], after: After) {
  const { written, after: read } = await transact(db, { before: [], writes, after });
  return { written, read };
}
