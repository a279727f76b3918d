import { and, count, desc, eq, gt, inArray, isNull, lt, ne, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { PLAN_NAMES } from "../platform/db/columns.ts";
import {
  agents,
  apiKeys,
  applications,
  members,
  memberSessions,
  signInSettings,
  usagePeriods,
  visitorCounts,
  workspaces,
} from "../platform/db/schema.ts";
import { findOwn, insertWhere, isOwn, isWorkspace, jsonIds, workspaceExists } from "../platform/db/sql.ts";
import { type Limits, limitsOf } from "./plans.ts";
import { ALL_SCOPES, type Scope } from "./scopes.ts";
import { ALL_SENDERS, COUNTED_PER_DAY, startOfDay } from "./usage-limits.ts";

/** Lists what workspaces use: the questions of a period, the sums over their agents, and their keys, counts of the UTC day and members. */
export function listUsage(db: Database, workspaceIds: string[], period: string, nowMs: number) {
  const ids = jsonIds(workspaceIds);
  const { flow, sender, startsAt, count } = visitorCounts;
  const redactions = sql<number>`(SELECT coalesce(sum(value), 0) FROM json_each(${usagePeriods.redactions}))`;
  const today = and(inArray(flow, COUNTED_PER_DAY), eq(startsAt, startOfDay(nowMs)), eq(sender, ALL_SENDERS));
  return [
    db
      .select({ workspaceId: usagePeriods.workspaceId, messages: usagePeriods.messages, redactions: redactions.as("redactions") })
      .from(usagePeriods)
      .where(and(sql`${usagePeriods.workspaceId} IN ${ids}`, eq(usagePeriods.period, period))),
    db
      .select({
        workspaceId: agents.workspaceId,
        answers: sql<number>`sum(${agents.answersCount})`.as("answers"),
        mostTextBytes: sql<number>`max(${agents.textBytes})`.as("most_text_bytes"),
      })
      .from(agents)
      .where(sql`${agents.workspaceId} IN ${ids}`)
      .groupBy(agents.workspaceId),
    db
      .select({ workspaceId: apiKeys.workspaceId, keys: sql<number>`count(*)`.as("keys") })
      .from(apiKeys)
      .where(and(sql`${apiKeys.workspaceId} IN ${ids}`, isNull(apiKeys.revokedAt)))
      .groupBy(apiKeys.workspaceId),
    db
      .select({ workspaceId: visitorCounts.workspaceId, flow, count })
      .from(visitorCounts)
      .where(and(sql`${visitorCounts.workspaceId} IN ${ids}`, today)),
    db
      .select({ workspaceId: members.workspaceId, members: sql<number>`count(*)`.as("members") })
      .from(members)
      .where(and(sql`${members.workspaceId} IN ${ids}`, ne(members.status, "removed")))
      .groupBy(members.workspaceId),
  ] as const;
}

/**
 * SQL: a limit of a workspace, by its plan or the operator's override (`limitsOf` in SQL). A condition is 0 or 1.
 * @param alias the statement's alias of `workspaces`.
 */
export function limitSql(alias: string, name: keyof Limits): SQL<number> {
  const workspace = sql.identifier(alias);
  const byPlan = JSON.stringify(Object.fromEntries(PLAN_NAMES.map((plan) => [plan, limitsOf(plan, {})[name]])));
  return sql`coalesce(${workspace}.limits ->> ${name}, ${byPlan} ->> ${workspace}.plan)`;
}

/** Finds the workspace, unless it is deleted. */
export function findWorkspace(db: Database, workspaceId: string) {
  return db.select().from(workspaces).where(isWorkspace(workspaceId));
}

/** Lists all keys of a workspace, revoked ones included, oldest first. */
export const listKeys = compiled((db, workspaceId: string) =>
  db.select().from(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).orderBy(apiKeys.id),
);

/** Lists the keys of a workspace that are not revoked. */
export function listActiveKeys(db: Database, workspaceId: string) {
  return db.select().from(apiKeys).where(isActive(workspaceId));
}

/** Callers with one of the latest revoked keys are told so. Older ones are deleted, which bounds their number. */
const MAX_REVOKED_KEYS = 100;

/** Lists the latest revoked keys of a workspace. */
export function listRevokedKeys(db: Database, workspaceId: string) {
  return db.select().from(apiKeys).where(isRevoked(workspaceId)).orderBy(desc(apiKeys.revokedAt)).limit(MAX_REVOKED_KEYS);
}

/** Deletes the revoked keys of a workspace but for the latest. */
export function pruneRevokedKeys(db: Database, workspaceId: string) {
  const latest = db
    .select({ revokedAt: apiKeys.revokedAt })
    .from(apiKeys)
    .where(isRevoked(workspaceId))
    .orderBy(desc(apiKeys.revokedAt))
    .limit(1)
    .offset(MAX_REVOKED_KEYS - 1);
  return db.delete(apiKeys).where(and(isRevoked(workspaceId), lt(apiKeys.revokedAt, sql`(${latest})`)));
}

function isRevoked(workspaceId: string) {
  return and(eq(apiKeys.workspaceId, workspaceId), gt(apiKeys.revokedAt, 0));
}

/** The most sessions, and the most applications, of a workspace that its gate knows. */
const MAX_SESSIONS = 5_000;

/** Lists the sessions of a workspace that have not ended, with their members. */
export function listActiveSessions(db: Database, workspaceId: string, nowMs: number) {
  return db
    .select({
      sessionId: sql<string>`${memberSessions.id}`.as("session_id"),
      memberId: sql<string>`${members.id}`.as("member"),
      hash: memberSessions.hash,
      expiresAt: memberSessions.expiresAt,
      name: members.name,
      email: members.email,
      role: members.role,
      scopes: members.scopes,
    })
    .from(memberSessions)
    .innerJoin(members, and(eq(members.id, memberSessions.memberId), eq(members.workspaceId, workspaceId)))
    .where(and(eq(memberSessions.workspaceId, workspaceId), eq(members.status, "active"), gt(memberSessions.expiresAt, nowMs)))
    .limit(MAX_SESSIONS);
}

/** Lists the connected applications of a workspace that have access tokens, with their members. */
export function listApplicationTokens(db: Database, workspaceId: string, nowMs: number) {
  return db
    .select({
      applicationId: sql<string>`${applications.id}`.as("application_id"),
      memberId: sql<string>`${members.id}`.as("member"),
      tokens: applications.tokens,
      name: members.name,
      email: members.email,
      role: members.role,
      scopes: members.scopes,
    })
    .from(applications)
    .innerJoin(members, and(eq(members.id, applications.memberId), eq(members.workspaceId, workspaceId)))
    .where(
      and(
        eq(applications.workspaceId, workspaceId),
        eq(members.status, "active"),
        gt(applications.expiresAt, nowMs),
        ne(applications.tokens, []),
      ),
    )
    .limit(MAX_SESSIONS);
}

/** Finds how members of a workspace sign in to the console. There is no row for the default settings. */
export function findSignInSettings(db: Database, workspaceId: string) {
  return db.select().from(signInSettings).where(eq(signInSettings.workspaceId, workspaceId));
}

/** Counts the keys of a workspace that are not revoked. */
export function countActiveKeys(db: Database, workspaceId: string) {
  return db.select({ keys: count() }).from(apiKeys).where(isActive(workspaceId));
}

function isActive(workspaceId: string) {
  return and(eq(apiKeys.workspaceId, workspaceId), isNull(apiKeys.revokedAt));
}

/** Finds a key of a workspace, revoked or not. */
export function findKey(db: Database, workspaceId: string, keyId: string) {
  return findOwn(db, apiKeys, workspaceId, keyId);
}

/**
 * Adds a key unless the workspace is deleted or already has `maxKeys` that are not revoked. A key with the same id is replaced.
 * @param granterId the key that grants it: it must be valid and hold every scope; undefined for the operator.
 */
export function createKey(db: Database, key: typeof apiKeys.$inferInsert, maxKeys: number, granterId: string | undefined) {
  const { id, workspaceId, scopes = [], hash, prefix, secretId } = key;
  const others = sql`SELECT count(*) FROM ${apiKeys} WHERE workspace_id = ${workspaceId} AND revoked_at IS NULL AND id <> ${id}`;
  const conditions = [
    workspaceExists(workspaceId),
    sql`(${others}) < ${maxKeys}`,
    ...(granterId === undefined ? [] : [mayGrant(workspaceId, granterId, scopes)]),
  ];
  return insertWhere(db, apiKeys, key, and(...conditions)!).onConflictDoUpdate({ target: apiKeys.id, set: { hash, prefix, secretId } });
}

/** SQL condition: a key is valid and holds these scopes. */
function mayGrant(workspaceId: string, keyId: string, scopes: readonly string[]): SQL {
  const lacking = sql`SELECT 1 FROM json_each(${JSON.stringify(scopes)}) WHERE value NOT IN (SELECT value FROM json_each(granter.scopes))`;
  return sql`EXISTS (SELECT 1 FROM api_keys granter WHERE granter.id = ${keyId} AND granter.workspace_id = ${workspaceId}
    AND granter.revoked_at IS NULL AND (${holds("granter", ALL_SCOPES)} OR NOT EXISTS (${lacking})))`;
}

/** SQL condition: a key has exactly this scope. */
function holds(alias: string, scope: string): SQL {
  return sql`EXISTS (SELECT 1 FROM json_each(${sql.identifier(alias)}.scopes) WHERE value = ${scope})`;
}

/** SQL condition: a key may manage keys. */
function managesKeys(alias: string): SQL {
  return sql`(${holds(alias, "keys:write" satisfies Scope)} OR ${holds(alias, ALL_SCOPES)})`;
}

/**
 * Revokes a key; one that was revoked before keeps its `revokedAt`.
 * @param options `keepsLast`: whether the last key that may manage keys must not be revoked.
 */
export function revokeKey(db: Database, workspaceId: string, keyId: string, { nowMs, keepsLast }: { nowMs: number; keepsLast: boolean }) {
  const another = sql`EXISTS (SELECT 1 FROM api_keys other WHERE other.workspace_id = ${workspaceId} AND other.id <> ${keyId}
    AND other.revoked_at IS NULL AND ${managesKeys("other")})`;
  const isDispensable = or(sql`NOT ${managesKeys("api_keys")}`, another);
  return db
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, ${nowMs})` })
    .where(and(isOwn(apiKeys, workspaceId, keyId), keepsLast ? isDispensable : undefined));
}

/** Records which secret signed a key, and when the key was last used while that secret was outdated. */
export function recordSecretUse(
  db: Database,
  workspaceId: string,
  keyId: string,
  use: Pick<typeof apiKeys.$inferSelect, "secretId" | "outdatedUseAt">,
) {
  return db
    .update(apiKeys)
    .set(use)
    .where(isOwn(apiKeys, workspaceId, keyId));
}
