import { boundShards, type Database, shardDb } from "../db/client.ts";
import type { Meter } from "../meter.ts";
import { logProblem } from "../telemetry/log.ts";
import { withinMs } from "../time-limit.ts";
import {
  type Backlog,
  judgeQueue,
  judgeWork,
  QUEUE_NAMES,
  type QueueName,
  type Waiting,
  WORK_KINDS,
  type WorkKind,
} from "./health-rules.ts";
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
    return await withinMs(PATIENCE_MS, work, whose);
  } catch (error) {
    note(error);
    return undefined;
  }
}
