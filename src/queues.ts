import { sendMail } from "./email/outbound.ts";
import { continueEvaluation, failEvaluation } from "./evaluations/consumer.ts";
import type { EvaluationKey } from "./evaluations/store.ts";
import type { EmailMessage } from "./events/outbox.ts";
import { failAfterRetries, ingest } from "./knowledge/consumer.ts";
import type { IngestionMessage } from "./knowledge/sources.ts";
import { eraseDeleted, type ErasureMessage } from "./operator/erasure.ts";
import { idFields, logDeadLetter } from "./platform/queue.ts";
import { Fault } from "./platform/telemetry/errors.ts";
import type { Meter } from "./platform/telemetry/meter.ts";
import { type Job, measureJob } from "./platform/telemetry/report.ts";
import { prune, type PruneMessage } from "./privacy/retention.ts";
import { handleDeliveryBatch } from "./webhooks/consumer.ts";

/** The wait before a failed message's first retry; each further one doubles it. */
const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** With five retries this gives an operator an hour to repair the configuration; after that the sweep finds the work. */
const MISCONFIGURED_RETRY_SECONDS = 720;

/** Does the work of one message; may return the job's outcome for the log. */
type MessageHandler = (env: Env, body: never, meter: Meter) => Promise<string | void>;

const MESSAGE_HANDLERS: Partial<Record<Job, MessageHandler>> = {
  ingestion: (env, body: IngestionMessage, meter) => ingest(env, body, Date.now, meter),
  crawls: (env, body: IngestionMessage | EvaluationKey, meter) =>
    "evaluationId" in body ? continueEvaluation(env, body, meter) : ingest(env, body, Date.now, meter),
  erasure: (env, body: ErasureMessage | PruneMessage, meter) =>
    "prune" in body ? prune(env, body, Date.now(), meter) : eraseDeleted(env, body, meter),
  email: (env, body: EmailMessage, meter) => sendMail(env, body, Date.now(), meter),
};

/** Does the work of a whole batch and acknowledges or retries each message; returns how many failed. */
type BatchHandler = (env: Env, batch: MessageBatch<never>, meter: Meter) => Promise<number>;

const BATCH_HANDLERS: Partial<Record<Job, BatchHandler>> = {
  deliveries: (env, batch, meter) => handleDeliveryBatch({ env, meter, queue: "fast" }, batch),
  "slow-deliveries": (env, batch, meter) => handleDeliveryBatch({ env, meter, queue: "slow" }, batch),
};

/** What happens to a message that has used up its retries. The work itself is in D1, so no message has to be sent again. */
interface DeadLetterPolicy {
  /** For the operator, in the log. */
  action: string;
  handler?: MessageHandler;
}

const failSource: DeadLetterPolicy = {
  action: "The source is set to failed. The failed jobs of its source_id show the reason; then sync it again.",
  handler: failAfterRetries,
};

const DEAD_LETTER_POLICIES: Partial<Record<Job, DeadLetterPolicy>> = {
  "ingestion-dlq": failSource,
  "crawls-dlq": {
    action: "The source or evaluation is set to failed. The failed jobs of its id show the reason; then sync it again, or run it again.",
    handler: (env, body: IngestionMessage | EvaluationKey, meter) =>
      "evaluationId" in body ? failEvaluation(env, body, meter) : failAfterRetries(env, body, meter),
  },
  "erasure-dlq": {
    action:
      "The sweep starts an erasure again each minute, and the work of a retention each hour. If it keeps failing, its failed jobs show the reason.",
  },
  "email-dlq": { action: "The mail waits in D1, and the sweep sends it again each minute. Its failed jobs show the reason." },
  "deliveries-dlq": { action: "The delivery waits in D1, and the sweep wakes it again each minute. Its failed jobs show the reason." },
};

/** The longest names come first, since the queue of "slow-deliveries" also ends with "deliveries". */
const QUEUE_JOBS = [MESSAGE_HANDLERS, BATCH_HANDLERS, DEAD_LETTER_POLICIES]
  .flatMap((handlers) => Object.keys(handlers) as Job[])
  .toSorted((one, other) => other.length - one.length);

/** Returns the job of a queue by the end of its name, since each environment has a prefix of its own. */
function jobOf(queue: string): Job {
  const job = QUEUE_JOBS.find((one) => queue.endsWith(`-${one}`));
  if (job === undefined) throw new Fault(`There is no handler for the queue ${queue}`);
  return job;
}

/**
 * Consumes a batch of any queue of the service.
 * @throws Fault for an unknown queue, so that the platform keeps its messages.
 */
export async function consume(batch: MessageBatch, env: Env): Promise<void> {
  const job = jobOf(batch.queue);
  const batchHandler = BATCH_HANDLERS[job];
  if (batchHandler) return consumeBatch(job, batch as MessageBatch<never>, env, batchHandler);
  const [handler, deadLetterPolicy] = [MESSAGE_HANDLERS[job], DEAD_LETTER_POLICIES[job]];
  await Promise.all(
    batch.messages.map((message) =>
      consumeMessage(job, message, env, handler ?? deadLetterHandler(batch.queue, message, deadLetterPolicy!)),
    ),
  );
}

/** Leaves a batch for later, while the configuration has problems. */
export function retryLater(batch: MessageBatch): void {
  batch.retryAll({ delaySeconds: MISCONFIGURED_RETRY_SECONDS });
}

async function consumeBatch(job: Job, batch: MessageBatch<never>, env: Env, handler: BatchHandler): Promise<void> {
  const attempts = Math.max(1, ...batch.messages.map((message) => message.attempts));
  await measureJob(
    env,
    { job, messages: batch.messages.length, attempts },
    (meter) => handler(env, batch, meter),
    (failed) => ({ outcome: failed === 0 ? "done" : "partly_failed", fields: { failed } }),
  );
}

async function consumeMessage(job: Job, message: Message, env: Env, handler: MessageHandler): Promise<void> {
  const { workspace_id: workspaceId, ...ids } = idFields(message.body);
  const { attempts } = message;
  const fields = { queue_message_id: message.id, ...ids };
  try {
    await measureJob(
      env,
      { job, workspaceId: String(workspaceId ?? "") || null, attempts, messages: 1, fields },
      (meter) => handler(env, message.body as never, meter),
      (outcome) => (outcome ? { outcome } : {}),
    );
    message.ack();
  } catch {
    message.retry({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS) });
  }
}

/** Logs a dead letter before its handler runs, which may fail. */
function deadLetterHandler(queue: string, message: Message, { handler, action }: DeadLetterPolicy): MessageHandler {
  return async (env, body, meter) => {
    logDeadLetter({ from: queue, ids: { queue_message_id: message.id, ...idFields(body) }, attempts: message.attempts, action });
    return handler?.(env, body, meter);
  };
}
