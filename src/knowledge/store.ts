import { and, eq, getTableColumns, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { agentExists } from "../agents/store.ts";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { agents, answers, sources, workspaces } from "../platform/db/schema.ts";
import { importCompleted, insertWhere, jsonIds, timestampJson } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";

type NewSource = typeof sources.$inferInsert;

// --- Sources ---

/** All sources of an agent, oldest first. */
export const listSources = compiled(getTableColumns(sources), ["workspaceId", "agentId"], (db, fields, workspaceId, agentId) =>
  db
    .select(fields)
    .from(sources)
    .where(and(eq(sources.workspaceId, workspaceId), eq(sources.agentId, agentId)))
    .orderBy(sources.id),
);

/** The source, if it is the agent's. */
export function findSource(db: Database, workspaceId: string, agentId: string, sourceId: string) {
  return db
    .select()
    .from(sources)
    .where(and(eq(sources.id, sourceId), isAgents(sources, workspaceId, agentId)));
}

/** Inserts a source, if the agent exists and has fewer than `maxSources`; an existing row stays. */
export function createSource(db: Database, source: NewSource, maxSources: number) {
  const condition = agentExists(source.workspaceId, source.agentId, sql`${agents.sourcesCount} < ${maxSources}`);
  return insertWhere(db, sources, source, condition).onConflictDoNothing();
}

/** The lease of a source whose text is not stored yet: nothing was acknowledged, and no run may claim it. */
export const STAGING_LEASE = "staging";

/** Ends the staging of a source, whose text is stored now. */
export function endStaging(db: Database, sourceId: string) {
  return db
    .update(sources)
    .set({ leaseId: null, leaseUntil: null })
    .where(and(eq(sources.id, sourceId), eq(sources.leaseId, STAGING_LEASE)));
}

/** Removes a source whose request died before its text was stored. */
export function eraseUnstaged(db: Database, sourceId: string, nowMs: number) {
  return db.delete(sources).where(and(eq(sources.id, sourceId), eq(sources.leaseId, STAGING_LEASE), lt(sources.leaseUntil, nowMs)));
}

/** Removes a source's row. */
export function eraseSource(db: Database, workspaceId: string, agentId: string, sourceId: string) {
  return db
    .delete(sources)
    .where(and(eq(sources.id, sourceId), isAgents(sources, workspaceId, agentId)))
    .returning({ id: sources.id });
}

/** Requests a sync. When one is waiting or running already, nothing changes and nothing is returned. */
export function requestSync(db: Database, workspaceId: string, agentId: string, sourceId: string, nowMs: number) {
  return db
    .update(sources)
    .set(toSync(nowMs))
    .where(and(eq(sources.id, sourceId), isAgents(sources, workspaceId, agentId), inArray(sources.status, ["ready", "failed"])))
    .returning();
}

/** The changes of a requested sync. The time of the next one is set when this one ends. */
function toSync(nowMs: number) {
  const syncNumber = sql`${sources.syncNumber} + 1`;
  return { status: "pending" as const, syncNumber, errorCode: null, errorMessage: null, nextSyncAt: null, updatedAt: nowMs };
}

/** Requests the syncs that are due, workspaces in turn, except in workspaces that are being erased. */
export function requestDueSyncs(db: Database, nowMs: number, limit: number) {
  const isLive = sql`EXISTS (SELECT 1 FROM ${workspaces} w WHERE w.id = ${sources.workspaceId} AND w.deleted_at IS NULL)`;
  const where = and(lte(sources.nextSyncAt, nowMs), isLive);
  return db
    .update(sources)
    .set(toSync(nowMs))
    .where(isNextInTurn(WAITING.syncs, where, limit))
    .returning(WAKE_COLUMNS);
}

/** What of a source a wake-up needs. */
const WAKE_COLUMNS = { id: sources.id, workspaceId: sources.workspaceId, agentId: sources.agentId, type: sources.type };

/** Claims a source for a run and returns it, if it is free. */
export function claimSource(db: Database, sourceId: string, lease: { id: string; untilMs: number }, nowMs: number) {
  return db
    .update(sources)
    .set({ status: "processing", leaseId: lease.id, leaseUntil: lease.untilMs, updatedAt: nowMs })
    .where(and(eq(sources.id, sourceId), isFree(nowMs)))
    .returning();
}

/**
 * Whether a source is pending with its text stored, its lease has expired, or the time to continue it has come; and it is not being
 * imported: a wake-up may be from before.
 */
function isFree(nowMs: number) {
  const isExpired = or(lt(sources.leaseUntil, nowMs), and(isNull(sources.leaseId), lte(sources.leaseUntil, nowMs)));
  const isIdle = or(and(eq(sources.status, "pending"), isNull(sources.leaseId)), and(eq(sources.status, "processing"), isExpired));
  return and(isIdle, importCompleted(sources.workspaceId));
}

/** Updates a source whose lease this run has; returns nothing when the lease was lost or the source deleted. */
export function updateClaimed(db: Database, sourceId: string, leaseId: string, changes: Partial<NewSource>) {
  return db
    .update(sources)
    .set(changes)
    .where(and(eq(sources.id, sourceId), eq(sources.leaseId, leaseId)))
    .returning({ id: sources.id });
}

/** Fails a source, unless a run has its lease: that run will end it, or the sweep finds it once the lease has expired. */
export function failSource(
  db: Database,
  sourceId: string,
  error: { code: string; message: string },
  nextSyncAt: number | null,
  nowMs: number,
) {
  const released = { leaseId: null, leaseUntil: null, nextSyncAt, updatedAt: nowMs };
  return db
    .update(sources)
    .set({ status: "failed", errorCode: error.code, errorMessage: error.message, ...released })
    .where(and(eq(sources.id, sourceId), isFree(nowMs)));
}

/** Sources that have been pending since before `waitingSinceMs`, or whose lease has expired: their wake-up was lost or their run died. */
export function listStrandedSources(db: Database, waitingSinceMs: number, nowMs: number, limit: number) {
  const stranded = or(
    and(eq(sources.status, "pending"), lt(sources.updatedAt, waitingSinceMs)),
    and(eq(sources.status, "processing"), lt(sources.leaseUntil, nowMs)),
  );
  const where = and(stranded, importCompleted(sources.workspaceId));
  return db
    .select(WAKE_COLUMNS)
    .from(sources)
    .where(isNextInTurn(WAITING.sources, where, limit));
}

/** The plan of a source's workspace, while the source exists; null while the workspace is being imported. */
export function findSourceWithPlan(db: Database, sourceId: string) {
  return db
    .select({ plan: workspaces.plan, overrides: workspaces.limits })
    .from(sources)
    .leftJoin(workspaces, eq(workspaces.id, sources.workspaceId))
    .where(eq(sources.id, sourceId));
}

/** The source's id while it exists, in any workspace. */
export function sourceExists(db: Database, sourceId: string) {
  return db.select({ id: sources.id }).from(sources).where(eq(sources.id, sourceId));
}

// --- Curated answers ---

/** One page of an agent's curated answers, oldest first. */
export function listAnswers(db: Database, workspaceId: string, agentId: string, page: { limit: number; offset: number }) {
  const { limit, offset } = page;
  return db
    .select()
    .from(answers)
    .where(isAgents(answers, workspaceId, agentId))
    .orderBy(answers.id)
    .limit(limit)
    .offset(offset);
}

/** The answer's row, if it is the agent's. */
export function findAnswer(db: Database, workspaceId: string, agentId: string, answerId: string) {
  return db
    .select()
    .from(answers)
    .where(and(eq(answers.id, answerId), isAgents(answers, workspaceId, agentId)));
}

/** Inserts a curated answer, if the agent exists and has fewer than `maxAnswers`; an existing row stays. */
export function createAnswer(db: Database, answer: typeof answers.$inferInsert, maxAnswers: number) {
  const condition = agentExists(answer.workspaceId, answer.agentId, sql`${agents.answersCount} < ${maxAnswers}`);
  return insertWhere(db, answers, answer, condition).onConflictDoNothing();
}

/** Marks curated answers as indexed; returns those that were not deleted meanwhile. */
export function markIndexed(db: Database, workspaceId: string, answerIds: readonly string[], nowMs: number) {
  return db
    .update(answers)
    .set({ indexedAt: nowMs })
    .where(and(sql`+${answers.workspaceId} = ${workspaceId}`, sql`${answers.id} IN ${jsonIds(answerIds)}`))
    .returning({ id: answers.id });
}

/** Removes an answer's row. */
export function eraseAnswer(db: Database, workspaceId: string, agentId: string, answerId: string) {
  return db
    .delete(answers)
    .where(and(eq(answers.id, answerId), isAgents(answers, workspaceId, agentId)))
    .returning({ id: answers.id });
}

/** Curated answers created before `beforeMs` that are not indexed yet, except in workspaces that are being erased. */
export function listUnindexedAnswers(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const isLive = sql`EXISTS (SELECT 1 FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id
    WHERE a.id = ${answers.agentId} AND w.deleted_at IS NULL)`;
  const where = and(lt(answers.createdAt, beforeMs), isLive, isNotPutOff("answers", answers.agentId, nowMs));
  return db
    .select()
    .from(answers)
    .where(isNextInTurn(WAITING.answers, where, limit));
}

// --- The agent ---

/** Removes all rows of an agent's knowledge. */
export function eraseAgentKnowledge(db: Database, workspaceId: string, agentId: string) {
  return [
    db.delete(sources).where(isAgents(sources, workspaceId, agentId)),
    db.delete(answers).where(isAgents(answers, workspaceId, agentId)),
  ] as const;
}

function isAgents(table: typeof sources | typeof answers, workspaceId: string, agentId: string) {
  return and(eq(table.workspaceId, workspaceId), eq(table.agentId, agentId));
}

/** A source's wire record as SQL, for a statement that reads `sources` as s. A test holds it against that of wire.ts. */
const SOURCE_JSON = sql`json_object('id', s.id, 'agent_id', s.agent_id, 'type', s.type, 'name', s.name, 'url', s.url,
  'status', s.status, 'schedule', s.schedule, 'max_pages', s.max_pages, 'pages_found', s.pages_found,
  'pages_indexed', s.pages_indexed, 'pages_failed', s.pages_failed, 'pages_skipped', s.pages_skipped, 'chunks_count', s.chunks_count,
  'error', json(CASE WHEN s.error_code IS NOT NULL
    THEN json_object('code', s.error_code, 'message', coalesce(s.error_message, '')) END),
  'last_synced_at', ${timestampJson(sql`s.last_synced_at`)}, 'next_sync_at', ${timestampJson(sql`s.next_sync_at`)},
  'created_at', ${timestampJson(sql`s.created_at`)}, 'updated_at', ${timestampJson(sql`s.updated_at`)})`;

/** A subquery for the outbox: a source's wire record. */
export function sourceRecord(workspaceId: string, id: string): SQL {
  return sql`(SELECT ${SOURCE_JSON} FROM ${sources} s WHERE s.id = ${id} AND s.workspace_id = ${workspaceId})`;
}
