import { and, count, getTableName, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
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
import { takeTurns } from "../platform/db/waiting.ts";
import { IS_SLOW } from "../webhooks/delivery-store.ts";

/** Work that waits in D1, by kind. */
export const WORK_KINDS = [
  "deliveries",
  "slow_deliveries",
  "mails",
  "sources",
  "syncs",
  "idle_conversations",
  "workspace_erasures",
  "person_erasures",
  "webhook_erasures",
] as const;

export type WorkKind = (typeof WORK_KINDS)[number];

/** The work of one kind that waits in one database. */
export interface WaitingWork {
  /** At most 1,000. */
  count: number;
  /** The one that has waited longest; null if none waits. */
  id: string | null;
  workspaceId: string | null;
  sinceMs: number | null;
}

/** Rows that wait, as `takeTurns` reads them, except those that are not due yet. */
interface WaitingRows extends Omit<Parameters<typeof takeTurns>[0], "where"> {
  id: SQLiteColumn;
  /** Other conditions. Like the sweep, they leave out workspaces that are being imported. */
  where?: SQL | undefined;
  /** Since when a row waits; `dueAt` by default. */
  since?: SQL;
  /** Filters the due rows once the first 1,000 are read. */
  filter?: SQL;
}

const MAX_ROWS = 1_000;

/** Counts the due rows of a kind, up to 1,000, and finds the one that has waited longest. */
export function findWaitingWork(db: Database, kind: WorkKind, nowMs: number) {
  const { id, since, where, filter, ...rows } = waitingRows(kind, nowMs);
  const { table, workspaceId, dueAt } = rows;
  // The oldest of each workspace come first, so that the oldest of all is among them.
  const waiting = takeTurns({ ...rows, where: and(lte(dueAt, nowMs), where) }, MAX_ROWS, sql`due_at`);
  const due = db
    .select({
      id: sql<string>`${id}`.as("id"),
      workspaceId: sql<string>`${workspaceId}`.as("workspace_id"),
      since: sql<number>`${since ?? dueAt}`.as("since"),
      ...(filter && { webhookId: deliveries.webhookId }),
    })
    .from(table)
    .where(sql`${table}.rowid IN ${waiting}`)
    .as("due");
  // SQLite takes the other columns from the row with the least `since`, because a single min() is selected.
  return db
    .select({
      count: count(),
      id: sql<string | null>`${due.id}`,
      workspaceId: sql<string | null>`${due.workspaceId}`,
      sinceMs: sql<number | null>`min(${due.since})`,
    })
    .from(due)
    .where(filter);
}

function waitingRows(kind: WorkKind, nowMs: number): WaitingRows {
  switch (kind) {
    case "deliveries":
      return { ...dueDeliveries(nowMs), filter: HAS_FAST_ENDPOINT };
    case "slow_deliveries":
      return { ...dueDeliveries(nowMs), filter: sql`NOT ${HAS_FAST_ENDPOINT}` };
    case "mails": {
      const isUnleased = or(isNull(emailOutbox.leaseUntil), lte(emailOutbox.leaseUntil, nowMs));
      const where = and(isUnleased, importCompleted(emailOutbox.workspaceId));
      return {
        table: emailOutbox,
        workspaceId: emailOutbox.workspaceId,
        id: emailOutbox.messageId,
        dueAt: emailOutbox.nextAttemptAt,
        index: "email_outbox_due",
        indexed: sql`status = 'pending'`,
        where,
      };
    }
    case "sources": {
      // Sources that wait to be read, or whose reader died.
      const isUnleased = or(sql`status = 'pending'`, lt(sources.leaseUntil, nowMs));
      const where = and(isUnleased, importCompleted(sources.workspaceId));
      const indexed = sql`status IN ('pending', 'processing')`;
      const since = sql`iif(status = 'pending', ${sources.updatedAt}, ${sources.leaseUntil})`;
      return {
        table: sources,
        workspaceId: sources.workspaceId,
        id: sources.id,
        dueAt: sources.updatedAt,
        index: "sources_unfinished",
        indexed,
        where,
        since,
      };
    }
    case "syncs": {
      // The sweep skips those of a workspace that is being erased or imported.
      const where = sql`EXISTS (SELECT 1 FROM ${workspaces} w WHERE w.id = ${sources.workspaceId} AND w.deleted_at IS NULL)`;
      return {
        table: sources,
        workspaceId: sources.workspaceId,
        id: sources.id,
        dueAt: sources.nextSyncAt,
        index: "sources_due",
        indexed: sql`next_sync_at IS NOT NULL`,
        where,
      };
    }
    case "idle_conversations": {
      const { id, workspaceId, idleAt: dueAt } = conversations;
      return {
        table: conversations,
        workspaceId,
        id,
        dueAt,
        index: "conversations_idle",
        indexed: sql`status = 'ai_handled'`,
        where: importCompleted(workspaceId),
      };
    }
    case "workspace_erasures": {
      const { id, deletedAt: dueAt } = workspaces;
      return { table: workspaces, id, workspaceId: id, dueAt, index: "workspaces_deleted", indexed: sql`deleted_at IS NOT NULL` };
    }
    case "person_erasures":
    case "webhook_erasures": {
      const table = kind === "person_erasures" ? privacyErasures : webhookErasures;
      const { id, workspaceId, createdAt: dueAt } = table;
      return { table, workspaceId, id, dueAt, index: `${getTableName(table)}_workspace`, where: importCompleted(workspaceId) };
    }
  }
}

/** Deliveries that are due and not leased. */
function dueDeliveries(nowMs: number): WaitingRows {
  const isUnleased = or(isNull(deliveries.leaseUntil), lt(deliveries.leaseUntil, nowMs));
  return {
    table: deliveries,
    workspaceId: deliveries.workspaceId,
    id: deliveries.id,
    dueAt: deliveries.nextAttemptAt,
    index: "deliveries_due",
    indexed: sql`status = 'pending'`,
    where: and(isUnleased, importCompleted(deliveries.workspaceId)),
    // The sweep moves `next_attempt_at` when it wakes a delivery, so one that was never tried waits since its creation.
    since: sql`iif(${deliveries.attemptCount} = 0, ${deliveries.createdAt}, ${deliveries.nextAttemptAt})`,
  };
}

const HAS_FAST_ENDPOINT = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} e WHERE e.id = due.webhook_id AND NOT ${IS_SLOW})`;
