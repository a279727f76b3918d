import { isUuid } from "./db/ids.ts";
import { type Fields, logProblem } from "./telemetry/log.ts";

/** The ids that messages carry, with their names in the log. */
const ID_FIELDS = {
  workspaceId: "workspace_id",
  agentId: "agent_id",
  conversationId: "conversation_id",
  sourceId: "source_id",
  evaluationId: "evaluation_id",
  deliveryId: "delivery_id",
  messageId: "message_id",
  id: "id",
} as const;

/** Returns the ids in a message's body, as fields for the log. Everything else is left out, since a message may hold anything. */
export function idFields(body: unknown): Fields {
  if (typeof body !== "object" || body === null) return {};
  const values = body as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(ID_FIELDS).flatMap(([name, field]) => {
      const value = values[name];
      return typeof value === "string" && isUuid(value) ? [[field, value]] : [];
    }),
  );
}

/** Work that failed on its last attempt. */
interface DeadLetter {
  /** A queue's name, or "turn" for a conversation's turn. */
  from: string;
  ids: Fields;
  attempts: number;
  /** What happens to it now, and what the operator should do. */
  action: string;
}

/** Logs work that failed on its last attempt. */
export function logDeadLetter({ from, ids, attempts, action }: DeadLetter): void {
  logProblem("dead_letter", { from, ...ids, attempts, action });
}

/** After this time the sweep considers a wake-up lost and sends another. */
export const WAKE_UP_TIMEOUT_MS = 60_000;
/** The limit of Cloudflare Queues. */
const MAX_MESSAGES_PER_SEND = 100;

/**
 * Sends wake-ups: messages that name work that is already in D1. A failure is only logged, since the sweep finds the work
 * within minutes.
 */
export async function sendWakeUps(queue: Queue, messages: readonly object[], delaySeconds = 0): Promise<void> {
  const sends: Promise<void>[] = [];
  for (let at = 0; at < messages.length; at += MAX_MESSAGES_PER_SEND)
    sends.push(sendBatch(queue, messages.slice(at, at + MAX_MESSAGES_PER_SEND), delaySeconds));
  await Promise.all(sends);
}

async function sendBatch(queue: Queue, messages: readonly object[], delaySeconds: number): Promise<void> {
  try {
    await queue.sendBatch(
      messages.map((body) => ({ body })),
      { delaySeconds },
    );
  } catch (error) {
    // The ids of one message are enough to find the others.
    logProblem("wake_up_failed", { messages: messages.length, ...idFields(messages[0]) }, error);
  }
}
