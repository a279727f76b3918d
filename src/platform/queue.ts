import { isUuid } from "./db/ids.ts";
import { type Fields, logProblem } from "./telemetry/log.ts";

/** The identifiers that messages carry, by their names in the log. */
const ID_FIELDS = {
  workspaceId: "workspace_id",
  agentId: "agent_id",
  conversationId: "conversation_id",
  sourceId: "source_id",
  deliveryId: "delivery_id",
  messageId: "message_id",
  id: "id",
} as const;

/**
 * The identifiers of a message, and nothing else of it: what is no identifier is not known to come from us.
 * @param body a message as it came.
 */
export function idFields(body: unknown): Fields {
  if (typeof body !== "object" || body === null) return {};
  const known = Object.entries(ID_FIELDS).map(([name, field]) => [field, (body as Record<string, unknown>)[name]] as const);
  return Object.fromEntries(known.flatMap(([field, value]) => (typeof value === "string" && isUuid(value) ? [[field, value]] : [])));
}

/** What was given up after its last try. */
export interface DeadLetter {
  /** Where it came from: a queue, or a conversation's turns. */
  from: string;
  ids: Fields;
  attempts: number;
  /** What becomes of it, and what is for the operator to do. */
  action: string;
}

/** One line for each thing that was tried as often as it may: nothing is lost in silence. */
export function logDeadLetter({ from, ids, attempts, action }: DeadLetter): void {
  logProblem("dead_letter", { from, ...ids, attempts, action });
}

/** A wake-up that takes longer than this is taken for lost: the sweep sends another. */
export const WAKE_UP_TIMEOUT_MS = 60_000;
/** The most messages that the platform takes at once. */
const MAX_MESSAGES_A_SEND = 100;

/**
 * Sends wake-ups. What there is to do is in D1 already, and the sweep finds it within minutes: a queue that is down is a
 * reason for a line in the log, not for an error.
 * @param delaySeconds how long the queue keeps them first.
 */
export async function sendWakeUps(queue: Queue, messages: readonly object[], delaySeconds = 0): Promise<void> {
  const sends: Promise<void>[] = [];
  for (let at = 0; at < messages.length; at += MAX_MESSAGES_A_SEND)
    sends.push(sendSome(queue, messages.slice(at, at + MAX_MESSAGES_A_SEND), delaySeconds));
  await Promise.all(sends);
}

async function sendSome(queue: Queue, messages: readonly object[], delaySeconds: number): Promise<void> {
  try {
    await queue.sendBatch(
      messages.map((body) => ({ body })),
      { delaySeconds },
    );
  } catch (error) {
    // Of those that one send is about the first will do to find the others.
    logProblem("wake_up_failed", { messages: messages.length, ...idFields(messages[0]) }, error);
  }
}
