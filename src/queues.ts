import { sendMail } from "./email/outbound.ts";
import type { EmailMessage } from "./events/outbox.ts";
import { giveUp, ingest } from "./knowledge/consumer.ts";
import type { IngestionMessage } from "./knowledge/sources.ts";
import { eraseDeleted, type ErasureMessage } from "./operator/erasure.ts";
import { idFields, logDeadLetter } from "./platform/queue.ts";
import { Fault } from "./platform/telemetry/errors.ts";
import type { Meter } from "./platform/telemetry/meter.ts";
import { type Job, measureJob } from "./platform/telemetry/report.ts";
import { prune, type PruneMessage } from "./privacy/retention.ts";
import { handleDeliveryBatch } from "./webhooks/consumer.ts";

/** First wait before a message is tried again; each further one doubles it. */
const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** Between two tries while the configuration is wrong: with five of them an operator has an hour, and then the sweep finds the work. */
const MISCONFIGURED_RETRY_SECONDS = 720;

/** What the names of the service's queues begin with; the rest is the kind of job. */
const PREFIX = "support-agent-";

/** Does what a message asks for, and may say how that ended. */
type Work = (env: Env, body: never, meter: Meter) => Promise<string | void>;

const read: Work = (env, body: IngestionMessage, meter) => ingest(env, body, Date.now, meter);

/** What is done with a message of each queue. */
const WORK: Partial<Record<Job, Work>> = {
  ingestion: read,
  crawls: read,
  erasure: (env, body: ErasureMessage | PruneMessage, meter) =>
    "prune" in body ? prune(env, body, Date.now(), meter) : eraseDeleted(env, body, meter),
  email: (env, body: EmailMessage, meter) => sendMail(env, body, Date.now(), meter),
};

/** What a message that failed as often as it may is about, and what becomes of it. */
interface DeadLetters {
  work?: Work;
  /** For the operator. What there was to do is in D1 still, so that no message has to be put back. */
  action: string;
}

const failSource: DeadLetters = {
  work: (env, body: IngestionMessage, meter) => giveUp(env, body, meter),
  action: "The source is set to failed. The failed jobs of its source_id say why; then sync it again.",
};

const DEAD_LETTERS: Partial<Record<Job, DeadLetters>> = {
  "ingestion-dlq": failSource,
  "crawls-dlq": failSource,
  "erasure-dlq": {
    action:
      "The sweep starts an erasure again each minute, and the work of a retention each hour. If it keeps failing, its failed jobs say why.",
  },
  "email-dlq": { action: "The mail waits in D1, and the sweep sends it again each minute. Its failed jobs say why." },
  "deliveries-dlq": { action: "The delivery waits in D1, and the sweep wakes it again each minute. Its failed jobs say why." },
};

/** Answers how many of the messages failed. */
type BatchWork = (env: Env, batch: MessageBatch<never>, meter: Meter) => Promise<number>;

/** What is done with a whole batch of a queue, and with each of its messages. */
const BATCH_WORK: Partial<Record<Job, BatchWork>> = {
  deliveries: (env, batch, meter) => handleDeliveryBatch({ env, meter, queue: "fast" }, batch),
  "slow-deliveries": (env, batch, meter) => handleDeliveryBatch({ env, meter, queue: "slow" }, batch),
};

/** Works through a batch: each message on its own, so that one that fails is tried again alone, or all together. */
export async function consume(batch: MessageBatch, env: Env): Promise<void> {
  const job = batch.queue.slice(PREFIX.length) as Job;
  const [batchWork, work, deadLetters] = [BATCH_WORK[job], WORK[job], DEAD_LETTERS[job]];
  if (batchWork) return consumeTogether(job, batch as MessageBatch<never>, env, batchWork);
  if (!work && !deadLetters) throw new Fault(`No work is known for the queue ${batch.queue}`);
  await Promise.all(batch.messages.map((message) => consumeOne(job, message, env, work ?? bury(batch.queue, message, deadLetters!))));
}

/** Leaves a batch for later, untouched: what the configuration keeps from being done is not lost. */
export function putBack(batch: MessageBatch): void {
  batch.retryAll({ delaySeconds: MISCONFIGURED_RETRY_SECONDS });
}

async function consumeTogether(job: Job, batch: MessageBatch<never>, env: Env, work: BatchWork): Promise<void> {
  const head = { job, messages: batch.messages.length, attempts: Math.max(1, ...batch.messages.map(({ attempts }) => attempts)) };
  const end = (failed: number) => ({ outcome: failed === 0 ? "done" : "partly_failed", fields: { failed } });
  await measureJob(env, head, (meter) => work(env, batch, meter), end);
}

async function consumeOne(job: Job, message: Message, env: Env, work: Work): Promise<void> {
  const { workspace_id: workspaceId, ...ids } = idFields(message.body);
  const { attempts } = message;
  const head = {
    job,
    workspaceId: String(workspaceId ?? "") || null,
    attempts,
    messages: 1,
    fields: { queue_message_id: message.id, ...ids },
  };
  try {
    await measureJob(
      env,
      head,
      (meter) => work(env, message.body as never, meter),
      (outcome) => (outcome ? { outcome } : {}),
    );
    message.ack();
  } catch {
    message.retry({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS) });
  }
}

/** Tells of a dead letter before anything can go wrong with it. */
function bury(queue: string, message: Message, { work, action }: DeadLetters): Work {
  return async (env, body, meter) => {
    logDeadLetter({ from: queue, ids: { queue_message_id: message.id, ...idFields(body) }, attempts: message.attempts, action });
    return work?.(env, body, meter);
  };
}
