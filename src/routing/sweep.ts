import { and, lte, sql, type SQL } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import type { BusinessHours } from "../platform/db/columns.ts";
import { conversations, IS_WITH_TEAM, teams, workspaces } from "../platform/db/schema.ts";
import { importCompleted, increasedTo, isOwn, type Statement } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { businessHoursOf, openingAt, openMsBetween } from "../workspaces/business-hours.ts";
import { announceAssigned, assignNext } from "./assignment.ts";

/** A conversation that the sweep assigns or takes from its assignee, with the business hours of its workspace. */
export interface Waiting {
  workspaceId: string;
  conversationId: string;
  hours: Partial<BusinessHours>;
}

/** Runs groups of statements, each of which takes effect as a whole. */
type RunGroups = (groups: readonly (readonly Statement[])[]) => Promise<PromiseSettledResult<unknown[]>[]>;

/** A conversation whose visitor waits for the assignee. */
interface Unanswered extends Waiting {
  /** When the wait began: with the visitor's message, or with the end of a snooze after it. */
  sinceMs: number;
  /** The time in which the assignee is to reply. */
  minutes: number;
}

/** Returns the columns that `Waiting` has. */
function waitingColumns() {
  const { id, workspaceId } = conversations;
  const hours = sql`(SELECT business_hours FROM ${workspaces} w WHERE w.id = ${workspaceId})`.mapWith(workspaces.businessHours);
  return { workspaceId, conversationId: id, hours: hours.as("hours") };
}

/** Lists conversations that wait for a member of their team. The workspaces take turns. */
export function listQueued(db: Database, limit: number) {
  return db
    .select(waitingColumns())
    .from(conversations)
    .where(isNextInTurn(WAITING.queuedConversations, importCompleted(conversations.workspaceId), limit));
}

/** How many conversations of a workspace one step of a run assigns. A step that assigns all of them is followed by another one. */
const STEP = 10;

/** Assigns the queued conversations of each workspace that is open, as far as there are free members. */
export async function assignQueued(env: Env, db: Database, nowMs: number, queued: readonly Waiting[], run: RunGroups): Promise<void> {
  let open = [...Map.groupBy(queued.filter(isOpenAt(nowMs)), ({ workspaceId }) => workspaceId)].map(([workspaceId, rows]) => ({
    workspaceId,
    left: rows.length,
  }));
  while (open.length > 0) {
    const groups = open.map(({ workspaceId, left }) =>
      Array.from({ length: Math.min(left, STEP) }, () => assignNext(db, workspaceId, nowMs)),
    );
    const results = await run(groups);
    open = open.flatMap(({ workspaceId, left }, at) => {
      const assigned = assignedIn(results[at]!);
      announceAssigned(env, workspaceId, assigned);
      return assigned.length === STEP && left > STEP ? [{ workspaceId, left: left - STEP }] : [];
    });
  }
}

function isOpenAt(nowMs: number) {
  return ({ hours }: Waiting) => openingAt(businessHoursOf(hours), nowMs).isOpen;
}

function assignedIn(result: PromiseSettledResult<unknown[]>): { assignedId: string }[] {
  return result.status === "fulfilled" ? (result.value.flat() as { assignedId: string }[]) : [];
}

/** SQL: the minutes in which the assignee of a conversation is to reply; NULL without a limit. */
function replyMinutes(): SQL<number> {
  const { teamId, workspaceId } = conversations;
  return sql`(SELECT unassign_after_minutes FROM ${teams} t WHERE t.id = ${teamId} AND t.workspace_id = ${workspaceId})`;
}

/** SQL condition: the visitor has waited for the assignee for longer than the team's setting, without the time of a snooze. */
function isSilent(nowMs: number): SQL {
  const { unansweredSince, snoozedUntil } = conversations;
  const latest = sql`${nowMs} - 60000 * ${replyMinutes()}`;
  return and(lte(unansweredSince, latest), sql`coalesce(${snoozedUntil}, 0) <= ${latest}`, IS_WITH_TEAM)!;
}

/** Lists conversations whose assignee has been silent for too long. The workspaces take turns. */
export function listSilent(db: Database, nowMs: number, limit: number) {
  const { unansweredSince, snoozedUntil } = conversations;
  const sinceMs = sql<number>`max(${unansweredSince}, coalesce(${snoozedUntil}, 0))`.as("since");
  return db
    .select({ ...waitingColumns(), sinceMs, minutes: replyMinutes().as("minutes") })
    .from(conversations)
    .where(isNextInTurn(WAITING.silentAssignees, and(isSilent(nowMs), importCompleted(conversations.workspaceId)), limit));
}

/**
 * Takes conversations from assignees who are still silent, and gives them to other members, if any is free. Only business hours count:
 * where fewer have passed, the wait is shortened to them.
 */
export async function reassignSilent(env: Env, db: Database, nowMs: number, silent: readonly Unanswered[], run: RunGroups): Promise<void> {
  const { assigneeId, updatedAt } = conversations;
  const isOpen = isOpenAt(nowMs);
  const judged = silent.map((one) => {
    const waitedMs = openMsBetween(businessHoursOf(one.hours), one.sinceMs, nowMs);
    return { ...one, waitedMs, isDue: isOpen(one) && waitedMs >= one.minutes * MINUTE_MS };
  });
  const change = ({ workspaceId, conversationId, waitedMs, isDue }: (typeof judged)[number]) => {
    const where = and(isOwn(conversations, workspaceId, conversationId), isSilent(nowMs));
    const again = { unansweredSince: nowMs - waitedMs };
    const unassigned = {
      assigneeId: null,
      assigneeName: null,
      passedOverId: sql`${assigneeId}`,
      queuedAt: nowMs,
      updatedAt: increasedTo(updatedAt, nowMs),
    };
    const unassign = db.update(conversations).set(unassigned).where(where).returning({ assignedId: conversations.id });
    return isDue ? [unassign, assignNext(db, workspaceId, nowMs)] : [db.update(conversations).set(again).where(where)];
  };
  const results = await run(judged.map(change));
  for (const [at, { workspaceId, isDue }] of judged.entries()) {
    if (isDue) announceAssigned(env, workspaceId, assignedIn(results[at]!));
  }
}
