import type { Database } from "../platform/db/client.ts";
import type { Statement } from "../platform/db/sql.ts";

/** Statements that take effect together. */
export type Group = readonly Statement[];

/**
 * Runs groups of statements in one round trip. Where one fails, all are rolled back, and each group runs by itself: a failing one
 * stops no other.
 * @returns for each group what its statements returned, or why it failed.
 */
export async function runGroups(db: Database, groups: readonly Group[]): Promise<PromiseSettledResult<unknown[]>[]> {
  try {
    const results = await runAll(db, groups.flat());
    let at = 0;
    return groups.map(({ length }) => ({ status: "fulfilled", value: results.slice(at, (at += length)) }));
  } catch {
    return Promise.allSettled(groups.map((group) => runAll(db, group)));
  }
}

async function runAll(db: Database, [first, ...rest]: Group): Promise<unknown[]> {
  return first ? db.batch([first, ...rest]) : [];
}
