import { and, lte, sql, type SQL } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import type { BusinessHours } from "../platform/db/columns.ts";
import { conversations, IS_WITH_TEAM, teams, workspaces } from "../platform/db/schema.ts";
import { runGroups } from "../platform/db/groups.ts";
import { importCompleted, increasedTo, isOwn } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, putOffUntil, WAITING } from "../platform/db/waiting.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { businessHoursOf, openingAt, openMsBetween } from "../workspaces/business-hours.ts";
import { announceAssigned, assignNext } from "./assignment.ts";

/** A conversation that the sweep assigns or takes from its assignee, with the business hours of its workspace. */
interface Waiting {
  workspaceId: string;
  conversationId: string;
  hours: Partial<BusinessHours>;
}

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

/**
 * Assigns the queued conversations of each workspace that is open, as far as there are free members. A workspace that fails does not
 * stop the others. @throws the first failure, after the others are assigned.
 */
export async function assignQueued(env: Env, db: Database, nowMs: number, queued: readonly Waiting[]): Promise<void> {
  let open = [...Map.groupBy(queued.filter(isOpenAt(nowMs)), ({ workspaceId }) => workspaceId)].map(([workspaceId, rows]) => ({
    workspaceId,
    left: rows.length,
  }));
  const failures: PromiseRejectedResult[] = [];
  while (open.length > 0) {
    const groups = open.map(({ workspaceId, left }) =>
      Array.from({ length: Math.min(left, STEP) }, () => assignNext(db, workspaceId, nowMs)),
    );
    const results = await runGroups(db, groups);
    failures.push(...results.filter(isRejected));
    open = open.flatMap(({ workspaceId, left }, at) => {
      const assigned = assignedIn(results[at]!);
      announceAssigned(env, workspaceId, assigned);
      return assigned.length === STEP && left > STEP ? [{ workspaceId, left: left - STEP }] : [];
    });
  }
  throwFirst(failures);
}

function isOpenAt(nowMs: number) {
  return ({ hours }: Waiting) => openingAt(businessHoursOf(hours), nowMs).isOpen;
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === "rejected";
}

function throwFirst([first]: readonly PromiseRejectedResult[]): void {
  if (first) throw first.reason;
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

/** The name of this work in the sweep. */
export const SILENT_ASSIGNEES = "silent_assignees";
/** A wait that is not over is judged again after this time at the latest, so that changed business hours and limits apply. */
const JUDGED_AGAIN_AFTER_MS = 15 * MINUTE_MS;

/** Lists conversations whose assignee may have been silent for too long. The workspaces take turns. */
export function listSilent(db: Database, nowMs: number, limit: number) {
  const { id, workspaceId, unansweredSince, snoozedUntil } = conversations;
  const sinceMs = sql<number>`max(${unansweredSince}, coalesce(${snoozedUntil}, 0))`.as("since");
  const where = and(isSilent(nowMs), isNotPutOff(SILENT_ASSIGNEES, id, nowMs), importCompleted(workspaceId));
  return db
    .select({ ...waitingColumns(), sinceMs, minutes: replyMinutes().as("minutes") })
    .from(conversations)
    .where(isNextInTurn(WAITING.silentAssignees, where, limit));
}

/**
 * Takes conversations from assignees who are still silent, and gives them to other members, if any is free. Only business hours count.
 * @throws the first failure, after the other conversations are handled.
 */
export async function reassignSilent(env: Env, db: Database, nowMs: number, silent: readonly Unanswered[]): Promise<void> {
  const { assigneeId, updatedAt } = conversations;
  const judged = silent.map((one) => ({ ...one, dueAtMs: earliestDueTime(one, nowMs) }));
  const [due, early] = [judged.filter(({ dueAtMs }) => dueAtMs <= nowMs), judged.filter(({ dueAtMs }) => dueAtMs > nowMs)];
  const reassign = ({ workspaceId, conversationId }: Unanswered) => {
    const unassigned = {
      assigneeId: null,
      assigneeName: null,
      passedOverId: sql`${assigneeId}`,
      queuedAt: nowMs,
      updatedAt: increasedTo(updatedAt, nowMs),
    };
    const where = and(isOwn(conversations, workspaceId, conversationId), isSilent(nowMs));
    const unassign = db.update(conversations).set(unassigned).where(where).returning({ assignedId: conversations.id });
    return [unassign, assignNext(db, workspaceId, nowMs)];
  };
  const untilOf = ({ dueAtMs }: { dueAtMs: number }) => Math.min(dueAtMs, nowMs + JUDGED_AGAIN_AFTER_MS);
  const rows = early.map((one) => ({ key: one.conversationId, untilMs: untilOf(one) }));
  const putOff = rows.length > 0 ? [putOffUntil(db, SILENT_ASSIGNEES, rows)] : [];
  const results = await runGroups(db, [...due.map(reassign), putOff]);
  for (const [at, { workspaceId }] of due.entries()) announceAssigned(env, workspaceId, assignedIn(results[at]!));
  throwFirst(results.filter(isRejected));
}

/** Returns the earliest time at which the assignee can have been silent for too long. It is later if the team is closed in between. */
function earliestDueTime({ hours, sinceMs, minutes }: Unanswered, nowMs: number): number {
  const businessHours = businessHoursOf(hours);
  const limitMs = minutes * MINUTE_MS;
  const atMs = nowMs + limitMs - openMsBetween(businessHours, sinceMs, nowMs, limitMs);
  const { isOpen, opensAtMs } = openingAt(businessHours, nowMs);
  return isOpen ? atMs : Math.max(atMs, opensAtMs ?? Infinity);
}
