import { and, desc, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { timeOf } from "../platform/db/ids.ts";
import { events, workspaces } from "../platform/db/schema.ts";

/**
 * How far back reading goes on where the event of a cursor is erased meanwhile: its id tells when it was made, by a clock that may be
 * ahead of the database's. What was committed since the id was made comes, some of it perhaps again.
 */
const CLOCKS_DIFFER_MS = 60_000;

/** One page of a workspace's events after the one with the cursor's id, or from the first on, and one more if there is one. */
export function pageEvents(db: Database, workspaceId: string, { cursor, limit }: { cursor?: string | undefined; limit: number }) {
  return db
    .select({ id: events.id, type: events.type, payload: events.payload })
    .from(events)
    .where(
      and(eq(events.workspaceId, workspaceId), cursor === undefined ? undefined : gt(events.sequence, sequenceOf(workspaceId, cursor))),
    )
    .orderBy(events.sequence)
    .limit(limit + 1);
}

function sequenceOf(workspaceId: string, id: string) {
  const ofEvent = sql`SELECT sequence FROM ${events} WHERE id = ${id} AND workspace_id = ${workspaceId}`;
  return sql`coalesce((${ofEvent}), ${timeOf(id) - CLOCKS_DIFFER_MS})`;
}

/** The event that was committed last. */
export function findLatestEvent(db: Database, workspaceId: string) {
  return db.select({ id: events.id }).from(events).where(eq(events.workspaceId, workspaceId)).orderBy(desc(events.sequence)).limit(1);
}

/** Each call would write otherwise. */
const NOTED_EVERY_MS = 3_600_000;

/** Notes that the workspace's events are read, so that they are recorded. */
export function noteEventsRead(db: Database, workspaceId: string, nowMs: number) {
  const { id, eventsReadAt } = workspaces;
  return db
    .update(workspaces)
    .set({ eventsReadAt: nowMs })
    .where(and(eq(id, workspaceId), or(isNull(eventsReadAt), lt(eventsReadAt, nowMs - NOTED_EVERY_MS))));
}
