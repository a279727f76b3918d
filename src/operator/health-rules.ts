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
