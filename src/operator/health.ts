import { MAIL_REMEDIES } from "../email/outbound.ts";
import { REASONING_ONLY } from "../models/reasoning.ts";
import { searchModel } from "../models/retrieval-models.ts";
import { boundDatabases } from "../platform/db/bindings.ts";
import { bindingName } from "../platform/db/shard-map.ts";
import { type Database, wholeDatabase } from "../platform/db/client.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, withTimeout } from "../platform/time.ts";
import { findWaitingWork, listModelFailures, listRefusedMails, type WaitingWork, WORK_KINDS, type WorkKind } from "./health-store.ts";

/** A database or queue that takes longer counts as unreachable, because monitors do not wait for long. */
const TIMEOUT_MS = 5_000;

export type Health = Awaited<ReturnType<typeof readHealth>>;

/** Reads the health of the databases and queues, and of the work that waits in them, in one round trip to each database. */
export async function readHealth(env: Env, meter: Meter, nowMs: number) {
  const [databases, queues] = await Promise.all([
    Promise.all(boundDatabases(env).map((database) => readDatabase(wholeDatabase(env, database, meter), database, nowMs))),
    Promise.all(QUEUE_NAMES.map(async (queue) => checkQueue(queue, await readBacklog(queue, env[queue])))),
  ]);
  const reached = databases.flatMap(({ found }) => (found ? [found] : []));
  const work = WORK_KINDS.map((kind, at) => {
    const waiting = reached.map((results) => results.work[at]!);
    return checkWork(kind, waiting, nowMs);
  });
  const faults = joinFaults(reached.flatMap((results) => results.faults));
  const isReachable = reached.length === databases.length;
  const isOk = isReachable && [...queues, ...work, ...faults].every((one) => one.isOk);
  return { databases, queues, work, faults, searchModel: searchModel(env), isReachable, isOk };
}

/**
 * Reads a database's response time, the work that waits in it, in the order of `WORK_KINDS`, and its faults. `found` is undefined if the
 * database cannot be reached.
 */
async function readDatabase(db: Database, database: number, nowMs: number) {
  const startedAtMs = Date.now();
  let found: { work: WaitingWork[]; faults: Fault[] } | undefined;
  try {
    const waiting = WORK_KINDS.map((kind) => findWaitingWork(db, kind, nowMs));
    const faulty = [listRefusedMails(db, nowMs), listModelFailures(db, nowMs - MODEL_FAILURES_MS)] as const;
    const [mails, failures, ...work] = await withTimeout(TIMEOUT_MS, db.batch([...faulty, ...waiting]), "A database");
    const faults = [
      ...mails.map((mail) => ({ part: "mail" as const, remedy: MAIL_REMEDIES[mail.error]!, ...mail })),
      ...failures.map((failure) => ({ part: "model" as const, remedy: modelRemedy(failure.error), ...failure })),
    ];
    found = { work: work.map(([one]) => one!), faults };
  } catch (error) {
    logProblem("database_unreachable", { database: bindingName(database) }, error);
  }
  return { database, durationMs: Date.now() - startedAtMs, found };
}

/** The faults that need an operator. */
interface Fault {
  part: (typeof FAULTY_PARTS)[number];
  error: string;
  /** How often it happened, and since when. */
  count: number;
  sinceMs: number;
  remedy: string;
}

export const FAULTY_PARTS = ["mail", "model"] as const;
/** Failures of models are reported for this time. */
const MODEL_FAILURES_MS = HOUR_MS;
/** A call of a model may fail now and then, so this many failures of a kind are healthy. */
const ALLOWED_MODEL_FAILURES = 2;

function modelRemedy(error: string): string {
  return error === REASONING_ONLY
    ? "The model uses up its tokens by reasoning, even when it is told not to. Choose another model."
    : "See the events model_failure in the log, and check the model's server, its key and the names of the models.";
}

/** Merges the faults of all databases into one fault for each error. */
function joinFaults(faults: readonly Fault[]) {
  const byError = Map.groupBy(faults, ({ part, error }) => `${part} ${error}`);
  return [...byError.values()].map((same) => {
    const count = same.reduce((sum, fault) => sum + fault.count, 0);
    const sinceMs = Math.min(...same.map((fault) => fault.sinceMs));
    return { ...same[0]!, count, sinceMs, isOk: same[0]!.part === "model" && count <= ALLOWED_MODEL_FAILURES };
  });
}

async function readBacklog(queue: QueueName, binding: Queue): Promise<Backlog | null> {
  try {
    const metrics = await withTimeout(TIMEOUT_MS, binding.metrics(), "A queue");
    // An empty queue reports the Unix epoch as its oldest message's time, or none.
    const oldestAtMs = Number(metrics.oldestMessageTimestamp ?? 0) || null;
    return { messages: metrics.backlogCount, oldestAtMs: metrics.backlogCount > 0 ? oldestAtMs : null };
  } catch (error) {
    logProblem("queue_unknown", { queue }, error);
    return null;
  }
}

/** The sweep rescues lost work every minute, so work that has waited for ten minutes is stuck. */
const STUCK_AFTER_MS = 10 * MINUTE_MS;
/** The erasure of a person takes a few steps. If it is interrupted, it is resumed after five minutes. */
const PERSON_ERASURE_MS = HOUR_MS;
/** A million conversations, each with its Durable Object, take hours. */
const WORKSPACE_ERASURE_MS = DAY_MS;
/** A consumer that keeps up empties its queue within seconds. */
const MAX_MESSAGES = 10_000;

/** How long the oldest work of a kind may wait; null if any wait is healthy. */
const ALLOWED_MS: Record<WorkKind, number | null> = {
  deliveries: STUCK_AFTER_MS,
  // Deliveries of one failing or slow endpoint are sent two at a time, so they wait for each other.
  slow_deliveries: null,
  mails: STUCK_AFTER_MS,
  sources: STUCK_AFTER_MS,
  syncs: STUCK_AFTER_MS,
  idle_conversations: STUCK_AFTER_MS,
  workspace_erasures: WORKSPACE_ERASURE_MS,
  person_erasures: PERSON_ERASURE_MS,
  webhook_erasures: WORKSPACE_ERASURE_MS,
};

/** How many messages may wait in each queue, by its binding, which is the same in every environment; null if any number is healthy. */
const ALLOWED_MESSAGES = {
  INGESTION_QUEUE: MAX_MESSAGES,
  CRAWL_QUEUE: MAX_MESSAGES,
  ERASURE_QUEUE: MAX_MESSAGES,
  EMAIL_QUEUE: MAX_MESSAGES,
  DELIVERY_QUEUE: MAX_MESSAGES,
  // Retries of slow deliveries wait for hours.
  SLOW_DELIVERY_QUEUE: null,
} as const;

type QueueName = keyof typeof ALLOWED_MESSAGES;

export const QUEUE_NAMES = Object.keys(ALLOWED_MESSAGES) as QueueName[];

/** A queue's backlog. */
interface Backlog {
  messages: number;
  oldestAtMs: number | null;
}

/** Adds up the work of one kind that waits in all databases, and checks whether the oldest has waited too long. */
export function checkWork(kind: WorkKind, waiting: readonly WaitingWork[], nowMs: number) {
  const count = waiting.reduce((sum, one) => sum + one.count, 0);
  const [oldest] = waiting.filter(({ sinceMs }) => sinceMs !== null).sort((a, b) => a.sinceMs! - b.sinceMs!);
  const ageMs = oldest ? Math.max(0, nowMs - oldest.sinceMs!) : 0;
  const allowedMs = ALLOWED_MS[kind];
  return { kind, count, oldest, ageMs, allowedMs, isOk: allowedMs === null || ageMs <= allowedMs };
}

/** Checks whether a queue's backlog is small enough. An unknown backlog counts as healthy. */
export function checkQueue(queue: QueueName, backlog: Backlog | null) {
  const allowedMessages = ALLOWED_MESSAGES[queue];
  return { queue, backlog, allowedMessages, isOk: allowedMessages === null || (backlog?.messages ?? 0) <= allowedMessages };
}
