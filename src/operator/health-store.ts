import { and, asc, count, isNull, lt, lte, or, sql, type SQLWrapper } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import {
  conversations,
  deliveries,
  emailOutbox,
  privacyErasures,
  sources,
  webhookEndpoints,
  webhookErasures,
  workspaces,
} from "../platform/db/schema.ts";
import { importCompleted } from "../platform/db/sql.ts";
import { IS_SLOW } from "../webhooks/delivery-store.ts";

/** How many of a kind are looked at, the longest waiting first. */
const MAX_SEEN = 1_000;

// What the sweep leaves alone is not stuck: rows of a workspace that is being imported are not counted.
// Conditions of partial indexes are written out: a bound value does not match them.

/** Deliveries that are due and that nobody holds, of endpoints that answer at once or of the slow ones. */
export function findDueDeliveries(db: Database, lane: "fast" | "slow", nowMs: number) {
  const isDue = and(
    sql`status = 'pending'`,
    lte(deliveries.nextAttemptAt, nowMs),
    or(isNull(deliveries.leaseUntil), lt(deliveries.leaseUntil, nowMs)),
    importCompleted(deliveries.workspaceId),
  );
  const seen = db
    .select({
      id: deliveries.id,
      workspaceId: deliveries.workspaceId,
      webhookId: deliveries.webhookId,
      // The sweep moves the time of those that it wakes; of one that was never tried the creation says how long it waits.
      since: sql<number>`iif(${deliveries.attemptCount} = 0, ${deliveries.createdAt}, ${deliveries.nextAttemptAt})`.as("since"),
    })
    .from(deliveries)
    .where(isDue)
    .orderBy(asc(deliveries.nextAttemptAt))
    .limit(MAX_SEEN)
    .as("seen");
  const isFast = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} e WHERE e.id = ${seen.webhookId} AND NOT ${IS_SLOW})`;
  return db
    .select(longest(seen))
    .from(seen)
    .where(lane === "fast" ? isFast : sql`NOT ${isFast}`);
}

/** Mails that are due and that nobody sends. */
export function findDueMails(db: Database, nowMs: number) {
  const isFree = or(isNull(emailOutbox.leaseUntil), lte(emailOutbox.leaseUntil, nowMs));
  const since = sql<number>`${emailOutbox.nextAttemptAt}`.as("since");
  const seen = db
    .select({ id: emailOutbox.messageId, workspaceId: emailOutbox.workspaceId, since })
    .from(emailOutbox)
    .where(and(sql`status = 'pending'`, lte(emailOutbox.nextAttemptAt, nowMs), isFree, importCompleted(emailOutbox.workspaceId)))
    .orderBy(asc(emailOutbox.nextAttemptAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

/** Sources that wait for a reader, or whose reader died. */
export function findWaitingSources(db: Database, nowMs: number) {
  const isFree = or(sql`status = 'pending'`, lt(sources.leaseUntil, nowMs));
  const since = sql<number>`iif(status = 'pending', ${sources.updatedAt}, ${sources.leaseUntil})`.as("since");
  const seen = db
    .select({ id: sources.id, workspaceId: sources.workspaceId, since })
    .from(sources)
    .where(and(sql`status IN ('pending', 'processing')`, lte(sources.updatedAt, nowMs), isFree, importCompleted(sources.workspaceId)))
    .orderBy(asc(sources.updatedAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

/** Syncs that are due; those of a workspace that is being erased or imported stay undone. */
export function findDueSyncs(db: Database, nowMs: number) {
  const isLive = sql`EXISTS (SELECT 1 FROM ${workspaces} w WHERE w.id = ${sources.workspaceId} AND w.deleted_at IS NULL)`;
  const seen = db
    .select({ id: sources.id, workspaceId: sources.workspaceId, since: sql<number>`${sources.nextSyncAt}`.as("since") })
    .from(sources)
    .where(and(lte(sources.nextSyncAt, nowMs), isLive))
    .orderBy(asc(sources.nextSyncAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

/** Conversations whose agent's time of inactivity is over. */
export function findIdleConversations(db: Database, nowMs: number) {
  const seen = db
    .select({ id: conversations.id, workspaceId: conversations.workspaceId, since: sql<number>`${conversations.idleAt}`.as("since") })
    .from(conversations)
    .where(and(sql`status = 'ai_handled'`, lte(conversations.idleAt, nowMs), importCompleted(conversations.workspaceId)))
    .orderBy(asc(conversations.idleAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

/** Workspaces that are deleted and not erased yet. */
export function findDeletedWorkspaces(db: Database, nowMs: number) {
  const seen = db
    .select({
      id: workspaces.id,
      workspaceId: sql<string>`${workspaces.id}`.as("workspace_id"),
      since: sql<number>`${workspaces.deletedAt}`.as("since"),
    })
    .from(workspaces)
    .where(lte(workspaces.deletedAt, nowMs))
    .orderBy(asc(workspaces.deletedAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

/** Erasures of a person, or of a deleted endpoint's log, that have not ended. */
export function findErasures(db: Database, of: "persons" | "webhooks", nowMs: number) {
  const table = of === "persons" ? privacyErasures : webhookErasures;
  const seen = db
    .select({ id: table.id, workspaceId: table.workspaceId, since: sql<number>`${table.createdAt}`.as("since") })
    .from(table)
    .where(and(lte(table.createdAt, nowMs), importCompleted(table.workspaceId)))
    .orderBy(asc(table.createdAt))
    .limit(MAX_SEEN)
    .as("seen");
  return db.select(longest(seen)).from(seen);
}

interface Seen {
  id: SQLWrapper;
  workspaceId: SQLWrapper;
  since: SQLWrapper;
}

/** How many there are, and the one with the least `since`: SQLite takes a row's other columns from where a lone min() is. */
function longest({ id, workspaceId, since }: Seen) {
  return {
    count: count(),
    id: sql<string | null>`${id}`,
    workspaceId: sql<string | null>`${workspaceId}`,
    sinceMs: sql<number | null>`min(${since})`,
  };
}
