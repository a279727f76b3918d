import { and, lt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { visitorCounts } from "../platform/db/schema.ts";
import { deleteSome, importCompleted, insertWhere } from "../platform/db/sql.ts";
import { ALL_SENDERS, COUNTED_PER_DAY, type LimitWindow, startOfDay } from "./usage-limits.ts";

/** SQL condition: each window has room for `more`. */
export function windowsHaveRoom(workspaceId: string, windows: readonly LimitWindow[], more = 1): SQL {
  const rooms = windows.map(({ flow, startMs, sender, limit }) => {
    const counted = sql`(SELECT count FROM ${visitorCounts}
      WHERE workspace_id = ${workspaceId} AND flow = ${flow} AND starts_at = ${startMs} AND sender = ${sender})`;
    return sql`coalesce(${counted}, 0) + ${more} <= ${limit}`;
  });
  return and(sql`TRUE`, ...rooms)!;
}

/**
 * Adds to the count of each window. The statements must follow the one that stores what is counted.
 * @param ifStored SQL condition: the previous statement changed one row. It holds for each of these, since each changes one row too.
 */
export function countInWindows(db: Database, workspaceId: string, windows: readonly LimitWindow[], ifStored: SQL, more = 1) {
  const target = [visitorCounts.workspaceId, visitorCounts.flow, visitorCounts.startsAt, visitorCounts.sender];
  return windows.map(({ flow, startMs, sender }) => {
    const first = { workspaceId, flow, startsAt: startMs, sender, count: more };
    return insertWhere(db, visitorCounts, first, ifStored).onConflictDoUpdate({
      target,
      set: { count: sql`${visitorCounts.count} + ${more}` },
    });
  });
}

/** Lists what a workspace has counted on the UTC day of a time, by what is counted. */
export function listCountsToday(db: Database, workspaceId: string | SQL, nowMs: number) {
  const startMs = startOfDay(nowMs);
  return listCounts(
    db,
    workspaceId,
    COUNTED_PER_DAY.map((flow) => ({ flow, sender: ALL_SENDERS, startMs })),
  );
}

/** Lists the counts of windows. A window in which nothing was counted has no row. */
export function listCounts(db: Database, workspaceId: string | SQL, windows: readonly Pick<LimitWindow, "flow" | "sender" | "startMs">[]) {
  const keys = JSON.stringify(windows.map((window) => [window.flow, window.startMs, window.sender]));
  return typeof workspaceId === "string" ? compiledSelectCounts(db, workspaceId, keys) : selectCounts(db, workspaceId, keys);
}

const compiledSelectCounts = compiled(selectCounts);

/** @param keys the flow, start and sender of each window, as JSON. */
function selectCounts(db: Database, workspaceId: string | SQL, keys: string) {
  const { flow, sender, startsAt, count } = visitorCounts;
  const isOne = sql`(${flow}, ${startsAt}, ${sender}) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(${keys}))`;
  return db
    .select({ flow, sender, startMs: startsAt, count })
    .from(visitorCounts)
    .where(sql`${visitorCounts.workspaceId} = ${workspaceId} AND ${isOne}`);
}

/** Deletes the counts of up to `limit` windows that ended long ago. */
export function pruneCounts(db: Database, beforeMs: number, limit: number) {
  const isOld = and(lt(visitorCounts.startsAt, beforeMs), importCompleted(visitorCounts.workspaceId));
  return deleteSome(db, visitorCounts, isOld, limit);
}
