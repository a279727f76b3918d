import { completionChunks, type CompletionHead, DONE } from "./openai.ts";
import type { ChatAnswer } from "./wire.ts";

type ToolCallRecord = NonNullable<ChatAnswer["required_action"]>["tool_calls"][number];

/** The events of a stream. For a visitor, the data of `start` and `done` also holds the visitor's token. */
export type StreamEvent = { id: string } & (
  | { event: "start"; data: { conversation_id: string; message_id: string | null } }
  | { event: "delta"; data: { text: string } }
  | { event: "tool_call"; data: ToolCallRecord }
  | { event: "done"; data: ChatAnswer }
  | { event: "error"; data: { error: { code: "internal_error"; message: string; request_id: string } } }
);

/** A stream format other than the service's own. It is plain data, so that it can be passed to a Durable Object. */
export type StreamFormat = { name: "ui-messages" } | { name: "openai"; head: CompletionHead; includesUsage: boolean };

/** How long a client waits before it resumes a broken stream. The service runs a failed turn again after a few seconds. */
const RETRY_MS = 2_000;

/** Formats an event as Server-Sent Events. */
export function formatEvent(event: StreamEvent, format?: StreamFormat): string {
  if (format?.name === "openai") return completionChunks(event, format).map(formatData).join("");
  const retry = event.event === "start" ? `retry: ${RETRY_MS}\n` : "";
  if (!format) return `${retry}id: ${event.id}\nevent: ${event.event}\n${formatData(event.data)}`;
  // Only the last part has the id, because a client whose stream breaks before that part does not have the whole event.
  const data = uiMessages(event).map(formatData);
  return [...data.slice(0, -1), `${retry}id: ${event.id}\n${data.at(-1)!}`].join("");
}

/** Formats data as one line. The JSON contains no line breaks, because JSON.stringify escapes them. */
export function formatData(data: object | typeof DONE): string {
  return `data: ${data === DONE ? DONE : JSON.stringify(data)}\n\n`;
}

export function formatComment(text: string): string {
  return `: ${text}\n\n`;
}

/** The id of the only text part of a message. */
const TEXT_ID = "answer";

/** Returns an event as parts of the AI SDK's UI message stream. A message without an id is that of a silent agent, and has no text part. */
function uiMessages({ event, data }: StreamEvent) {
  switch (event) {
    case "start": {
      const { message_id: messageId } = data;
      const start = { type: "start", ...(messageId !== null && { messageId }), messageMetadata: data };
      return messageId === null ? [start] : [start, { type: "text-start", id: TEXT_ID }];
    }
    case "delta":
      return [{ type: "text-delta", id: TEXT_ID, delta: data.text }];
    case "tool_call":
      return [{ type: "tool-input-available", toolCallId: data.id, toolName: data.name, input: data.arguments }];
    case "done": {
      const { answer: _, ...messageMetadata } = data;
      const finish = { type: "finish", finishReason: data.required_action ? "tool-calls" : "stop", messageMetadata };
      const end = data.message_id === null ? [] : [{ type: "text-end", id: TEXT_ID }];
      return [...end, ...data.citations.map(uiSource), finish, DONE] as const;
    }
    case "error":
      return [{ type: "error", errorText: data.error.message }, DONE] as const;
  }
}

/** Returns a citation as a source of the AI SDK. Its id includes the index, because clients use the ids as keys and an answer may cite
 * a source several times. */
function uiSource({ source_id: id, url, title }: ChatAnswer["citations"][number], index: number) {
  const sourceId = `${id}-${index + 1}`;
  return url === null
    ? { type: "source-document", sourceId, mediaType: "text/plain", title }
    : { type: "source-url", sourceId, url, title };
}
