import { findAgent } from "../agents/store.ts";
import { announce } from "../events/live-channel.ts";
import type { Model } from "../models/model.ts";
import { modelFor } from "../grounded/model-for.ts";
import { isBoundShard } from "../platform/db/bindings.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import { transact } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { Meter } from "../platform/telemetry/meter.ts";
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

/** A wake-up: run the next cases of an evaluation. */
export type EvaluationMessage = EvaluationKey;

/** Cases that run at once: visitors' questions need the model too. */
const CASES_PER_STEP = 3;
/** A wake-up that has worked so long sends the next one. */
const RUN_MS = 15_000;
/** Longer than a step: an answer takes at most a minute and a half. */
const LEASE_MS = 5 * 60_000;

/** After "goes_on" it has sent another wake-up. */
type Outcome = "nothing_to_do" | "goes_on" | "completed";

/**
 * Runs the next cases of an evaluation, step by step. A step that dies or fails has stored nothing, so that the next one runs its
 * cases again; what a consumer without its lease finds out is dropped.
 * @throws Error where a step fails: the queue tries it again.
 */
export async function continueEvaluation(
  env: Env,
  { workspaceId, evaluationId }: EvaluationMessage,
  meter = new Meter(),
  model = modelFor(env),
): Promise<Outcome> {
  if (!isBoundShard(env, workspaceId)) return "nothing_to_do";
  const key = { workspaceId, evaluationId };
  const op = newOperation(env, meter, workspaceId);
  const { db } = op;
  const leaseId = crypto.randomUUID();
  const startedMs = Date.now();
  const [[evaluation]] = await db.batch([claimEvaluation(db, key, leaseOf(leaseId, startedMs), startedMs)]);
  if (!evaluation) return "nothing_to_do";
  const step = { op, model, key, agentId: evaluation.agentId, leaseId };
  try {
    let outcome: Outcome = "goes_on";
    while (outcome === "goes_on" && Date.now() - startedMs < RUN_MS) {
      outcome = await runStep(step);
      announce(env, workspaceId, { kind: "evaluation", id: evaluationId });
    }
    if (outcome !== "goes_on") return outcome;
  } catch (error) {
    await db.batch([releaseEvaluation(db, key, leaseId)]);
    throw error;
  }
  await db.batch([releaseEvaluation(db, key, leaseId)]);
  await wakeEvaluation(env, key);
  return "goes_on";
}

interface Step {
  op: Operation;
  model: Model;
  key: EvaluationKey;
  agentId: string;
  leaseId: string;
}

async function runStep({ op, model, key, agentId, leaseId }: Step): Promise<Outcome> {
  const { db } = op;
  const [[agent], cases] = await db.batch([findAgent(db, key.workspaceId, agentId), listNextCases(db, key, CASES_PER_STEP)]);
  // Deleted, with its evaluations.
  if (!agent) return "nothing_to_do";
  const results = await Promise.all(cases.map((one) => runCase(op, model, agent, one)));
  const nowMs = Date.now();
  const { writes, end } = recordResults(db, key, results, leaseOf(leaseId, nowMs), nowMs);
  const {
    after: [[recorded]],
  } = await transact(db, { writes, after: [end] });
  if (!recorded) return "nothing_to_do";
  return recorded.status === "completed" ? "completed" : "goes_on";
}

function leaseOf(leaseId: string, nowMs: number): Lease {
  return { leaseId, untilMs: nowMs + LEASE_MS };
}

/** Ends an evaluation whose steps keep failing. */
export async function failEvaluation(env: Env, { workspaceId, evaluationId }: EvaluationMessage, meter = new Meter()): Promise<void> {
  if (!isBoundShard(env, workspaceId)) return;
  const { db, nowMs } = newOperation(env, meter, workspaceId);
  const error = "It kept failing on our side. What has run is kept; run it again for the rest.";
  await db.batch([failEvaluationRow(db, { workspaceId, evaluationId }, error, nowMs)]);
  announce(env, workspaceId, { kind: "evaluation", id: evaluationId });
}

/** Sends the wake-up for an evaluation. */
export function wakeEvaluation(env: Env, key: EvaluationKey): Promise<void> {
  return sendWakeUps(env.CRAWL_QUEUE, [key satisfies EvaluationMessage]);
}
