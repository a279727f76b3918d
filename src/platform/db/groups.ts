import type { Database } from "./client.ts";
import type { Statement } from "./sql.ts";

/** Statements that take effect together. */
export type Group = readonly Statement[];

/**
 * Runs groups of statements in one round trip. If one fails, all are rolled back, and each group then runs by itself, so that a
 * failing group does not stop the others.
 * @returns for each group the results of its statements, or its error.
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
