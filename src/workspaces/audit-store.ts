import { and, desc, eq, gte, lt, or, type SQL, sql } from "drizzle-orm";
import type { Database, Operation } from "../platform/db/client.ts";
import { firstIdAt, newId, shardOf } from "../platform/db/ids.ts";
import {
  agents,
  apiKeys,
  applications,
  auditLog,
  members,
  routingRules,
  teams,
  webhookEndpoints,
  workspaces,
} from "../platform/db/schema.ts";
import { deleteSome, IF_CHANGED, importCompleted, insertWhere, type Page } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";

/** What the audit log of a workspace records. */
export const AUDIT_ACTIONS = [
  "agent.created",
  "agent.updated",
  "agent.deleted",
  "agent.published",
  "agent.rolled_back",
  "agent.rollout_changed",
  "agent.identity_secret_rotated",
  "key.created",
  "key.revoked",
  "member.invited",
  "member.joined",
  "member.updated",
  "member.removed",
  "member.signed_in",
  "member.session_ended",
  "application.connected",
  "application.disconnected",
  "sign_in.updated",
  "team.created",
  "team.updated",
  "team.deleted",
  "routing_rule.created",
  "routing_rule.updated",
  "routing_rule.deleted",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.secret_rotated",
  "privacy.export",
  "privacy.erase",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The actor of what the operator does. */
export const OPERATOR_ACTOR = "operator";

/** An operation whose actor is known, so that it can be recorded. */
export interface AuditedOperation extends Operation {
  /** `member/<id>`, `key/<id>` or `operator`. */
  actor: string;
}

/** What an action is about. It contains neither secrets nor data of visitors. */
interface AuditSubject {
  targetId?: string | SQL | undefined;
  detail?: Record<string, unknown> | undefined;
}

/** Lists the names of the fields that a change sets, for the detail of an entry. */
export function changedFields(changes: object): string[] {
  return Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : name));
}

/** Entries are kept for a year, and for some weeks more in which somebody may still look for them. */
const RETENTION_MS = 400 * DAY_MS;

type Occasion = Pick<AuditedOperation, "workspaceId" | "actor" | "nowMs">;

/** Records an action, if the statement before it in the batch changed a row. */
export function recordAudit(db: Database, occasion: Occasion, action: AuditAction, subject: AuditSubject) {
  return createEntry(db, occasion, action, subject, IF_CHANGED);
}

/** Records an action that only reads. */
export function recordAccess(db: Database, occasion: Occasion, action: AuditAction) {
  return createEntry(db, occasion, action, {}, sql`TRUE`);
}

function createEntry(
  db: Database,
  { workspaceId, actor, nowMs }: Occasion,
  action: AuditAction,
  { targetId, detail }: AuditSubject,
  condition: SQL,
) {
  const entry = { id: newId(shardOf(workspaceId), nowMs), workspaceId, actor, action, targetId: targetId ?? null, detail: detail ?? null };
  return insertWhere(db, auditLog, { ...entry, createdAt: nowMs, expiresAt: nowMs + RETENTION_MS }, condition);
}

/** The filters of the audit log. */
export interface AuditFilter {
  action?: AuditAction | undefined;
  actor?: string | undefined;
  sinceMs?: number | undefined;
}

/** Lists a page of a workspace's entries with the present names of actor and target, newest first, and one more if there is another page. */
export function listAuditEntries(db: Database, workspaceId: string, filter: AuditFilter, { limit, offset, cursor }: Page) {
  const actorId = sql`substr(${auditLog.actor}, instr(${auditLog.actor}, '/') + 1)`;
  const nameOf = (
    table: typeof members | typeof apiKeys | typeof agents | typeof teams | typeof routingRules | typeof applications,
    id: SQL,
  ) => sql`(SELECT ${table.name} FROM ${table} WHERE ${table.id} = ${id} AND ${table.workspaceId} = ${workspaceId})`;
  const target = sql`${auditLog.targetId}`;
  const url = sql`(SELECT ${webhookEndpoints.url} FROM ${webhookEndpoints} WHERE ${webhookEndpoints.id} = ${target} AND ${webhookEndpoints.workspaceId} = ${workspaceId})`;
  return db
    .select({
      id: auditLog.id,
      actor: auditLog.actor,
      action: auditLog.action,
      targetId: auditLog.targetId,
      detail: auditLog.detail,
      createdAt: auditLog.createdAt,
      actorName: sql<string | null>`coalesce(${nameOf(members, actorId)}, ${nameOf(apiKeys, actorId)})`.as("actor_name"),
      targetName: sql<
        string | null
      >`coalesce(${nameOf(agents, target)}, ${nameOf(members, target)}, ${nameOf(apiKeys, target)}, ${nameOf(teams, target)}, ${nameOf(routingRules, target)}, ${nameOf(applications, target)}, ${url})`.as(
        "target_name",
      ),
    })
    .from(auditLog)
    .where(and(...conditions(workspaceId, filter), cursor && lt(auditLog.id, cursor.id)))
    .orderBy(desc(auditLog.id))
    .limit(limit + 1)
    .offset(offset);
}

/** Counts the entries of a list. Without filters, their number is kept. */
export function countAuditEntries(db: Database, workspaceId: string, filter: AuditFilter) {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return isFiltered
    ? db
        .select({ total: sql<number>`count(*)`.as("total") })
        .from(auditLog)
        .where(and(...conditions(workspaceId, filter)))
    : db
        .select({ total: sql<number>`${workspaces.auditEntriesCount}`.as("total") })
        .from(workspaces)
        .where(eq(workspaces.id, workspaceId));
}

function conditions(workspaceId: string, { action, actor, sinceMs }: AuditFilter): (SQL | undefined)[] {
  return [
    eq(auditLog.workspaceId, workspaceId),
    action === undefined ? undefined : eq(auditLog.action, action),
    actor === undefined
      ? undefined
      : or(eq(auditLog.actor, `member/${actor}`), eq(auditLog.actor, `key/${actor}`), eq(auditLog.actor, actor)),
    sinceMs === undefined ? undefined : gte(auditLog.id, firstIdAt(sinceMs)),
  ];
}

/** Deletes up to `limit` entries that have expired. */
export function pruneAuditLog(db: Database, nowMs: number, limit: number) {
  return deleteSome(db, auditLog, and(lt(auditLog.expiresAt, nowMs), importCompleted(auditLog.workspaceId)), limit);
}
