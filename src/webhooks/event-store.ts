import { and, desc, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { events, workspaces } from "../platform/db/schema.ts";

/** The order in which events were committed. An id does not tell it: it is made before its batch is, perhaps long before. */
const COMMITTED = sql`${events}.rowid`;

/** Where an event is erased meanwhile, reading goes on at the first committed of so many that follow by their ids. */
const FOLLOWERS = 100;

/** One page of a workspace's events after the one with the cursor's id, or from the first on, and one more if there is one. */
export function pageEvents(db: Database, workspaceId: string, { cursor, limit }: { cursor?: string | undefined; limit: number }) {
  return db
    .select({ id: events.id, type: events.type, payload: events.payload })
    .from(events)
    .where(and(eq(events.workspaceId, workspaceId), cursor === undefined ? undefined : gt(COMMITTED, placeOf(workspaceId, cursor))))
    .orderBy(COMMITTED)
    .limit(limit + 1);
}

function placeOf(workspaceId: string, id: string) {
  const ofEvent = sql`SELECT rowid FROM events WHERE id = ${id} AND workspace_id = ${workspaceId}`;
  const followers = sql`SELECT rowid AS place FROM events WHERE workspace_id = ${workspaceId} AND id > ${id} ORDER BY id LIMIT ${FOLLOWERS}`;
  return sql`coalesce((${ofEvent}), (SELECT min(place) - 1 FROM (${followers})))`;
}

/** The event that was committed last. */
export function findLatestEvent(db: Database, workspaceId: string) {
  return db.select({ id: events.id }).from(events).where(eq(events.workspaceId, workspaceId)).orderBy(desc(COMMITTED)).limit(1);
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
