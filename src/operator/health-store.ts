import { and, count, gt, inArray, lt, lte, min, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { MAIL_REMEDIES } from "../email/outbound.ts";
import { isUnleased as isMailUnleased } from "../email/store.ts";
import type { Database } from "../platform/db/client.ts";
import {
  conversations,
  deliveries,
  emailOutbox,
  handoffs,
  privacyErasures,
  sources,
  webhookEndpoints,
  webhookErasures,
  workspaces,
} from "../platform/db/schema.ts";
import { importCompleted, workspaceExists } from "../platform/db/sql.ts";
import { isServedHere } from "../platform/db/placement.ts";
import { isNextInTurn, WAITING, type WaitingRows } from "../platform/db/waiting.ts";
import { HOUR_MS } from "../platform/time.ts";
import { isUnleased as isDeliveryUnleased, IS_SLOW } from "../webhooks/delivery-store.ts";

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

/** How the waiting rows of a kind are found. Rows that are not due yet do not count. */
interface WaitingKind {
  rows: WaitingRows;
  id: SQLiteColumn;
  /** Other conditions. Like the sweep, they leave out workspaces that are being imported. */
  where?: SQL | undefined;
  /** The time since which a row waits; by default, the time at which it is due. */
  since?: SQL;
  /** A filter for the first 1,000 due rows. */
  filter?: SQL;
}

const MAX_ROWS = 1_000;
const LATEST_ATTEMPT_MS = HOUR_MS;

/** Counts the due rows of a kind, up to 1,000, and finds the one that has waited longest. */
export function findWaitingWork(db: Database, kind: WorkKind, nowMs: number) {
  const { rows, id, since, where, filter } = waitingOf(kind, nowMs);
  const { table, workspaceId, dueAt } = rows;
  const due = db
    .select({
      id: sql<string>`${id}`.as("id"),
      workspaceId: sql<string>`${workspaceId}`.as("workspace_id"),
      since: sql<number>`${since ?? dueAt}`.as("since"),
      ...(filter && { webhookId: deliveries.webhookId }),
    })
    .from(table)
    // The oldest of each workspace come first, so that the oldest of all is among them.
    .where(isNextInTurn(rows, and(lte(dueAt, nowMs), where), MAX_ROWS, sql`due_at`))
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

function waitingOf(kind: WorkKind, nowMs: number): WaitingKind {
  switch (kind) {
    case "deliveries":
      return { ...dueDeliveries(nowMs), filter: HAS_FAST_ENDPOINT };
    case "slow_deliveries":
      return { ...dueDeliveries(nowMs), filter: sql`NOT ${HAS_FAST_ENDPOINT}` };
    case "mails":
      return {
        rows: WAITING.mails,
        id: emailOutbox.messageId,
        where: and(isMailUnleased(nowMs), importCompleted(emailOutbox.workspaceId)),
      };
    case "sources": {
      // Sources that wait to be read, or whose reader was interrupted.
      const isUnleased = or(sql`status = 'pending'`, lt(sources.leaseUntil, nowMs));
      const since = sql`iif(status = 'pending', ${sources.updatedAt}, ${sources.leaseUntil})`;
      return { rows: WAITING.sources, id: sources.id, where: and(isUnleased, importCompleted(sources.workspaceId)), since };
    }
    case "syncs":
      // The sweep skips those of a workspace that is being erased or imported.
      return { rows: WAITING.syncs, id: sources.id, where: workspaceExists(sources.workspaceId) };
    case "idle_conversations":
      return { rows: WAITING.idleConversations, id: conversations.id, where: importCompleted(conversations.workspaceId) };
    case "workspace_erasures":
      return { rows: WAITING.workspaceErasures, id: workspaces.id };
    case "person_erasures":
      return { rows: WAITING.personErasures, id: privacyErasures.id, where: importCompleted(privacyErasures.workspaceId) };
    case "webhook_erasures":
      return { rows: WAITING.webhookErasures, id: webhookErasures.id, where: importCompleted(webhookErasures.workspaceId) };
  }
}

/** Deliveries that are due and not leased. */
function dueDeliveries(nowMs: number): WaitingKind {
  return {
    rows: WAITING.deliveries,
    id: deliveries.id,
    where: and(isDeliveryUnleased(nowMs), importCompleted(deliveries.workspaceId)),
    // The sweep moves `next_attempt_at` when it wakes a delivery, so one that was never tried waits since its creation.
    since: sql`iif(${deliveries.attemptCount} = 0, ${deliveries.createdAt}, ${deliveries.nextAttemptAt})`,
  };
}

const HAS_FAST_ENDPOINT = sql`EXISTS (SELECT 1 FROM ${webhookEndpoints} e WHERE e.id = due.webhook_id AND NOT ${IS_SLOW})`;

/** Counts, by error, up to 1,000 mails that were refused because of the account's configuration and will be tried again. */
export function listRefusedMails(db: Database, nowMs: number) {
  const { error, createdAt, nextAttemptAt } = emailOutbox;
  // A mail is tried within minutes after it is due, so the bound on the time leaves out a backlog of other mails.
  const isConfiguration = and(gt(nextAttemptAt, nowMs - LATEST_ATTEMPT_MS), inArray(error, Object.keys(MAIL_REMEDIES)));
  return db
    .select({ error: sql<string>`${error}`.as("error"), count: count(), sinceMs: sql<number>`${min(createdAt)}`.as("since") })
    .from(emailOutbox)
    .where(isNextInTurn(WAITING.mails, isConfiguration, MAX_ROWS))
    .groupBy(error);
}

/** Counts, by failure, up to 1,000 hand-offs since a time that a failure of the model caused. */
export function listModelFailures(db: Database, sinceMs: number) {
  const { failure, requestedAt } = handoffs;
  const latest = sql`SELECT rowid FROM ${handoffs} WHERE failure IS NOT NULL AND ${requestedAt} > ${sinceMs}
    AND ${isServedHere(sql`workspace_id`)} LIMIT ${MAX_ROWS}`;
  return db
    .select({ error: sql<string>`${failure}`.as("error"), count: count(), sinceMs: sql<number>`${min(requestedAt)}`.as("since") })
    .from(handoffs)
    .where(sql`rowid IN (${latest})`)
    .groupBy(failure);
}
