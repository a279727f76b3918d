/**
 * Sends wake-ups. What there is to do is in D1 already, and the sweep finds it within minutes: a queue that is down is a
 * reason for a line in the log, not for an error.
 */
export async function wakeUp(queue: Queue, messages: readonly object[]): Promise<void> {
  if (messages.length === 0) return;
  try {
    await queue.sendBatch(messages.map((body) => ({ body })));
  } catch (error) {
    console.error(JSON.stringify({ event: "wake_up_failed", messages, detail: String(error) }));
  }
}
