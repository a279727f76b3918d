import { and, asc, eq, inArray, lt, lte, sql } from "drizzle-orm";
import { CONVERSATION_STATUSES } from "../platform/db/columns.ts";
import type { Database } from "../platform/db/client.ts";
import { firstIdAt } from "../platform/db/ids.ts";
import {
  conversations,
  deliveries,
  deliveryAttempts,
  events,
  leads,
  visitors,
  webhookEndpoints,
  workspaces,
} from "../platform/db/schema.ts";
import { importCompleted, isWorkspace } from "../platform/db/sql.ts";
import { isNotPutOff, putOff } from "../platform/db/waiting.ts";
import { deleteWithAttempts } from "../webhooks/delivery-store.ts";

/** Returns the workspaces that are due for pruning, the longest due first, and makes them due again at `nextMs`. */
export function claimDueWorkspaces(db: Database, nowMs: number, nextMs: number, limit: number) {
  const due = db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(lte(workspaces.pruneAt, nowMs))
    .orderBy(workspaces.pruneAt)
    .limit(limit);
  return db.update(workspaces).set({ pruneAt: nextMs }).where(inArray(workspaces.id, due)).returning({ workspaceId: workspaces.id });
}

/** Finds a workspace's retention. Returns no row if the workspace is deleted or still being imported. */
export function findRetention(db: Database, workspaceId: string) {
  return db
    .select({ retention: workspaces.retention })
    .from(workspaces)
    .where(and(isWorkspace(workspaceId), importCompleted(workspaces.id)));
}

/** The name under which conversations whose erasure failed are put off. */
const PUT_OFF_AS = "prunes";

/** Lists the oldest conversations without activity since `beforeMs` that are not put off. Each status is a range of an index. */
export function listExpiredConversations(db: Database, workspaceId: string, beforeMs: number, nowMs: number, limit: number) {
  const ranges = CONVERSATION_STATUSES.map(
    (status) =>
      sql`SELECT id, updated_at FROM ${conversations} WHERE workspace_id = ${workspaceId} AND status = ${status} AND updated_at < ${beforeMs}
        AND ${isNotPutOff(PUT_OFF_AS, conversations.id, nowMs)}`,
  );
  const oldest = sql`(SELECT id FROM (${sql.join(ranges, sql` UNION ALL `)} ORDER BY updated_at, id LIMIT ${limit}))`;
  return db
    .select({ id: conversations.id, visitorId: conversations.visitorId, messageCount: conversations.messageCount })
    .from(conversations)
    .where(inArray(conversations.id, oldest));
}

/** Puts off conversations whose erasure failed, so that they do not keep the next ones from being listed. */
export function putOffConversations(db: Database, ids: readonly string[], nowMs: number) {
  return putOff(db, PUT_OFF_AS, ids, nowMs);
}

/** Lists leads from before `beforeMs`, oldest first, with their visitors. */
export function listExpiredLeads(db: Database, workspaceId: string, beforeMs: number, limit: number) {
  return db
    .select({ id: leads.id, visitorId: leads.visitorId })
    .from(leads)
    .where(and(eq(leads.workspaceId, workspaceId), lt(leads.createdAt, beforeMs)))
    .orderBy(asc(leads.createdAt), asc(leads.id))
    .limit(limit);
}

/** Deletes those of the visitors that have no conversation and no lead left, with the anonymous visitors merged into them. */
export function eraseUnusedVisitors(db: Database, workspaceId: string, visitorIds: readonly string[]) {
  const isUsed = (table: typeof conversations | typeof leads) =>
    sql`EXISTS (SELECT 1 FROM ${table} u WHERE u.workspace_id = ${workspaceId} AND u.visitor_id = v.id)`;
  // CROSS JOIN fixes the join order: from the ids to the visitors, and from these to those merged into them.
  const unused = sql`SELECT v.id FROM json_each(${JSON.stringify(visitorIds)}) CROSS JOIN ${visitors} v ON v.id = json_each.value
    WHERE +v.workspace_id = ${workspaceId} AND NOT ${isUsed(conversations)} AND NOT ${isUsed(leads)}`;
  const all = sql`(WITH unused AS (${unused}) SELECT id FROM unused
    UNION SELECT m.id FROM unused CROSS JOIN ${visitors} m ON m.merged_into = unused.id AND m.workspace_id = ${workspaceId})`;
  return db
    .delete(visitors)
    .where(sql`${visitors.id} IN ${all}`)
    .returning({ id: visitors.id });
}

/** Deletes finished deliveries of a workspace from before `beforeMs` with their attempts, and events without deliveries. */
export function pruneEventLog(db: Database, workspaceId: string, beforeMs: number, limit: number) {
  const firstId = firstIdAt(beforeMs);
  const finished = sql`(SELECT d.id FROM ${webhookEndpoints} e CROSS JOIN json_each('["succeeded","failed"]') s
    CROSS JOIN ${deliveries} d ON d.workspace_id = e.workspace_id AND d.webhook_id = e.id AND d.status = s.value AND d.id < ${firstId}
    WHERE e.workspace_id = ${workspaceId} LIMIT ${limit})`;
  const isNeeded = sql`EXISTS (SELECT 1 FROM ${deliveries} d WHERE d.workspace_id = ${workspaceId} AND d.event_id = ${events.id})`;
  // The id of a visitor's lead, and so of its event, has the time at which the day began.
  const isOld = and(lt(events.id, firstId), lt(events.createdAt, beforeMs));
  const unneeded = db
    .select({ id: events.id })
    .from(events)
    .where(and(eq(events.workspaceId, workspaceId), isOld, sql`NOT ${isNeeded}`))
    .limit(limit);
  const [attempts, finishedDeliveries] = deleteWithAttempts(db, finished);
  return {
    delivery_attempts: attempts.returning({ id: deliveryAttempts.deliveryId }),
    deliveries: finishedDeliveries.returning({ id: deliveries.id }),
    events: db.delete(events).where(inArray(events.id, unneeded)).returning({ id: events.id }),
  };
}
