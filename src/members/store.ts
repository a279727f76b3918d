import { and, asc, count, desc, eq, gt, isNull, lt, ne, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { memberWithTeams } from "../routing/team-store.ts";
import { conversations, IS_WITH_TEAM, members, memberSessions } from "../platform/db/schema.ts";
import { deleteSome, exists, increasedTo, insertWhere, isOwn, workspaceExists } from "../platform/db/sql.ts";

export type MemberRow = typeof members.$inferSelect & { teamIds: string[] };
type SessionRow = typeof memberSessions.$inferSelect;

/** Lists the members who have not been removed, oldest first. */
export function listMembers(db: Database, workspaceId: string) {
  return db.select(memberWithTeams).from(members).where(isPresent(workspaceId)).orderBy(asc(members.id));
}

function isPresent(workspaceId: string) {
  return and(eq(members.workspaceId, workspaceId), ne(members.status, "removed"));
}

/** A member, also one who was removed. */
export function findMember(db: Database, workspaceId: string, memberId: string) {
  return db
    .select(memberWithTeams)
    .from(members)
    .where(isOwn(members, workspaceId, memberId));
}

/** A member, also one who was removed, by the email address in lower case. */
export function findMemberByEmail(db: Database, workspaceId: string, email: string) {
  return db
    .select(memberWithTeams)
    .from(members)
    .where(and(eq(members.workspaceId, workspaceId), eq(members.email, email)));
}

/** The member whom an account of the identity provider has signed in before. Somebody who was removed has no account. */
export function findMemberByAccount(db: Database, workspaceId: string, account: Account) {
  return db
    .select(memberWithTeams)
    .from(members)
    .where(and(isPresent(workspaceId), hasAccount(account)));
}

/** An account of an identity provider. */
interface Account {
  issuer: string;
  subject: string;
}

/** SQL: the id of the member with an email address. */
export function idByEmail(workspaceId: string, email: string): SQL {
  return sql`(SELECT id FROM ${members} WHERE workspace_id = ${workspaceId} AND email = ${email})`;
}

export function countMembers(db: Database, workspaceId: string) {
  return db.select({ count: count() }).from(members).where(isPresent(workspaceId));
}

/** Returns a name for somebody who has not given one: the part of the address before the @. */
export function nameFromEmail(email: string): string {
  return email.slice(0, email.lastIndexOf("@"));
}

/** Somebody who becomes a member. */
export type NewMember = Pick<MemberRow, "id" | "workspaceId" | "email" | "name" | "role" | "scopes">;

/**
 * Adds a member who has yet to sign in, if the workspace has fewer than `max`. Somebody who was removed before becomes the same member
 * again.
 * @returns no row if somebody with this address is a member already, or there are too many.
 */
export function createMember(db: Database, member: NewMember, max: number, nowMs: number) {
  const { id, workspaceId, email, ...given } = member;
  const fresh = { ...given, status: "invited" as const, availability: "available" as const, createdAt: nowMs, updatedAt: nowMs };
  const present = sql`(SELECT count(*) FROM ${members} WHERE ${isPresent(workspaceId)})`;
  const condition = and(workspaceExists(workspaceId), sql`${present} < ${max}`)!;
  return insertWhere(db, members, { id, workspaceId, email, ...fresh }, condition)
    .onConflictDoUpdate({ target: [members.workspaceId, members.email], set: fresh, setWhere: eq(members.status, "removed") })
    .returning(memberWithTeams);
}

/** Changes a member who is as `before` has it. Returns no row if the member changed meanwhile, or would leave no active owner behind. */
export function updateMember(db: Database, before: MemberRow, changes: Partial<MemberRow>) {
  const { role = before.role, status = before.status } = changes;
  const remainsOwner = role === "owner" && status === "active";
  return db
    .update(members)
    .set(changes)
    .where(and(isSame(before), remainsOwner ? undefined : leavesOwner(before)))
    .returning(memberWithTeams);
}

/** SQL condition: the member has not changed since it was read. */
function isSame({ id, workspaceId, updatedAt, role, status }: MemberRow): SQL {
  return and(isOwn(members, workspaceId, id), eq(members.updatedAt, updatedAt), eq(members.role, role), eq(members.status, status))!;
}

/** SQL condition: the member is no active owner, or another one is. */
function leavesOwner({ id, workspaceId }: MemberRow): SQL {
  const other = exists(members, eq(members.workspaceId, workspaceId), ne(members.id, id), ...IS_ACTIVE_OWNER);
  return sql`(${members.role} <> 'owner' OR ${members.status} <> 'active' OR ${other})`;
}

/** SQL conditions: the member is an active owner. */
export const IS_ACTIVE_OWNER = [eq(members.role, "owner"), eq(members.status, "active")];

/** The number of active owners. */
export function countOwners(db: Database, workspaceId: string) {
  return db
    .select({ count: count() })
    .from(members)
    .where(and(eq(members.workspaceId, workspaceId), ...IS_ACTIVE_OWNER));
}

/**
 * Makes an invited member active, and binds the account of the identity provider, if there is one. Changes nobody who was removed,
 * has another account, or was changed after a time.
 */
export function activateMember(
  db: Database,
  { workspaceId, memberId, updatedAt }: { workspaceId: string; memberId: string; updatedAt: number | undefined },
  changes: Partial<Pick<MemberRow, "name">> & { updatedAt: number },
  account: Account | undefined,
) {
  const binding = account && { oidcIssuer: account.issuer, oidcSubject: account.subject };
  const isFree = account && or(isNull(members.oidcSubject), hasAccount(account));
  const isUnchanged = updatedAt === undefined ? undefined : eq(members.updatedAt, updatedAt);
  return db
    .update(members)
    .set({ ...changes, ...binding, status: "active" })
    .where(and(isOwn(members, workspaceId, memberId), ne(members.status, "removed"), isFree, isUnchanged))
    .returning(memberWithTeams);
}

function hasAccount({ issuer, subject }: Account) {
  return and(eq(members.oidcIssuer, issuer), eq(members.oidcSubject, subject));
}

/** Whether a member was removed. */
export function memberIsRemoved(workspaceId: string, memberId: string) {
  return exists(members, isOwn(members, workspaceId, memberId), eq(members.status, "removed"));
}

/** Takes the unresolved conversations from a member, if a condition holds. */
export function unassignAll(db: Database, workspaceId: string, memberId: string, condition: SQL, nowMs: number) {
  return db
    .update(conversations)
    .set({
      assigneeId: null,
      assigneeName: null,
      // Those of a team get another assignee.
      queuedAt: sql`CASE WHEN ${conversations.teamId} IS NOT NULL AND ${IS_WITH_TEAM} THEN ${nowMs} END`,
      updatedAt: increasedTo(conversations.updatedAt, nowMs),
    })
    .where(
      and(
        eq(conversations.workspaceId, workspaceId),
        eq(conversations.assigneeId, memberId),
        ne(conversations.status, "resolved"),
        condition,
      ),
    );
}

// --- Sessions --------------------------------------------------------------------------------------------------------

/** A member's sessions beyond this number end, the oldest first. */
const MAX_SESSIONS = 10;

/**
 * Starts a session of a member whom the statement before has made active, and ends the oldest ones if there are too many. The first
 * statement returns the session.
 */
export function createSession(db: Database, session: SessionRow) {
  const { workspaceId, memberId, createdAt } = session;
  const isActive = exists(members, isOwn(members, workspaceId, memberId), eq(members.status, "active"), eq(members.updatedAt, createdAt));
  const spare = sql`(SELECT id FROM ${memberSessions} WHERE ${isOfMember(workspaceId, memberId)} ORDER BY id DESC LIMIT 100 OFFSET ${MAX_SESSIONS})`;
  return [
    insertWhere(db, memberSessions, session, isActive).returning(),
    db.delete(memberSessions).where(sql`${memberSessions.id} IN ${spare}`),
  ] as const;
}

function isOfMember(workspaceId: string, memberId: string) {
  return and(eq(memberSessions.workspaceId, workspaceId), eq(memberSessions.memberId, memberId));
}

/** Lists the sessions of a member that have not ended, newest first. */
export function listSessions(db: Database, workspaceId: string, memberId: string, nowMs: number) {
  return db
    .select()
    .from(memberSessions)
    .where(and(isOfMember(workspaceId, memberId), gt(memberSessions.expiresAt, nowMs)))
    .orderBy(desc(memberSessions.id));
}

/** Ends a session of a member. */
export function eraseSession(db: Database, { workspaceId, memberId, id }: Pick<SessionRow, "workspaceId" | "memberId" | "id">) {
  return db
    .delete(memberSessions)
    .where(and(isOfMember(workspaceId, memberId), eq(memberSessions.id, id)))
    .returning({ id: memberSessions.id });
}

/** Ends all sessions of a member, if a condition holds. */
export function eraseSessions(db: Database, workspaceId: string, memberId: string, condition: SQL) {
  return db.delete(memberSessions).where(and(isOfMember(workspaceId, memberId), condition));
}

/** Deletes up to `limit` sessions that have expired. */
export function eraseExpiredSessions(db: Database, nowMs: number, limit: number) {
  return deleteSome(db, memberSessions, lt(memberSessions.expiresAt, nowMs), limit);
}
