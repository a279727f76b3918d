import { Meter } from "../meter.ts";
import type { Fields } from "./log.ts";
import { type Job, report } from "./report.ts";

/** What is known of a job before it begins. */
export interface JobHead {
  job: Job;
  workspaceId?: string | null;
  /** Which try this is, from 1. */
  attempts?: number;
  /** How many messages it is about. */
  messages?: number;
  fields?: Fields;
}

/** What a job may add to its line when it has ended. */
export interface JobEnd {
  outcome?: string;
  fields?: Fields;
}

/**
 * Does a job and reports it, whether it ends or throws.
 * @param meter what it spends; the caller's own where somebody else is told of it too.
 * @throws what the work throws, once it is reported.
 */
export async function measureJob<Result>(
  env: Env,
  head: JobHead,
  work: (meter: Meter) => Promise<Result>,
  endOf: (result: Result) => JobEnd = () => ({}),
  meter: Meter = new Meter(),
): Promise<Result> {
  const startedAtMs = Date.now();
  const tell = (end: JobEnd & { error?: unknown }) => {
    const { job, workspaceId = null, attempts = 1, messages = 0 } = head;
    const { outcome = "done", fields, ...failure } = end;
    const spent = { durationMs: Date.now() - startedAtMs, cost: meter.cost };
    report(env, {
      event: "job",
      job,
      outcome,
      attempts,
      messages,
      workspaceId,
      ...spent,
      fields: { ...head.fields, ...fields },
      ...failure,
    });
  };
  let result: Result;
  try {
    result = await work(meter);
  } catch (error) {
    tell({ outcome: "failed", error: error ?? "nothing" });
    throw error;
  }
  tell(endOf(result));
  return result;
}
