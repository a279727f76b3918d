import type { ChatAnswer } from "./wire.ts";

/** How long a client waits before it picks a broken stream up: a turn that failed is run again after seconds. */
const RETRY_MS = 2_000;

/** What a stream of an answer says; `start` and `done` of a visitor's hold their token beside the rest. */
export type StreamEvent = { id: string } & (
  | { event: "start"; data: { conversation_id: string; message_id: string | null } }
  | { event: "delta"; data: { text: string } }
  | { event: "done"; data: ChatAnswer }
  | { event: "error"; data: { error: { code: "internal_error"; message: string; request_id: string } } }
);

/** An event on the wire. JSON has no line breaks of its own, so the data is one line. */
export function toEvent({ id, event, data }: StreamEvent): string {
  const retry = event === "start" ? `retry: ${RETRY_MS}\n` : "";
  return `${retry}id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Something that clients skip. */
export function toComment(text: string): string {
  return `: ${text}\n\n`;
}
