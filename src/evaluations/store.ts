import { and, asc, count, desc, eq, inArray, isNull, lt, not, or, type SQL, sql } from "drizzle-orm";
import { agentExists } from "../agents/store.ts";
import { versionExists } from "../agents/version-store.ts";
import type { Database } from "../platform/db/client.ts";
import type { CaseExpectation } from "../platform/db/columns.ts";
import { evaluationCases, evaluations } from "../platform/db/schema.ts";
import { exists, IF_CHANGED, importCompleted, insertWhere, isOfAgent, isOwn, workspaceExists } from "../platform/db/sql.ts";
import { isNextInTurn, WAITING } from "../platform/db/waiting.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";

type NewEvaluation = typeof evaluations.$inferInsert;

/** A question with what is expected of its answer, or a conversation with what is expected of it. */
export interface EvaluationCase {
  question: string;
  previous: string[];
  expect: CaseExpectation;
}

/** A case as it is stored, with its result or, while it runs, its conversation so far. */
export type StoredCase = typeof evaluationCases.$inferSelect;

/** The key of an evaluation, and the wake-up that runs its next cases. */
export interface EvaluationKey {
  workspaceId: string;
  evaluationId: string;
}

/** How many evaluations of an agent are kept, a new one included. */
const KEPT_RUNS = 10;

/**
 * Adds an evaluation with its cases, if the agent and its version exist, the workspace has fewer than `maxUnfinished` unfinished ones, and the day's
 * limit has room for their turns. An evaluation with the same id is left unchanged. If it is added, the agent's oldest finished evaluations are deleted.
 */
export function createEvaluation(
  db: Database,
  evaluation: NewEvaluation,
  cases: readonly EvaluationCase[],
  { window, maxUnfinished }: { window: LimitWindow; maxUnfinished: number },
) {
  const turns = cases.reduce((sum, one) => sum + turnsOf(one), 0);
  const { id, workspaceId, agentId, version = null } = evaluation;
  const condition = and(
    agentExists(workspaceId, agentId),
    version === null ? undefined : versionExists({ workspaceId, agentId }, version),
    sql`${countUnfinished(workspaceId)} < ${maxUnfinished}`,
    windowsHaveRoom(workspaceId, [window], turns),
  )!;
  const added = exists(evaluations, isOwn(evaluations, workspaceId, id), eq(evaluations.status, "pending"));
  const row = {
    workspaceId,
    evaluationId: id,
    position: sql`json_each.key`,
    question: sql`json_each.value ->> '$.question'`,
    previous: sql`json_each.value -> '$.previous'`,
    expect: sql`json_each.value -> '$.expect'`,
  };
  // A refused evaluation takes no place, so nothing is deleted for it.
  const old = sql`(SELECT id FROM ${evaluations} WHERE ${added} AND workspace_id = ${workspaceId} AND agent_id = ${agentId}
    AND status IN ('completed', 'failed') ORDER BY id DESC LIMIT -1 OFFSET ${KEPT_RUNS - 1})`;
  return [
    insertWhere(db, evaluations, evaluation, condition).onConflictDoNothing(),
    ...countInWindows(db, workspaceId, [window], IF_CHANGED, turns),
    insertWhere(db, evaluationCases, row, added, sql`json_each(${JSON.stringify(cases)})`).onConflictDoNothing(),
    db.delete(evaluationCases).where(sql`${evaluationCases.workspaceId} = ${workspaceId} AND ${evaluationCases.evaluationId} IN ${old}`),
    db.delete(evaluations).where(sql`${evaluations.id} IN ${old}`),
  ];
}

/** How many questions a case asks at most. Each counts toward the day's limit. */
export function turnsOf({ previous, expect: { rehearsal: multiTurn } }: EvaluationCase): number {
  if (!multiTurn) return 1;
  return multiTurn.setting.persona?.max_turns ?? previous.length + 1;
}

interface Addition {
  /** Whether the evaluation may be of a version other than the published one. */
  mayAskVersions: boolean;
  /** The position of the case to replace; by default that of the case that asks the same. */
  replaces: number | undefined;
  window: LimitWindow;
  maxCases: number;
  /** The limit of all cases, with what is expected of them. All cases are read at once. */
  maxBytes: number;
  maxUnfinished: number;
  nowMs: number;
}

/**
 * Adds a case to an evaluation, or replaces the case that asks the same or has the named position. It does so if the evaluation has room, the workspace then has
 * at most `maxUnfinished` unfinished ones, and the day's limit has room. The evaluation becomes pending again.
 * @returns statements, of which the first returns the case if it was added.
 */
export function addCase(
  db: Database,
  { workspaceId, agentId, evaluationId }: EvaluationKey & { agentId: string },
  added: EvaluationCase,
  { mayAskVersions, replaces, window, maxCases, maxBytes, maxUnfinished, nowMs }: Addition,
) {
  const key = { workspaceId, evaluationId };
  const { question, previous, expect } = added;
  const turns = turnsOf(added);
  const cases = sql`FROM ${evaluationCases} WHERE workspace_id = ${workspaceId} AND evaluation_id = ${evaluationId}`;
  const same = sql`(SELECT position ${cases} AND ${isReplaced(added, replaces)})`;
  const end = sql`(SELECT coalesce(max(position) + 1, 0) ${cases})`;
  const hasRoom = and(
    isOfAgent(evaluations, { workspaceId, agentId }),
    eq(evaluations.id, evaluationId),
    mayAskVersions ? undefined : isNull(evaluations.version),
    sql`(${evaluations.casesCount} < ${maxCases} OR ${same} IS NOT NULL)`,
    sql`(${measureWithCase(db, key, added, replaces)}) <= ${maxBytes}`,
    sql`(${IS_UNFINISHED} OR ${countUnfinished(workspaceId)} < ${maxUnfinished})`,
  );
  const row = { ...key, position: sql`coalesce(${same}, ${end})`, question, previous, expect };
  const condition = sql`${exists(evaluations, hasRoom)} AND ${windowsHaveRoom(workspaceId, [window], turns)}`;
  const notRun = { verdict: null, answer: null, confidence: null, sourceFound: null, trace: {} };
  const count = sql`(SELECT count(*) ${cases})`;
  // A running evaluation is restarted if a case was replaced: the result of the old case must not be stored for the new one.
  const isRunning = sql`${IS_UNFINISHED} AND ${count} > ${evaluations.casesCount}`;
  return [
    insertWhere(db, evaluationCases, row, condition)
      .onConflictDoUpdate({
        target: [evaluationCases.workspaceId, evaluationCases.evaluationId, evaluationCases.position],
        set: { question, previous, expect, ...notRun },
      })
      .returning(),
    ...countInWindows(db, workspaceId, [window], IF_CHANGED, turns),
    db
      .update(evaluations)
      .set({
        casesCount: count,
        verdicts: countVerdicts(key),
        status: sql`CASE WHEN ${isRunning} THEN status ELSE 'pending' END`,
        leaseId: sql`CASE WHEN ${isRunning} THEN lease_id END`,
        leaseUntil: sql`CASE WHEN ${isRunning} THEN lease_until END`,
        error: null,
        completedAt: null,
        updatedAt: nowMs,
      })
      .where(and(isEvaluation(key), IF_CHANGED)),
  ] as const;
}

/** Measures the cases of an evaluation as they would be with another one. */
export function measureWithCase(
  db: Database,
  { workspaceId, evaluationId }: EvaluationKey,
  added: EvaluationCase,
  replaces: number | undefined,
) {
  const { question, previous, expect } = evaluationCases;
  const bytes = new TextEncoder().encode(added.question + JSON.stringify(added.previous) + JSON.stringify(added.expect)).length;
  const size = sql`octet_length(${question}) + octet_length(${previous}) + octet_length(${expect})`;
  return db
    .select({ bytes: sql<number>`coalesce(sum(${size}), 0) + ${bytes}`.as("bytes") })
    .from(evaluationCases)
    .where(and(isOf({ workspaceId, evaluationId }), not(isReplaced(added, replaces))));
}

/** SQL condition: a case is the one that another one replaces. */
function isReplaced(added: EvaluationCase, replaces: number | undefined): SQL {
  return replaces === undefined ? asks(added) : eq(evaluationCases.position, replaces);
}

/** SQL condition: a case asks the same, in the same setting. */
function asks({ question, previous, expect: { rehearsal: multiTurn } }: EvaluationCase): SQL {
  const setting = multiTurn ? JSON.stringify(multiTurn.setting) : null;
  return and(
    eq(evaluationCases.question, question),
    eq(evaluationCases.previous, previous),
    sql`${evaluationCases.expect} -> '$.rehearsal.setting' IS ${setting}`,
  )!;
}

function countUnfinished(workspaceId: string): SQL {
  return sql`(SELECT count(*) FROM ${evaluations} WHERE workspace_id = ${workspaceId} AND ${IS_UNFINISHED})`;
}

/** The condition has no bound values, because SQLite could not use the partial index on these statuses with them. */
const IS_UNFINISHED = sql`status IN ('pending', 'running')`;

/** One page of an agent's evaluations, newest first. */
export function listEvaluations(db: Database, workspaceId: string, agentId: string, { limit, offset }: { limit: number; offset: number }) {
  return db
    .select()
    .from(evaluations)
    .where(isOfAgent(evaluations, { workspaceId, agentId }))
    .orderBy(desc(evaluations.id))
    .limit(limit)
    .offset(offset);
}

export function countEvaluations(db: Database, workspaceId: string, agentId: string) {
  return db.select({ count: count() }).from(evaluations).where(isOfAgent(evaluations, { workspaceId, agentId }));
}

/** The evaluation, if it is the agent's. */
export function findEvaluation(db: Database, workspaceId: string, agentId: string, evaluationId: string) {
  return db
    .select()
    .from(evaluations)
    .where(and(eq(evaluations.id, evaluationId), isOfAgent(evaluations, { workspaceId, agentId })));
}

/** The cases of an evaluation, in their order. */
export function listCases(db: Database, key: EvaluationKey) {
  return db.select().from(evaluationCases).where(isOf(key)).orderBy(asc(evaluationCases.position));
}

/** The first cases that have not run. */
export function listNextCases(db: Database, key: EvaluationKey, limit: number) {
  return db
    .select()
    .from(evaluationCases)
    .where(and(isOf(key), isNull(evaluationCases.verdict)))
    .orderBy(asc(evaluationCases.position))
    .limit(limit);
}

/** The claim of a consumer on an evaluation. It ends at `untilMs`. */
export interface Lease {
  leaseId: string;
  untilMs: number;
}

/** Claims an unfinished evaluation whose lease is free or has ended, unless the workspace is deleted. */
export function claimEvaluation(db: Database, key: EvaluationKey, { leaseId, untilMs }: Lease, nowMs: number) {
  const { leaseUntil, startedAt } = evaluations;
  return db
    .update(evaluations)
    .set({
      status: "running",
      leaseId,
      leaseUntil: untilMs,
      startedAt: sql`coalesce(${startedAt}, ${nowMs})`,
      updatedAt: nowMs,
    })
    .where(and(isEvaluation(key), IS_UNFINISHED, or(isNull(leaseUntil), lt(leaseUntil, nowMs)), workspaceExists(key.workspaceId)))
    .returning();
}

/** The result of a case. */
export type CaseResult = Pick<
  typeof evaluationCases.$inferSelect,
  "position" | "verdict" | "answer" | "confidence" | "sourceFound" | "trace"
>;

/**
 * Stores and counts results, if the lease is still held. With the last result the evaluation is complete.
 * @returns the writes of the cases, and the statement that follows them: it returns the evaluation if the lease was held.
 */
export function recordResults(
  db: Database,
  key: EvaluationKey,
  results: readonly CaseResult[],
  { leaseId, untilMs }: Lease,
  nowMs: number,
) {
  const { workspaceId, evaluationId } = key;
  const isHeld = exists(evaluations, eq(evaluations.id, evaluationId), eq(evaluations.leaseId, leaseId));
  const cases = sql`FROM ${evaluationCases} WHERE workspace_id = ${workspaceId} AND evaluation_id = ${evaluationId}`;
  const isLeft = sql`EXISTS (SELECT 1 ${cases} AND verdict IS NULL)`;
  return {
    writes: results.map(({ position, ...result }) =>
      db
        .update(evaluationCases)
        .set(result)
        .where(and(isOf(key), eq(evaluationCases.position, position), isNull(evaluationCases.verdict), isHeld)),
    ),
    end: db
      .update(evaluations)
      .set({
        verdicts: countVerdicts(key),
        status: sql`CASE WHEN ${isLeft} THEN 'running' ELSE 'completed' END`,
        completedAt: sql`CASE WHEN NOT ${isLeft} THEN ${nowMs} END`,
        leaseUntil: untilMs,
        updatedAt: nowMs,
      })
      .where(and(isEvaluation(key), eq(evaluations.leaseId, leaseId), IS_UNFINISHED))
      .returning(),
  };
}

/** Ends a lease, so that the next consumer need not wait until it expires. */
export function releaseEvaluation(db: Database, key: EvaluationKey, leaseId: string) {
  return db
    .update(evaluations)
    .set({ leaseId: null, leaseUntil: null })
    .where(and(isEvaluation(key), eq(evaluations.leaseId, leaseId)));
}

/** Marks an unfinished evaluation as failed. */
export function failEvaluationRow(db: Database, key: EvaluationKey, error: string, nowMs: number) {
  return db
    .update(evaluations)
    .set({ status: "failed", error, leaseId: null, leaseUntil: null, completedAt: nowMs, updatedAt: nowMs })
    .where(and(isEvaluation(key), IS_UNFINISHED));
}

/** Unfinished evaluations that nobody has worked on since `beforeMs`, one workspace after the other. */
export function listStrandedEvaluations(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const { id, workspaceId, leaseUntil, updatedAt } = evaluations;
  const isFree = or(isNull(leaseUntil), lt(leaseUntil, nowMs));
  const where = and(lt(updatedAt, beforeMs), isFree, importCompleted(workspaceId));
  return db
    .select({ workspaceId, evaluationId: id })
    .from(evaluations)
    .where(isNextInTurn(WAITING.evaluations, where, limit));
}

/** Deletes one evaluation of an agent, or all of them. One that runs is cancelled. */
export function eraseEvaluations(db: Database, workspaceId: string, agentId: string, evaluationId?: string) {
  const isErased = and(
    isOfAgent(evaluations, { workspaceId, agentId }),
    evaluationId === undefined ? undefined : eq(evaluations.id, evaluationId),
  );
  const erased = db.select({ id: evaluations.id }).from(evaluations).where(isErased);
  return [
    db.delete(evaluationCases).where(and(eq(evaluationCases.workspaceId, workspaceId), inArray(evaluationCases.evaluationId, erased))),
    db.delete(evaluations).where(isErased).returning({ id: evaluations.id }),
  ] as const;
}

/** SQL: how many cases of an evaluation have each verdict, as JSON. */
function countVerdicts({ workspaceId, evaluationId }: EvaluationKey): SQL {
  const counted = sql`SELECT verdict, count(*) AS cases FROM ${evaluationCases}
    WHERE workspace_id = ${workspaceId} AND evaluation_id = ${evaluationId} AND verdict IS NOT NULL GROUP BY verdict`;
  return sql`(SELECT json_group_object(verdict, cases) FROM (${counted}))`;
}

function isEvaluation({ workspaceId, evaluationId }: EvaluationKey): SQL {
  return isOwn(evaluations, workspaceId, evaluationId);
}

function isOf({ workspaceId, evaluationId }: EvaluationKey): SQL {
  return and(eq(evaluationCases.workspaceId, workspaceId), eq(evaluationCases.evaluationId, evaluationId))!;
}
