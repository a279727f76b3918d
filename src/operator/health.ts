import { boundShards, type Database, shardDb } from "../platform/db/client.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { withTimeout } from "../platform/time.ts";
import {
  findDeletedWorkspaces,
  findDueDeliveries,
  findDueMails,
  findDueSyncs,
  findErasures,
  findIdleConversations,
  findWaitingSources,
} from "./health-store.ts";

/** A database or queue that has not answered by then is taken for unreachable: a monitor does not wait for long. */
const PATIENCE_MS = 5_000;

/** A database's answer, and what waits in it. */
export interface DatabaseHealth {
  shard: number;
  durationMs: number;
  /** Undefined where it could not be reached. */
  work: Record<WorkKind, Waiting> | undefined;
}

export type Health = Awaited<ReturnType<typeof readHealth>>;

/** How the deployment is: its databases, its queues, and what waits in them. One trip to each database. */
export async function readHealth(env: Env, meter: Meter, nowMs: number) {
  const [databases, queues] = await Promise.all([
    Promise.all(boundShards(env).map((shard) => readDatabase(shardDb(env, shard, meter), shard, nowMs))),
    Promise.all(QUEUE_NAMES.map(async (queue) => judgeQueue(queue, await backlogOf(queue, queueOf(env, queue))))),
  ]);
  const reached = databases.flatMap(({ work }) => work ?? []);
  const work = WORK_KINDS.map((kind) =>
    judgeWork(
      kind,
      reached.map((one) => one[kind]),
      nowMs,
    ),
  );
  const isReachable = reached.length === databases.length;
  return { databases, queues, work, isReachable, isOk: isReachable && [...queues, ...work].every(({ isOk }) => isOk) };
}

async function readDatabase(db: Database, shard: number, nowMs: number): Promise<DatabaseHealth> {
  const startedAtMs = Date.now();
  const work = await answerOf("A database", findWork(db, nowMs), (error) => logProblem("database_unreachable", { shard }, error));
  return { shard, durationMs: Date.now() - startedAtMs, work };
}

async function findWork(db: Database, nowMs: number): Promise<Record<WorkKind, Waiting>> {
  const [deliveries, slow, mails, sources, syncs, idle, deleted, persons, logs] = await db.batch([
    findDueDeliveries(db, "fast", nowMs),
    findDueDeliveries(db, "slow", nowMs),
    findDueMails(db, nowMs),
    findWaitingSources(db, nowMs),
    findDueSyncs(db, nowMs),
    findIdleConversations(db, nowMs),
    findDeletedWorkspaces(db, nowMs),
    findErasures(db, "persons", nowMs),
    findErasures(db, "webhooks", nowMs),
  ]);
  // Each answers one row, whatever there is.
  return {
    deliveries: deliveries[0]!,
    slow_deliveries: slow[0]!,
    mails: mails[0]!,
    sources: sources[0]!,
    syncs: syncs[0]!,
    idle_conversations: idle[0]!,
    workspace_erasures: deleted[0]!,
    person_erasures: persons[0]!,
    webhook_erasures: logs[0]!,
  };
}

async function backlogOf(queue: QueueName, binding: Queue): Promise<Backlog | null> {
  const metrics = await answerOf(
    "A queue",
    Promise.resolve().then(() => binding.metrics()),
    (error) => logProblem("queue_unknown", { queue }, error),
  );
  if (!metrics) return null;
  // An empty queue tells the beginning of time, or nothing.
  const oldestAtMs = Number(metrics.oldestMessageTimestamp ?? 0) || null;
  return { messages: metrics.backlogCount, oldestAtMs: metrics.backlogCount > 0 ? oldestAtMs : null };
}

function queueOf(env: Env, queue: QueueName): Queue {
  const queues: Record<QueueName, Queue> = {
    "support-agent-ingestion": env.INGESTION_QUEUE,
    "support-agent-crawls": env.CRAWL_QUEUE,
    "support-agent-erasure": env.ERASURE_QUEUE,
    "support-agent-email": env.EMAIL_QUEUE,
    "support-agent-deliveries": env.DELIVERY_QUEUE,
    "support-agent-slow-deliveries": env.SLOW_DELIVERY_QUEUE,
  };
  return queues[queue];
}

/** What somebody answers in time; undefined, and noted, where they do not. */
async function answerOf<Answer>(whose: string, work: Promise<Answer>, note: (error: unknown) => void): Promise<Answer | undefined> {
  try {
    return await withTimeout(PATIENCE_MS, work, whose);
  } catch (error) {
    note(error);
    return undefined;
  }
}

/*
 * What is well and what is not. The sweep takes up each minute what a lost wake-up left, so whatever should be done soon and
 * has waited for several of its rounds is stuck.
 */
const SOON_MS = 10 * 60_000;
/** An erasure that died is taken up after five minutes, and a person's is done within a few steps. */
const PERSON_ERASURE_MS = 60 * 60_000;
/** A million conversations, each with its object, take hours. */
const WORKSPACE_ERASURE_MS = 24 * 60 * 60_000;
/** A consumer that keeps up empties its queue within seconds. */
const MAX_MESSAGES = 10_000;

/** Work that waits in D1, and how long the oldest may have waited; null where that says nothing of the service. */
const ALLOWED_MS = {
  /** Webhook deliveries of endpoints that answer at once. */
  deliveries: SOON_MS,
  /** Those of endpoints that fail or are slow: they wait for each other, two at a time. */
  slow_deliveries: null,
  /** Answers that are to go out as mail. */
  mails: SOON_MS,
  /** Sources that nobody works on, though they are to be read now. */
  sources: SOON_MS,
  /** Syncs of sources that cron should have asked for. */
  syncs: SOON_MS,
  /** Idle conversations that cron should have resolved. */
  idle_conversations: SOON_MS,
  workspace_erasures: WORKSPACE_ERASURE_MS,
  person_erasures: PERSON_ERASURE_MS,
  /** The logs of deleted endpoints. */
  webhook_erasures: WORKSPACE_ERASURE_MS,
} as const;

export type WorkKind = keyof typeof ALLOWED_MS;

export const WORK_KINDS = Object.keys(ALLOWED_MS) as WorkKind[];

/** The queues, and how many messages may wait in one. A slow delivery's retries wait for hours in theirs, by design. */
const ALLOWED_MESSAGES = {
  "support-agent-ingestion": MAX_MESSAGES,
  "support-agent-crawls": MAX_MESSAGES,
  "support-agent-erasure": MAX_MESSAGES,
  "support-agent-email": MAX_MESSAGES,
  "support-agent-deliveries": MAX_MESSAGES,
  "support-agent-slow-deliveries": null,
} as const;

export type QueueName = keyof typeof ALLOWED_MESSAGES;

export const QUEUE_NAMES = Object.keys(ALLOWED_MESSAGES) as QueueName[];

/** What waits of one kind in one database. */
export interface Waiting {
  /** Up to a thousand are looked at. */
  count: number;
  /** The one that has waited longest; null where none waits. */
  id: string | null;
  workspaceId: string | null;
  sinceMs: number | null;
}

/** A queue's backlog; null where the platform does not tell. */
export interface Backlog {
  messages: number;
  oldestAtMs: number | null;
}

/** What waits of one kind in all databases, and whether it has waited too long. */
export function judgeWork(kind: WorkKind, waiting: readonly Waiting[], nowMs: number) {
  const count = waiting.reduce((sum, one) => sum + one.count, 0);
  const oldest = waiting.reduce<Waiting | undefined>(
    (first, one) => (one.sinceMs !== null && !(first && first.sinceMs! <= one.sinceMs) ? one : first),
    undefined,
  );
  const ageMs = oldest ? Math.max(0, nowMs - oldest.sinceMs!) : 0;
  const allowedMs = ALLOWED_MS[kind];
  return { kind, count, oldest, ageMs, allowedMs, isOk: allowedMs === null || ageMs <= allowedMs };
}

/** Whether a queue's backlog is what a queue may have. One that is not told says nothing. */
export function judgeQueue(queue: QueueName, backlog: Backlog | null) {
  const allowedMessages = ALLOWED_MESSAGES[queue];
  return { queue, backlog, allowedMessages, isOk: allowedMessages === null || (backlog?.messages ?? 0) <= allowedMessages };
}
