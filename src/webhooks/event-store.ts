import { and, desc, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { timeOf } from "../platform/db/ids.ts";
import { events, workspaces } from "../platform/db/schema.ts";
import { HOUR_MS } from "../platform/time.ts";

/**
 * If the event of a cursor was erased, reading continues this long before the time in its id. The clock that made the id may be ahead of
 * the database's clock. No event that was committed after the erased one is missed, but some may be read twice.
 */
const CLOCKS_DIFFER_MS = 60_000;

/** One page of a workspace's events after the one with the cursor's id, or from the first one on, and one more row if there is one. */
export function pageEvents(db: Database, workspaceId: string, { cursor, limit }: { cursor?: string | undefined; limit: number }) {
  const after = cursor === undefined ? undefined : { id: cursor, sinceMs: timeOf(cursor) - CLOCKS_DIFFER_MS };
  return selectEvents(db, workspaceId, after, limit + 1);
}

const selectEvents = compiled((db, workspaceId: string, after: { id: string; sinceMs: number } | undefined, limit: number) => {
  const sequenceOf = (id: string) => sql`(SELECT sequence FROM ${events} WHERE id = ${id} AND workspace_id = ${workspaceId})`;
  const isAfter = after && gt(events.sequence, sql`coalesce(${sequenceOf(after.id)}, ${after.sinceMs})`);
  return db
    .select({ id: events.id, type: events.type, payload: events.payload })
    .from(events)
    .where(and(eq(events.workspaceId, workspaceId), isAfter))
    .orderBy(events.sequence)
    .limit(limit);
});

/** The event that was committed last. */
export function findLatestEvent(db: Database, workspaceId: string) {
  return db.select({ id: events.id }).from(events).where(eq(events.workspaceId, workspaceId)).orderBy(desc(events.sequence)).limit(1);
}

/** How often a read of the events is recorded, so that not every call writes. */
const NOTED_EVERY_MS = HOUR_MS;

/** Records that the workspace's events were read, so that new events are recorded. */
export const noteEventsRead = compiled((db, workspaceId: string, nowMs: number) => {
  const { id, eventsReadAt } = workspaces;
  return db
    .update(workspaces)
    .set({ eventsReadAt: nowMs })
    .where(and(eq(id, workspaceId), or(isNull(eventsReadAt), lt(eventsReadAt, sql`${nowMs} - ${NOTED_EVERY_MS}`))));
});
