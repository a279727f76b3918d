import { choiceDelta, completionChunk, type CompletionHead, completionError, NO_USAGE } from "./openai.ts";
import type { ChatAnswer } from "./wire.ts";

/** The events of a stream; `start` and `done` of a visitor's stream also hold their token. */
export type StreamEvent = { id: string } & (
  | { event: "start"; data: { conversation_id: string; message_id: string | null } }
  | { event: "delta"; data: { text: string } }
  | { event: "done"; data: ChatAnswer }
  | { event: "error"; data: { error: { code: "internal_error"; message: string; request_id: string } } }
);

/** What a stream is written in beside the service's own form, so that it can be passed to a Durable Object. */
export type StreamFormat = { name: "ui-messages" } | { name: "openai"; head: CompletionHead; includesUsage: boolean };

/** How long a client waits before it resumes a broken stream: a failed turn is run again after seconds. */
const RETRY_MS = 2_000;

/** An event as Server-Sent Events. */
export function formatEvent(event: StreamEvent, format?: StreamFormat): string {
  if (format?.name === "openai") return openAiData(event, format).map(formatData).join("");
  const retry = event.event === "start" ? `retry: ${RETRY_MS}\n` : "";
  if (!format) return `${retry}id: ${event.id}\nevent: ${event.event}\n${formatData(event.data)}`;
  // The last one alone has the id: a stream that breaks before it has not got the event.
  const data = uiMessageData(event).map(formatData);
  return [...data.slice(0, -1), `${retry}id: ${event.id}\n${data.at(-1)!}`].join("");
}

/** JSON has no line breaks of its own, so the data is one line. */
function formatData(data: object | typeof DONE): string {
  return `data: ${data === DONE ? DONE : JSON.stringify(data)}\n\n`;
}

export function formatComment(text: string): string {
  return `: ${text}\n\n`;
}

/** What ends a stream of OpenAI, and of the AI SDK. */
const DONE = "[DONE]";

function openAiData({ event, data }: StreamEvent, { head, includesUsage }: Extract<StreamFormat, { name: "openai" }>) {
  // Every part has the field then, and the last one the numbers.
  const unused = includesUsage ? { usage: null } : {};
  switch (event) {
    case "start":
      return [completionChunk(head, choiceDelta({ role: "assistant", content: "" }), { ...data, ...unused })];
    case "delta":
      return [completionChunk(head, choiceDelta({ content: data.text }), unused)];
    case "done": {
      const { answer: _, ...fields } = data;
      const end = completionChunk(head, choiceDelta({}, "stop"), { ...fields, ...unused });
      return [end, ...(includesUsage ? [completionChunk(head, [], { usage: NO_USAGE })] : []), DONE] as const;
    }
    case "error":
      return [{ error: { ...data.error, ...completionError(500) } }];
  }
}

/** An answer is one text. */
const TEXT_ID = "answer";

function uiMessageData({ event, data }: StreamEvent) {
  switch (event) {
    case "start": {
      const { message_id: messageId } = data;
      const start = { type: "start", ...(messageId !== null && { messageId }), messageMetadata: data };
      return [start, { type: "text-start", id: TEXT_ID }];
    }
    case "delta":
      return [{ type: "text-delta", id: TEXT_ID, delta: data.text }];
    case "done": {
      const { answer: _, ...messageMetadata } = data;
      const finish = { type: "finish", finishReason: "stop", messageMetadata };
      return [{ type: "text-end", id: TEXT_ID }, ...data.citations.map(uiSource), finish, DONE] as const;
    }
    case "error":
      return [{ type: "error", errorText: data.error.message }, DONE] as const;
  }
}

/** A source may be cited several times, and clients use the ids of sources as keys. */
function uiSource({ source_id: id, url, title }: ChatAnswer["citations"][number], index: number) {
  const sourceId = `${id}-${index + 1}`;
  return url === null
    ? { type: "source-document", sourceId, mediaType: "text/plain", title }
    : { type: "source-url", sourceId, url, title };
}
