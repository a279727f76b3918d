import type { Fields } from "./log.ts";
import { Meter } from "./meter.ts";
import { type Job, report } from "./report.ts";

/** What is known of a job before it begins. */
export interface JobContext {
  job: Job;
  workspaceId?: string | null;
  /** Which try this is, from 1. */
  attempts?: number;
  /** How many messages it is about. */
  messages?: number;
  fields?: Fields;
}

/** What a job may add to its line when it has ended. */
export interface JobResult {
  outcome?: string;
  /** Whose it turned out to be. */
  workspaceId?: string;
  fields?: Fields;
}

/**
 * Does a job and reports it, whether it ends or throws.
 * @param meter what it spends; the caller's own where somebody else is told of it too.
 * @throws what the work throws, once it is reported.
 */
export async function measureJob<Result>(
  env: Env,
  head: JobContext,
  work: (meter: Meter) => Promise<Result>,
  endOf: (result: Result) => JobResult = () => ({}),
  meter: Meter = new Meter(),
): Promise<Result> {
  const startedAtMs = Date.now();
  const { job, attempts = 1, messages = 0 } = head;
  const tell = ({ outcome = "done", error, ...end }: JobResult & { error?: unknown }) => {
    const workspaceId = end.workspaceId ?? head.workspaceId ?? null;
    const fields = { ...head.fields, ...end.fields };
    const durationMs = Date.now() - startedAtMs;
    report(env, { event: "job", job, outcome, attempts, messages, workspaceId, durationMs, cost: meter.cost, fields, error });
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
