import { findAgent } from "../agents/store.ts";
import { findVersion } from "../agents/version-store.ts";
import { withVersion } from "../agents/versions.ts";
import { announce } from "../events/live-channel.ts";
import type { Model } from "../models/model.ts";
import { modelFor } from "../grounded/engine.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import type { evaluations } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { redactionOf } from "../redaction/redaction.ts";
import { findRedaction } from "../redaction/store.ts";
import { runCase } from "./run-case.ts";
import {
  claimEvaluation,
  type EvaluationKey,
  failEvaluationRow,
  type Lease,
  listNextCases,
  recordResults,
  releaseEvaluation,
} from "./store.ts";

/** How many cases run at once. Few, since visitors' questions need the model too. */
const CASES_PER_STEP = 3;
/** The time after which a wake-up sends another one and ends. */
const RUN_MS = 15_000;
/** The lease is longer than a step takes. An answer takes at most a minute and a half. */
const LEASE_MS = 5 * MINUTE_MS;

/** No version has this number. */
const NO_VERSION = -1;

/** The result of a wake-up; with "goes_on" it has sent the next one. */
type Outcome = "nothing_to_do" | "goes_on" | "completed";

/**
 * Handles the wake-up of an evaluation: runs its next cases, step by step. A step that dies or fails has stored nothing, so the next
 * wake-up runs its cases again. Results of a consumer that has lost its lease are dropped.
 * @throws Error if a step fails; the queue then repeats the wake-up.
 */
export async function continueEvaluation(
  env: Env,
  { workspaceId, evaluationId }: EvaluationKey,
  meter = new Meter(),
  model = modelFor(env),
): Promise<Outcome> {
  if (!hasDatabase(env, workspaceId)) return "nothing_to_do";
  const key = { workspaceId, evaluationId };
  const op = newOperation(env, meter, workspaceId);
  const { db } = op;
  const leaseId = crypto.randomUUID();
  const startedMs = Date.now();
  const [[evaluation]] = await db.batch([claimEvaluation(db, key, leaseOf(leaseId, startedMs), startedMs)]);
  if (!evaluation) return "nothing_to_do";
  const step = { op, model, key, evaluation, leaseId };
  let outcome: Outcome = "goes_on";
  try {
    while (outcome === "goes_on" && Date.now() - startedMs < RUN_MS) {
      outcome = await runStep(step);
      announce(env, workspaceId, { kind: "evaluation", id: evaluationId });
    }
  } finally {
    if (outcome === "goes_on") await db.batch([releaseEvaluation(db, key, leaseId)]);
  }
  if (outcome === "goes_on") await wakeEvaluation(env, key);
  return outcome;
}

interface Step {
  op: Operation;
  model: Model;
  key: EvaluationKey;
  evaluation: Pick<typeof evaluations.$inferSelect, "agentId" | "version">;
  leaseId: string;
}

async function runStep({ op, model, key, evaluation, leaseId }: Step): Promise<Outcome> {
  const { db } = op;
  const { agentId, version: number } = evaluation;
  const { workspaceId } = key;
  const [[published], [settings], cases, [version]] = await db.batch([
    findAgent(db, workspaceId, agentId),
    findRedaction(db, workspaceId),
    listNextCases(db, key, CASES_PER_STEP),
    findVersion(db, { workspaceId, agentId }, { number: number ?? NO_VERSION }),
  ]);
  // The agent has been deleted, and its evaluations with it.
  if (!published) return "nothing_to_do";
  const agent = withVersion(published, version ?? null);
  const redact = (await redactionOf(op.env, workspaceId, settings?.redaction ?? {}))?.text;
  const results = await Promise.all(cases.map((one) => runCase({ op, model, agent, redact }, one)));
  const nowMs = Date.now();
  const { writes, end } = recordResults(db, key, results, leaseOf(leaseId, nowMs), nowMs);
  const { after } = await transact(db, { writes, after: [end] });
  const [[recorded]] = after;
  if (!recorded) return "nothing_to_do";
  return recorded.status === "completed" ? "completed" : "goes_on";
}

function leaseOf(leaseId: string, nowMs: number): Lease {
  return { leaseId, untilMs: nowMs + LEASE_MS };
}

/** Ends an evaluation whose steps keep failing. */
export async function failEvaluation(env: Env, { workspaceId, evaluationId }: EvaluationKey, meter = new Meter()): Promise<void> {
  if (!hasDatabase(env, workspaceId)) return;
  const { db, nowMs } = newOperation(env, meter, workspaceId);
  const error = "The evaluation failed repeatedly on our side. Its results so far are kept: run it again for the other cases.";
  await db.batch([failEvaluationRow(db, { workspaceId, evaluationId }, error, nowMs)]);
  announce(env, workspaceId, { kind: "evaluation", id: evaluationId });
}

/** Sends the wake-up for an evaluation. */
export function wakeEvaluation(env: Env, key: EvaluationKey): Promise<void> {
  return sendWakeUps(env.CRAWL_QUEUE, [key]);
}
