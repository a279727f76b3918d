import type { Cost } from "../meter.ts";
import { type Fields, log, logProblem, logRarely } from "./log.ts";
import { toDataPoint } from "./metrics.ts";

interface Told {
  /** Null where there is none, or it is not known. */
  workspaceId: string | null;
  durationMs: number;
  cost: Cost;
  /** What else its line says. */
  fields?: Fields;
}

/** A request and how it was answered. */
interface RequestReport extends Told {
  event: "request";
  /** The operation's id in the contract; null where the path has none. */
  operation: string | null;
  surface: string | null;
  keyId: string | null;
  status: number;
  /** The code of the error that it was answered with. */
  errorCode: string | null;
}

/** A piece of work that no request waits for, or that outlives its request. */
interface JobReport extends Told {
  event: "job";
  job: Job;
  /** "failed", or what the work says of itself. */
  outcome: string;
  /** Which try this was, from 1. */
  attempts: number;
  /** How many messages it was about. */
  messages: number;
  /** What it failed with. */
  error?: unknown;
}

/** Every kind of job there is; that of a queue's messages is the queue's name without the service's. */
export type Job =
  | "ingestion"
  | "ingestion-dlq"
  | "crawls"
  | "crawls-dlq"
  | "erasure"
  | "erasure-dlq"
  | "deliveries"
  | "slow-deliveries"
  | "deliveries-dlq"
  | "email"
  | "email-dlq"
  /** A mail came. */
  | "email_arrival"
  /** One attempt of a webhook's delivery. */
  | "webhook_attempt"
  /** One run of a conversation's turn. */
  | "turn"
  /** A conversation's object takes up turns that were left. */
  | "session_alarm"
  /** An agent's index brings its vectors up to its chunks. */
  | "index_alarm"
  /** What cron does each minute. */
  | "sweep";

export type Report = RequestReport | JobReport;

/** Tells of a request or a job that has ended: one line in the log and one data point. It never throws. */
export function report(env: Pick<Env, "METRICS">, told: Report): void {
  const fields = toFields(told);
  if (told.event === "job" && told.error !== undefined) logProblem(told.event, fields, told.error);
  else log(told.event, fields);
  try {
    env.METRICS.writeDataPoint(toDataPoint(told));
  } catch (error) {
    logRarely("metrics_failed", {}, error);
  }
}

function toFields(told: Report): Fields {
  const { workspaceId, durationMs, cost, fields } = told;
  const spent = {
    duration_ms: durationMs,
    object_hops: cost.objectHops,
    d1_trips: cost.d1Trips,
    rows_read: cost.rowsRead,
    rows_written: cost.rowsWritten,
  };
  if (told.event === "request") {
    const { operation, surface, keyId, status, errorCode } = told;
    return { operation, status, error_code: errorCode, surface, workspace_id: workspaceId, key_id: keyId, ...fields, ...spent };
  }
  const { job, outcome, attempts, messages } = told;
  return { job, outcome, attempts, messages, workspace_id: workspaceId, ...fields, ...spent };
}
