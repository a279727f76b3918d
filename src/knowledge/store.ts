import { and, type Column, eq, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { agentExists } from "../agents/store.ts";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import { agents, answerDrafts, answers, sources, workspaces } from "../platform/db/schema.ts";
import { IF_CHANGED, importCompleted, insertWhere, isAmong, isOfAgent, recordJson, workspaceExists } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import type { MetadataFilter } from "./search-wire.ts";

type NewSource = typeof sources.$inferInsert;
type SourceRow = typeof sources.$inferSelect;

// --- Sources ---

/** Lists all sources of an agent, oldest first. */
export const listSources = compiled((db, workspaceId: string, agentId: string) =>
  db.select().from(sources).where(isOfAgent(sources, { workspaceId, agentId })).orderBy(sources.id),
);

/** Finds a source of an agent. */
export const findSource = compiled((db, workspaceId: string, agentId: string, sourceId: string) =>
  db
    .select()
    .from(sources)
    .where(isAgents(sources, workspaceId, agentId, sourceId)),
);

/** Finds the source of an agent that has the caller's key. */
export function findSourceByKey(db: Database, workspaceId: string, agentId: string, key: string) {
  return db
    .select()
    .from(sources)
    .where(and(isOfAgent(sources, { workspaceId, agentId }), eq(sources.key, key)));
}

/** Inserts a source, if the agent exists and has fewer than `maxSources`, and the day has room for its sync; an existing row stays. */
export function createSource(db: Database, source: NewSource, maxSources: number, day: LimitWindow) {
  const { workspaceId, agentId } = source;
  const hasRoom = agentExists(workspaceId, agentId, lt(agents.sourcesCount, maxSources));
  return [
    insertWhere(db, sources, source, sql`${hasRoom} AND ${windowsHaveRoom(workspaceId, [day])}`).onConflictDoNothing(),
    ...countInWindows(db, workspaceId, [day], IF_CHANGED),
  ] as const;
}

/** The lease of a source whose text is not stored yet. Its creation was not acknowledged, and no run may claim it. */
export const STAGING_LEASE = "staging";

/** Ends the staging of a source after its text or file was stored. */
export function endStaging(db: Database, sourceId: string) {
  return db.update(sources).set({ leaseId: null, leaseUntil: null }).where(isClaimed(sourceId, STAGING_LEASE));
}

/** Removes a source whose request was interrupted before its text was stored. */
export function eraseUnstaged(db: Database, sourceId: string, nowMs: number) {
  return db.delete(sources).where(and(isClaimed(sourceId, STAGING_LEASE), lt(sources.leaseUntil, nowMs)));
}

/** Removes a source's row. */
export function eraseSource(db: Database, workspaceId: string, agentId: string, sourceId: string) {
  return db.delete(sources).where(isAgents(sources, workspaceId, agentId, sourceId));
}

/** Changes a source's settings. With a new schedule, the time of the next sync changes too, unless a sync waits or runs and sets it at its end. */
export function updateSource(db: Database, workspaceId: string, agentId: string, sourceId: string, changes: Partial<NewSource>) {
  const { nextSyncAt, ...settings } = changes;
  return db
    .update(sources)
    .set({ ...settings, ...(nextSyncAt !== undefined && { nextSyncAt: sql`CASE WHEN ${isIdle()} THEN ${nextSyncAt} END` }) })
    .where(isAgents(sources, workspaceId, agentId, sourceId))
    .returning();
}

/** Changes a source with a new text or file, and requests a sync, even while another one is running. */
export function updateText(
  db: Database,
  workspaceId: string,
  agentId: string,
  sourceId: string,
  changes: Partial<NewSource>,
  nowMs: number,
) {
  const status = sql`CASE WHEN ${sources.status} = 'processing' THEN 'processing' ELSE 'pending' END`;
  return db
    .update(sources)
    .set({ ...changes, ...toSync(nowMs), status })
    .where(isAgents(sources, workspaceId, agentId, sourceId))
    .returning();
}

/** Marks a source whose content is about to be replaced, if its hash is still the known one. Returns it if so. */
export function markReplacing(db: Database, { id, contentHash }: SourceRow, mark: string) {
  return db
    .update(sources)
    .set({ contentHash: mark })
    .where(and(eq(sources.id, id), sql`${sources.contentHash} IS ${contentHash}`))
    .returning({ id: sources.id });
}

/** Sets the hash of the content that was stored; null if the mark is gone, since another content may have been stored after it. */
export function finishReplacing(db: Database, { id }: SourceRow, mark: string, contentHash: string) {
  const hash = sql`CASE WHEN ${sources.contentHash} = ${mark} THEN ${contentHash} ELSE NULL END`;
  return db.update(sources).set({ contentHash: hash }).where(eq(sources.id, id));
}

/** Sets the previous hash again, after the new content was refused. */
export function cancelReplacing(db: Database, { id, contentHash }: SourceRow, mark: string) {
  return db
    .update(sources)
    .set({ contentHash })
    .where(and(eq(sources.id, id), eq(sources.contentHash, mark)));
}

/** Requests a sync. When one is waiting or running already, or the day has no room, nothing changes and nothing is returned. */
export function requestSync(db: Database, workspaceId: string, agentId: string, sourceId: string, day: LimitWindow, nowMs: number) {
  return [
    db
      .update(sources)
      .set(toSync(nowMs))
      .where(and(isAgents(sources, workspaceId, agentId, sourceId), isIdle(), windowsHaveRoom(workspaceId, [day])))
      .returning(),
    ...countInWindows(db, workspaceId, [day], IF_CHANGED),
  ] as const;
}

/** SQL condition: no sync of the source waits or runs. */
function isIdle() {
  return inArray(sources.status, ["ready", "failed"]);
}

/** The changes of a requested sync. The time of the next one is set when this one ends. */
function toSync(nowMs: number) {
  const syncNumber = sql`${sources.syncNumber} + 1`;
  return { status: "pending" as const, syncNumber, errorCode: null, errorMessage: null, nextSyncAt: null, updatedAt: nowMs };
}

/** Requests the syncs that are due, one workspace after the other, except in workspaces that are being erased. */
export function requestDueSyncs(db: Database, nowMs: number, limit: number) {
  const where = and(lte(sources.nextSyncAt, nowMs), workspaceExists(sources.workspaceId));
  return db
    .update(sources)
    .set(toSync(nowMs))
    .where(isNextInTurn(WAITING.syncs, where, limit))
    .returning(WAKE_COLUMNS);
}

/** The columns of a source that a wake-up needs. */
const WAKE_COLUMNS = {
  id: sources.id,
  workspaceId: sources.workspaceId,
  agentId: sources.agentId,
  type: sources.type,
  syncNumber: sources.syncNumber,
};

/** Claims a source for a run and returns it, if it is free. */
export function claimSource(db: Database, sourceId: string, lease: { id: string; untilMs: number }, nowMs: number) {
  return db
    .update(sources)
    .set({ status: "processing", leaseId: lease.id, leaseUntil: lease.untilMs, updatedAt: nowMs })
    .where(and(eq(sources.id, sourceId), isFree(nowMs)))
    .returning();
}

/**
 * SQL condition: a run may claim the source. It is pending with its text stored, its lease has expired, or a paused crawl is due; and
 * its workspace is not being imported.
 */
function isFree(nowMs: number) {
  const isExpired = or(lt(sources.leaseUntil, nowMs), and(isNull(sources.leaseId), lte(sources.leaseUntil, nowMs)));
  const isIdle = or(and(eq(sources.status, "pending"), isNull(sources.leaseId)), and(eq(sources.status, "processing"), isExpired));
  return and(isIdle, importCompleted(sources.workspaceId));
}

function isClaimed(sourceId: string, leaseId: string) {
  return and(eq(sources.id, sourceId), eq(sources.leaseId, leaseId));
}

/**
 * Updates a source whose lease this run has; returns nothing when the lease was lost or the source deleted.
 * @param syncNumber where given, only if no other sync was requested since.
 */
export function updateClaimed(db: Database, sourceId: string, leaseId: string, changes: Partial<NewSource>, syncNumber?: number) {
  const isCurrent = syncNumber === undefined ? undefined : eq(sources.syncNumber, syncNumber);
  return db
    .update(sources)
    .set(changes)
    .where(and(isClaimed(sourceId, leaseId), isCurrent))
    .returning({ id: sources.id });
}

/** Makes a source pending again, if this run still has its lease. */
export function releaseSource(db: Database, sourceId: string, leaseId: string, nowMs: number) {
  return updateClaimed(db, sourceId, leaseId, { status: "pending", leaseId: null, leaseUntil: null, updatedAt: nowMs });
}

/**
 * Fails a source, unless a run has its lease or another sync was requested since. The run or the other sync then decides about the source.
 * If the run is interrupted, the sweep finds the source when the lease has expired.
 */
export function failSource(
  db: Database,
  { sourceId, syncNumber }: { sourceId: string; syncNumber?: number },
  error: { code: string; message: string },
  nextSyncAt: number | null,
  nowMs: number,
) {
  const released = { leaseId: null, leaseUntil: null, nextSyncAt, updatedAt: nowMs };
  const isCurrent = syncNumber === undefined ? undefined : eq(sources.syncNumber, syncNumber);
  return db
    .update(sources)
    .set({ status: "failed", errorCode: error.code, errorMessage: error.message, ...released })
    .where(and(eq(sources.id, sourceId), isCurrent, isFree(nowMs)));
}

/** Lists sources that have been pending since before `waitingSinceMs` or whose lease has expired: a wake-up was lost or a run was interrupted. */
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

/** Finds the plan of a source's workspace; the plan is null while the workspace is being imported. */
export function findSourceWithPlan(db: Database, sourceId: string) {
  return db
    .select({ plan: workspaces.plan, overrides: workspaces.limits })
    .from(sources)
    .leftJoin(workspaces, eq(workspaces.id, sources.workspaceId))
    .where(eq(sources.id, sourceId));
}

/** Finds a source's id in any workspace, if it exists. */
export function sourceExists(db: Database, sourceId: string) {
  return db.select({ id: sources.id }).from(sources).where(eq(sources.id, sourceId));
}

// --- Curated answers ---

/** Lists one page of an agent's curated answers, oldest first. */
export function listAnswers(db: Database, workspaceId: string, agentId: string, { limit, offset }: { limit: number; offset: number }) {
  return db.select().from(answers).where(isOfAgent(answers, { workspaceId, agentId })).orderBy(answers.id).limit(limit).offset(offset);
}

/** Finds a curated answer of an agent. */
export const findAnswer = compiled((db, workspaceId: string, agentId: string, answerId: string) =>
  db
    .select()
    .from(answers)
    .where(isAgents(answers, workspaceId, agentId, answerId)),
);

/** Inserts a curated answer, if the agent exists and has fewer than `maxAnswers`; an existing row stays. Returns it if it was inserted. */
export function createAnswer(db: Database, { metadata = {}, ...answer }: typeof answers.$inferInsert, maxAnswers: number) {
  return insertAnswer(db, answer, JSON.stringify(metadata), maxAnswers);
}

const insertAnswer = compiled((db, answer: Omit<typeof answers.$inferInsert, "metadata">, metadata: string, maxAnswers: number) => {
  const hasRoom = agentExists(answer.workspaceId, answer.agentId, lt(agents.answersCount, maxAnswers));
  const row = { ...answer, metadata: sql`${metadata}` };
  return insertWhere(db, answers, row, hasRoom).onConflictDoNothing().returning();
});

/** Changes a curated answer, at a later time than the change before. If question or answer change, it has to be indexed again. */
export function updateAnswer(
  db: Database,
  workspaceId: string,
  agentId: string,
  answerId: string,
  changes: Partial<Pick<typeof answers.$inferSelect, "question" | "answer" | "metadata">>,
  nowMs: number,
) {
  const isIndexed = changes.question === undefined && changes.answer === undefined;
  return db
    .update(answers)
    .set({ ...changes, updatedAt: sql`max(${nowMs}, ${answers.updatedAt} + 1)`, ...(!isIndexed && { indexedAt: null }) })
    .where(isAgents(answers, workspaceId, agentId, answerId))
    .returning();
}

/**
 * Marks curated answers as indexed, unless they were changed since; returns those that exist.
 * @param versions the time of the indexed change of each answer, by its id.
 */
export function markIndexed(db: Database, workspaceId: string, versions: Record<string, number>, nowMs: number) {
  const isCurrent = sql`json_extract(${JSON.stringify(versions)}, '$."' || ${answers.id} || '"') = ${answers.updatedAt}`;
  return db
    .update(answers)
    .set({ indexedAt: sql`CASE WHEN ${isCurrent} THEN ${nowMs} ELSE ${answers.indexedAt} END` })
    .where(isAmong(answers, workspaceId, Object.keys(versions)))
    .returning({ id: answers.id });
}

/** Removes an answer's row. */
export function eraseAnswer(db: Database, workspaceId: string, agentId: string, answerId: string) {
  return db.delete(answers).where(isAgents(answers, workspaceId, agentId, answerId));
}

/** Lists curated answers created before `beforeMs` that are not indexed yet, except in workspaces that are being erased. */
export function listUnindexedAnswers(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const isLive = sql`EXISTS (SELECT 1 FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id
    WHERE a.id = ${answers.agentId} AND w.deleted_at IS NULL)`;
  const where = and(lt(answers.createdAt, beforeMs), isLive, isNotPutOff("answers", answers.agentId, nowMs));
  return db
    .select()
    .from(answers)
    .where(isNextInTurn(WAITING.answers, where, limit));
}

// --- Filters ---

/** Returns two queries: for the sources and for the curated answers whose metadata match a filter. */
export function listMatching(db: Database, workspaceId: string, agentId: string, filter: MetadataFilter) {
  const select = (table: typeof sources | typeof answers) =>
    db
      .select({ id: table.id })
      .from(table)
      .where(and(isOfAgent(table, { workspaceId, agentId }), matches(table.metadata, filter)));
  return [select(sources), select(answers)] as const;
}

/** SQL condition: for each key of the filter, the metadata contain one of its values. */
function matches(metadata: Column, filter: MetadataFilter): SQL {
  const wanted = JSON.stringify(Object.entries(filter).map(([key, values]) => ({ key, values: [values].flat() })));
  const isMet = sql`EXISTS (SELECT 1 FROM json_each(${metadata}) m WHERE m.key = json_extract(f.value, '$.key')
    AND m.value IN (SELECT value FROM json_each(f.value, '$.values')))`;
  return sql`${metadata} <> '{}' AND NOT EXISTS (SELECT 1 FROM json_each(${wanted}) f WHERE NOT ${isMet})`;
}

// --- The agent ---

/** Removes all rows of an agent's knowledge. */
export function eraseAgentKnowledge(db: Database, workspaceId: string, agentId: string) {
  return [sources, answers, answerDrafts].map((table) => db.delete(table).where(isOfAgent(table, { workspaceId, agentId })));
}

/** SQL condition: the row with this id, if it is the agent's. */
function isAgents(table: typeof sources | typeof answers, workspaceId: string, agentId: string, id: string) {
  return and(eq(table.id, id), isOfAgent(table, { workspaceId, agentId }));
}

const SOURCE_JSON = recordJson(
  sources,
  "s",
  `id, agent_id, type, name, url, key, metadata, status, schedule, max_pages, pages_found, pages_indexed, pages_failed,
    pages_skipped, chunks_count, error, last_synced_at, next_sync_at, created_at, updated_at`,
  {
    error: sql`json(CASE WHEN s.error_code IS NOT NULL
      THEN json_object('code', s.error_code, 'message', coalesce(s.error_message, '')) END)`,
  },
);

/** A subquery for the outbox: a source's wire record. */
export function sourceRecord(workspaceId: string, id: string): SQL {
  return sql`(SELECT ${SOURCE_JSON} FROM ${sources} s WHERE s.id = ${id} AND s.workspace_id = ${workspaceId})`;
}
