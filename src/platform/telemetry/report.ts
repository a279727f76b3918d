import { type Fields, log, logProblem, logRarely } from "./log.ts";
import { type Cost, Meter } from "./meter.ts";

interface CommonFields {
  /** Null if there is none or it is unknown. */
  workspaceId: string | null;
  durationMs: number;
  cost: Cost;
  /** Further fields of the log line. */
  fields?: Fields;
}

interface RequestReport extends CommonFields {
  event: "request";
  /** The operation's id in the contract; null if the path has none. */
  operation: string | null;
  surface: string | null;
  keyId: string | null;
  status: number;
  /** The code of the error in the response. */
  errorCode: string | null;
}

/** Work that no request waits for, or that outlives its request. */
interface JobReport extends CommonFields {
  event: "job";
  job: Job;
  /** "done", "failed", or an outcome of this kind of job. */
  outcome: string;
  /** The number of this attempt, from 1. */
  attempts: number;
  /** The number of its queue messages. */
  messages: number;
  error?: unknown;
}

/** Every kind of job; the name of a queue ends with that of the job that handles its messages. */
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
  /** An inbound mail. */
  | "inbound_email"
  /** One attempt of a webhook delivery. */
  | "webhook_attempt"
  /** One run of a conversation's turn. */
  | "turn"
  /** A conversation's object resumes unfinished turns. */
  | "session_alarm"
  /** An agent's index syncs its vectors with its chunks. */
  | "index_alarm"
  /** A workspace's index of conversations reads more than a search waits for. */
  | "conversation_index"
  /** The cron job of each minute. */
  | "sweep";

export type Report = RequestReport | JobReport;

/** Reports a finished request or job: one log line, and one data point where the deployment has metrics. Never throws. */
export function report(env: Partial<Pick<Env, "METRICS">>, reported: Report): void {
  const fields = toFields(reported);
  if (reported.event === "job" && reported.error !== undefined) logProblem(reported.event, fields, reported.error);
  else log(reported.event, fields);
  try {
    env.METRICS?.writeDataPoint(toDataPoint(reported));
  } catch (error) {
    logRarely("metrics_failed", {}, error);
  }
}

function toFields(reported: Report): Fields {
  const { workspaceId, durationMs, cost, fields } = reported;
  const spent = {
    duration_ms: durationMs,
    object_hops: cost.objectHops,
    d1_trips: cost.d1Trips,
    rows_read: cost.rowsRead,
    rows_written: cost.rowsWritten,
  };
  if (reported.event === "request") {
    const { operation, surface, keyId, status, errorCode } = reported;
    return { operation, status, error_code: errorCode, surface, workspace_id: workspaceId, key_id: keyId, ...fields, ...spent };
  }
  const { job, outcome, attempts, messages } = reported;
  return { job, outcome, attempts, messages, workspace_id: workspaceId, ...fields, ...spent };
}

/*
 * The columns of the Analytics Engine dataset in order: BLOBS[0] is blob1, DOUBLES[0] is double1. Queries refer to them by
 * number, so new ones are appended and none ever moves. A point holds at most 20 of each and 16 KB of blobs.
 */

/** `index1`, by which the platform samples: a workspace's own figures stay accurate when there are many workspaces. */
const INDEX = "workspace_id";
const BLOBS = ["event", "name", "outcome", "surface", "key_id", "error_code"] as const;
const DOUBLES = ["duration_ms", "object_hops", "d1_trips", "rows_read", "rows_written", "attempts", "messages"] as const;

/** The dataset's columns by name, for queries: `{ duration_ms: "double1", … }`. */
export const COLUMNS: Readonly<Record<string, string>> = Object.fromEntries([
  [INDEX, "index1"],
  ...BLOBS.map((name, at) => [name, `blob${at + 1}`]),
  ...DOUBLES.map((name, at) => [name, `double${at + 1}`]),
]);

/** A point with a longer index is rejected. */
const MAX_INDEX_BYTES = 96;
/** This is longer than any name or id. */
const MAX_BLOB_LENGTH = 128;

/** Returns the data point of a request or job; missing values are empty texts. */
export function toDataPoint(reported: Report): AnalyticsEngineDataPoint {
  const { durationMs, cost, workspaceId } = reported;
  const isRequest = reported.event === "request";
  const blobs: Record<(typeof BLOBS)[number], string | null> = {
    event: reported.event,
    name: isRequest ? reported.operation : reported.job,
    outcome: isRequest ? String(reported.status) : reported.outcome,
    surface: isRequest ? reported.surface : null,
    key_id: isRequest ? reported.keyId : null,
    error_code: isRequest ? reported.errorCode : null,
  };
  const doubles: Record<(typeof DOUBLES)[number], number> = {
    duration_ms: durationMs,
    object_hops: cost.objectHops,
    d1_trips: cost.d1Trips,
    rows_read: cost.rowsRead,
    rows_written: cost.rowsWritten,
    attempts: isRequest ? 1 : reported.attempts,
    messages: isRequest ? 0 : reported.messages,
  };
  return {
    indexes: [(workspaceId ?? "").slice(0, MAX_INDEX_BYTES)],
    blobs: BLOBS.map((name) => (blobs[name] ?? "").slice(0, MAX_BLOB_LENGTH)),
    doubles: DOUBLES.map((name) => doubles[name]),
  };
}

/** The description of a job before it starts. */
export interface JobContext {
  job: Job;
  workspaceId?: string | null;
  /** The number of this attempt, from 1. */
  attempts?: number;
  /** The number of its queue messages. */
  messages?: number;
  fields?: Fields;
}

/** What a finished job adds to its report. */
export interface JobResult {
  outcome?: string;
  /** Given if it was unknown before the job. */
  workspaceId?: string;
  fields?: Fields;
}

/**
 * Runs a job and reports it, whether it returns or throws.
 * @param meter counts its cost; a caller that needs the cost passes its own.
 * @throws the work's error, after it is reported.
 */
export async function measureJob<Result>(
  env: Env,
  context: JobContext,
  work: (meter: Meter) => Promise<Result>,
  resultOf: (result: Result) => JobResult = () => ({}),
  meter: Meter = new Meter(),
): Promise<Result> {
  const startedAtMs = Date.now();
  const { job, attempts = 1, messages = 0 } = context;
  const reportEnd = ({ outcome = "done", error, ...end }: JobResult & { error?: unknown }) => {
    const workspaceId = end.workspaceId ?? context.workspaceId ?? null;
    const fields = { ...context.fields, ...end.fields };
    const durationMs = Date.now() - startedAtMs;
    report(env, { event: "job", job, outcome, attempts, messages, workspaceId, durationMs, cost: meter.cost, fields, error });
  };
  let result: Result;
  try {
    result = await work(meter);
  } catch (error) {
    reportEnd({ outcome: "failed", error: error ?? "nothing" });
    throw error;
  }
  reportEnd(resultOf(result));
  return result;
}
