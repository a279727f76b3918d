import { and, desc, eq, getTableColumns, gte, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Database, Operation } from "../platform/db/client.ts";
import { firstIdAt, newId, shardOf } from "../platform/db/ids.ts";
import { isServedHere } from "../platform/db/placement.ts";
import { agents, apiKeys, operatorAudit, workspaces } from "../platform/db/schema.ts";
import { IF_CHANGED, insertWhere } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import { type AuditAction, type AuditedOperation, recordAudit } from "../workspaces/audit-store.ts";

/** The author of an entry in the audit log, and the operation. */
export interface Auditor {
  /** The fingerprint of the token. */
  actor: string;
  /** The id of the operation in the OpenAPI document. */
  operation: string;
  requestId: string;
}

/** An operation of the operator on a workspace. */
export interface OperatorOperation extends Operation {
  by: Auditor;
}

/** A change of an agent or key, by the operator or, without `by`, by the team. */
export type AuditedChange = AuditedOperation & { by?: Auditor };

/** What an operation changes, in addition to its workspace. */
interface Subject {
  targetId?: string;
  /** The names of the fields in the request. */
  fields?: readonly string[];
}

/** Records an operation on a workspace, if the statement before it in the batch changed a row. */
export function recordOperation(db: Database, { by, workspaceId, nowMs }: OperatorOperation, subject: Subject = {}) {
  return recordEntry(db, { by, workspaceId, nowMs, shard: shardOf(workspaceId), ...subject }, IF_CHANGED);
}

/** Records a change in the audit log of its workspace and, if the operator made it, in that of the operators, as `recordOperation` does. */
export function recordChange(db: Database, { by, ...op }: AuditedChange, action: AuditAction, { targetId, fields }: Subject) {
  const detail = fields && { fields };
  return [
    ...(by ? [recordOperation(db, { by, ...op }, { ...(targetId && { targetId }), ...(fields && { fields }) })] : []),
    recordAudit(db, op, action, { targetId, detail }),
  ];
}

/** Records an operation that reads a whole workspace. */
export function recordExport(db: Database, { by, workspaceId, nowMs }: OperatorOperation) {
  return recordEntry(db, { by, workspaceId, nowMs, shard: shardOf(workspaceId) }, sql`TRUE`);
}

/** Records an operation that changes rows of many workspaces of a database. */
export function recordOnDatabase(db: Database, by: Auditor, nowMs: number) {
  return recordEntry(db, { by, workspaceId: null, nowMs, shard: 0 }, sql`TRUE`);
}

type NewEntry = Subject & { by: Auditor; workspaceId: string | null; nowMs: number; shard: number };

function recordEntry(db: Database, { by, workspaceId, nowMs, shard, targetId, fields = [] }: NewEntry, condition: SQL) {
  const row = { id: newId(shard, nowMs), ...by, workspaceId, targetId: targetId ?? null, fields: [...fields], createdAt: nowMs };
  return insertWhere(db, operatorAudit, row, condition);
}

/** The filters of the operators' audit log. */
export interface OperatorAuditFilter {
  workspaceId?: string | undefined;
  operation?: string | undefined;
  actor?: string | undefined;
  sinceMs?: number | undefined;
}

/** Lists a page of the entries with the present names of what they changed, newest first, and counts all of them. */
export function listAudit(db: Database, filter: OperatorAuditFilter, page: { limit: number; beforeId?: string | undefined }) {
  const before = page.beforeId === undefined ? undefined : lt(operatorAudit.id, page.beforeId);
  return [
    db
      .select({
        ...getTableColumns(operatorAudit),
        workspaceName: workspaces.name,
        targetName: sql<string | null>`coalesce(${agents.name}, ${apiKeys.name})`.as("target_name"),
      })
      .from(operatorAudit)
      .leftJoin(workspaces, eq(workspaces.id, operatorAudit.workspaceId))
      .leftJoin(agents, eq(agents.id, operatorAudit.targetId))
      .leftJoin(apiKeys, eq(apiKeys.id, operatorAudit.targetId))
      .where(and(...conditions(filter), before))
      .orderBy(desc(operatorAudit.id))
      .limit(page.limit),
    db
      .select({ total: sql<number>`count(*)`.as("total") })
      .from(operatorAudit)
      .where(and(...conditions(filter))),
  ] as const;
}

function conditions({ workspaceId, operation, actor, sinceMs = 0 }: OperatorAuditFilter): (SQL | undefined)[] {
  return [
    workspaceId === undefined ? undefined : eq(operatorAudit.workspaceId, workspaceId),
    gte(operatorAudit.id, firstIdAt(sinceMs)),
    or(isNull(operatorAudit.workspaceId), isServedHere(sql`${operatorAudit.workspaceId}`)),
    operation === undefined ? undefined : eq(operatorAudit.operation, operation),
    actor === undefined ? undefined : eq(operatorAudit.actor, actor),
  ];
}

/** An entry is kept for a year, and for some weeks more in which somebody may still look for it. */
const RETENTION_MS = 400 * DAY_MS;
/** The most entries that are kept in one database. */
const MAX_ENTRIES = 100_000;

/** Deletes the entries that are too old, and the oldest entries if there are too many. */
export function pruneAudit(db: Database, nowMs: number) {
  const newest = sql`(SELECT max(rowid) FROM ${operatorAudit})`;
  return [
    db.delete(operatorAudit).where(lt(operatorAudit.id, firstIdAt(nowMs - RETENTION_MS))),
    db.delete(operatorAudit).where(sql`${operatorAudit}.rowid <= ${newest} - ${MAX_ENTRIES}`),
  ] as const;
}
