import { type EmailMessage, sendMail } from "./email/outbound.ts";
import { giveUp, ingest } from "./knowledge/consumer.ts";
import type { IngestionMessage } from "./knowledge/wake-source.ts";
import { eraseDeleted, type ErasureMessage } from "./operator/erasure.ts";
import { prune, type PruneMessage } from "./retention/prune.ts";
import { deliver, noteDead } from "./webhooks/consumer.ts";
import type { DeliveryMessage } from "./webhooks/delivery-message.ts";

/** First wait before a message is tried again; each further one doubles it. */
const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** Between two tries while the configuration is wrong: with five of them an operator has an hour, and then the sweep finds the work. */
const MISCONFIGURED_RETRY_SECONDS = 720;

type Work = (env: Env, body: never) => Promise<void>;

/** What is done with a message of each queue. */
const WORK: Record<string, Work> = {
  "support-agent-ingestion": (env, body: IngestionMessage) => ingest(env, body),
  "support-agent-ingestion-dlq": (env, body: IngestionMessage) => giveUp(env, body),
  "support-agent-crawls": (env, body: IngestionMessage) => ingest(env, body),
  "support-agent-crawls-dlq": (env, body: IngestionMessage) => giveUp(env, body),
  "support-agent-erasure": (env, body: ErasureMessage | PruneMessage) => ("prune" in body ? prune(env, body) : eraseDeleted(env, body)),
  // The sweep finds the workspace again: neither an erasure nor a pruning is ever given up.
  "support-agent-erasure-dlq": async () => undefined,
  "support-agent-deliveries-dlq": (_, body: DeliveryMessage) => noteDead(body),
  "support-agent-email": (env, body: EmailMessage) => sendMail(env, body),
  // The outbox still has it, and the sweep sends it.
  "support-agent-email-dlq": async () => undefined,
};

type BatchWork = (env: Env, batch: MessageBatch<never>) => Promise<void>;

/** What is done with a whole batch of a queue, and with each of its messages. */
const BATCH_WORK: Record<string, BatchWork> = {
  "support-agent-deliveries": (env, batch) => deliver(env, "fast", batch),
  "support-agent-slow-deliveries": (env, batch) => deliver(env, "slow", batch),
};

/** Works through a batch: each message on its own, so that one that fails is tried again alone, or all together. */
export async function consume(batch: MessageBatch, env: Env): Promise<void> {
  const batchWork = BATCH_WORK[batch.queue];
  if (batchWork) return batchWork(env, batch as MessageBatch<never>);
  const work = WORK[batch.queue];
  if (!work) throw new Error(`No work is known for the queue ${batch.queue}`);
  await Promise.all(batch.messages.map((message) => handle(batch.queue, message, () => work(env, message.body as never))));
}

/** Leaves a batch for later, untouched: what the configuration keeps from being done is not lost. */
export function putBack(batch: MessageBatch): void {
  batch.retryAll({ delaySeconds: MISCONFIGURED_RETRY_SECONDS });
}

async function handle(queue: string, message: Message, work: () => Promise<void>): Promise<void> {
  const startedAtMs = Date.now();
  const line = { event: "job", queue, message_id: message.id, attempt: message.attempts };
  try {
    await work();
    message.ack();
    console.log(JSON.stringify({ ...line, outcome: "done", duration_ms: Date.now() - startedAtMs }));
  } catch (error) {
    const delaySeconds = Math.min(RETRY_SECONDS * 2 ** (message.attempts - 1), MAX_RETRY_SECONDS);
    message.retry({ delaySeconds });
    console.error(JSON.stringify({ ...line, outcome: "retry", delay_seconds: delaySeconds, detail: String(error) }));
  }
}
