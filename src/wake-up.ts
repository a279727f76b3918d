import { idsOf } from "./telemetry/dead-letter.ts";
import { logProblem } from "./telemetry/log.ts";

/** A wake-up that takes longer than this is taken for lost: the sweep sends another. */
export const WAKE_UP_MS = 60_000;
/** The most messages that the platform takes at once. */
const MAX_MESSAGES_A_SEND = 100;

/**
 * Sends wake-ups. What there is to do is in D1 already, and the sweep finds it within minutes: a queue that is down is a
 * reason for a line in the log, not for an error.
 * @param delaySeconds how long the queue keeps them first.
 */
export async function wakeUp(queue: Queue, messages: readonly object[], delaySeconds = 0): Promise<void> {
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
    logProblem("wake_up_failed", { messages: messages.length, ...idsOf(messages[0]) }, error);
  }
}
