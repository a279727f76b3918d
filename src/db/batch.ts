import type { BatchItem, BatchResponse } from "drizzle-orm/batch";
import type { Database } from "./client.ts";

type Statement = BatchItem<"sqlite">;

/** Runs writes and then reads in one batch, which is one transaction and one round trip; returns what the reads found. */
export async function writeThenRead<const Reads extends readonly [Statement, ...Statement[]]>(
  db: Database,
  writes: readonly Statement[],
  reads: Reads,
): Promise<BatchResponse<Reads>> {
  const [first, ...rest] = [...writes, ...reads];
  const results: unknown[] = await db.batch([first!, ...rest]);
  return results.slice(writes.length) as BatchResponse<Reads>;
}
