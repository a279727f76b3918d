import { type Fields, log, logProblem, logRarely } from "./log.ts";
import { type Cost, Meter } from "./meter.ts";

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

/*
 * The columns of the Analytics Engine dataset, in their order: BLOBS[0] is blob1, DOUBLES[0] is double1. Queries name them by
 * number, so new ones go to the end, and none changes its place. The platform takes 20 of each a point, 16 KB of blobs, and
 * 250 points an invocation: a request or job writes one.
 */

/** `index1`, by which the platform samples: each workspace's own figures stay exact where all together are many. */
const INDEX = "workspace_id";
const BLOBS = ["event", "name", "outcome", "surface", "key_id", "error_code"] as const;
const DOUBLES = ["duration_ms", "object_hops", "d1_trips", "rows_read", "rows_written", "attempts", "messages"] as const;

/** The columns by their names, for queries: `{ duration_ms: "double1", … }`. */
export const COLUMNS: Readonly<Record<string, string>> = Object.fromEntries([
  [INDEX, "index1"],
  ...BLOBS.map((name, at) => [name, `blob${at + 1}`]),
  ...DOUBLES.map((name, at) => [name, `double${at + 1}`]),
]);

/** A point with a longer index is refused; ours are UUIDs. */
const MAX_INDEX_BYTES = 96;
/** Our own words and identifiers are shorter. What is not ours does not come here, and would be cut. */
const MAX_BLOB_LENGTH = 128;

/** What is measured of a request or job; an empty text stands for what there is not. */
export function toDataPoint(told: Report): AnalyticsEngineDataPoint {
  const { durationMs, cost, workspaceId } = told;
  const isRequest = told.event === "request";
  const blobs: Record<(typeof BLOBS)[number], string | null> = {
    event: told.event,
    name: isRequest ? told.operation : told.job,
    outcome: isRequest ? String(told.status) : told.outcome,
    surface: isRequest ? told.surface : null,
    key_id: isRequest ? told.keyId : null,
    error_code: isRequest ? told.errorCode : null,
  };
  const doubles: Record<(typeof DOUBLES)[number], number> = {
    duration_ms: durationMs,
    object_hops: cost.objectHops,
    d1_trips: cost.d1Trips,
    rows_read: cost.rowsRead,
    rows_written: cost.rowsWritten,
    attempts: isRequest ? 1 : told.attempts,
    messages: isRequest ? 0 : told.messages,
  };
  return {
    indexes: [(workspaceId ?? "").slice(0, MAX_INDEX_BYTES)],
    blobs: BLOBS.map((name) => (blobs[name] ?? "").slice(0, MAX_BLOB_LENGTH)),
    doubles: DOUBLES.map((name) => doubles[name]),
  };
}

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
