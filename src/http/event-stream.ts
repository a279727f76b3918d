import type { AppContext } from "./context.ts";

/** What keeps whatever is between the service and the client from holding events back or changing them. */
const HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/**
 * Answers with Server-Sent Events, as they come.
 * @param conversationId the conversation that they tell of.
 */
export function answerEvents(c: AppContext, body: ReadableStream<Uint8Array>, conversationId: string): Response {
  c.set("streamedConversation", conversationId);
  return c.body(body, 200, HEADERS);
}
