import { FNV_BASIS, fnv1a } from "../platform/text.ts";
import { IdleTimer } from "../platform/time.ts";
import { formatComment, formatEvent, type StreamEvent, type StreamFormat } from "./stream-formats.ts";
import { type AnswerVisitor, type TokenEnv, visitorFields } from "./visitor-token.ts";
import type { ChatAnswer } from "./wire.ts";

/** Proxies and load balancers close connections that are idle for a minute, some for half a minute. */
export const HEARTBEAT_MS = 15_000;

const FAILED =
  "Something failed on our side. The question is stored and will be answered: resume the stream with the id of its last event.";

/** The fields of an answer that are known before its first word. */
export interface StreamStart {
  conversationId: string;
  /** The agent's message; null if a human has the conversation and the agent does not answer. */
  messageId: string | null;
  visitorId: string | null;
}

/** An answer that is being written. Any number of readers read its text, each at their own speed. The writer does not wait for them. */
export class AnswerStream {
  /** Undefined until the question is stored. */
  started: StreamStart | undefined;
  /** The text so far. Answers have a length limit, so this is bounded. */
  text = "";
  outcome: ChatAnswer | "failed" | undefined;
  private change = Promise.withResolvers<void>();

  /** Returns the finished stream of a stored answer. */
  static of(answer: ChatAnswer): AnswerStream {
    const stream = new AnswerStream();
    stream.start({ conversationId: answer.conversation_id, messageId: answer.message_id, visitorId: null });
    stream.finish(answer);
    return stream;
  }

  /** Settles at the next change. */
  get changed(): Promise<void> {
    return this.change.promise;
  }

  start(start: StreamStart): void {
    this.started = start;
    this.notifyReaders();
  }

  append(text: string): void {
    this.text += text;
    this.notifyReaders();
  }

  /** @param answer the whole answer, which begins with the text so far; or one without a text, which waits for tool calls. */
  finish(answer: ChatAnswer): void {
    this.text = answer.answer ?? this.text;
    this.outcome = answer;
    this.notifyReaders();
  }

  /** Ends the stream with an error event; the next attempt at the turn has its own stream. */
  fail(): void {
    this.outcome = "failed";
    this.notifyReaders();
  }

  private notifyReaders(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }
}

// --- Event ids -------------------------------------------------------------------------------------------------------

const EVENT_ID = /^(\d{1,9})-([0-9a-z]{1,7})(-done)?$/;

/**
 * A position in an answer: the length of the text up to it, and that text's checksum. It does not depend on how the answer
 * was cut into events, so that it can be found in a stored answer too.
 */
export interface StreamPosition {
  length: number;
  checksum: number;
}

export const ORIGIN: StreamPosition = { length: 0, checksum: FNV_BASIS };

/** Returns the position after more text. */
export function advance({ length, checksum }: StreamPosition, text: string): StreamPosition {
  return { length: length + text.length, checksum: fnv1a(text, checksum) };
}

/** Returns the id of the event that ends at a position: `<length>-<checksum>`, with `-done` for the last event. */
export function toEventId({ length, checksum }: StreamPosition, isDone = false): string {
  return `${length}-${checksum.toString(36)}${isDone ? "-done" : ""}`;
}

/**
 * Finds the position that an event id names in an answer.
 * @param text the answer, as far as it is known.
 * @returns undefined if the id does not match this text: it belongs to another attempt, is beyond the text so far, or is malformed.
 */
export function findPosition(text: string, eventId: string | undefined): (StreamPosition & { isDone: boolean }) | undefined {
  const [, length, checksum, done] = EVENT_ID.exec(eventId ?? "") ?? [];
  if (length === undefined || Number(length) > text.length) return undefined;
  const position = advance(ORIGIN, text.slice(0, Number(length)));
  const isDone = done !== undefined;
  if (position.checksum.toString(36) !== checksum || (isDone && position.length < text.length)) return undefined;
  return { ...position, isDone };
}

// --- Readers ---------------------------------------------------------------------------------------------------------

/** The reader of a stream, in a form that can be passed to a Durable Object. */
export interface StreamCaller {
  /** The id of the request, which the error event and the log contain. */
  requestId: string;
  /** The id of the last event that the caller has of this answer. */
  lastEventId?: string | undefined;
  /** The visitor whose token `start` and `done` hold; undefined over the API. */
  visitor?: AnswerVisitor | undefined;
  /** The format of the events; undefined for the service's own. */
  format?: StreamFormat | undefined;
}

/** Whether a reader whose last event has this id already has the whole answer. */
export function hasWholeAnswer(stream: AnswerStream, lastEventId: string | undefined): boolean {
  return typeof stream.outcome === "object" && findPosition(stream.text, lastEventId)?.isDone === true;
}

/**
 * Returns an answer as Server-Sent Events for one reader. Each read returns all text that was written since the last
 * read as one event. A slow reader gets fewer and longer events, and no events are queued.
 */
export function readStream(
  env: TokenEnv,
  stream: AnswerStream,
  caller: StreamCaller,
  heartbeatMs = HEARTBEAT_MS,
): ReadableStream<Uint8Array> {
  const reader = new StreamReader(env, stream, caller, heartbeatMs);
  return new ReadableStream({ type: "bytes", pull: (controller) => reader.pull(controller), cancel: () => reader.cancel() });
}

const encoder = new TextEncoder();

class StreamReader {
  /** Undefined until `start` is sent, with which a new answer begins. Text of an earlier attempt does not count. */
  private position: StreamPosition | undefined;
  /** Ends the wait for the next change; its argument is whether there was a change. */
  private wake: ((isChanged: boolean) => void) | undefined;
  private readonly heartbeat: IdleTimer;
  private isCancelled = false;

  constructor(
    private readonly env: TokenEnv,
    private readonly stream: AnswerStream,
    private readonly caller: StreamCaller,
    heartbeatMs: number,
  ) {
    const position = findPosition(stream.text, caller.lastEventId);
    if (position && !position.isDone && stream.started) this.position = position;
    this.heartbeat = new IdleTimer(heartbeatMs, () => this.wake?.(false));
  }

  /** Sends the next events as soon as there are any. After a while without events, it sends a comment as a heartbeat. */
  async pull(controller: ReadableByteStreamController): Promise<void> {
    for (let isChanged = true; isChanged;) {
      // The promise is read before the events, so that no change in between is missed.
      const { changed, outcome } = this.stream;
      const events = await this.newEvents();
      if (outcome !== undefined) this.heartbeat.stop();
      if (events.length > 0 && !this.isCancelled) {
        this.heartbeat.reset();
        controller.enqueue(encoder.encode(events.map((event) => formatEvent(event, this.caller.format)).join("")));
        if (outcome !== undefined) controller.close();
        return;
      }
      isChanged = !this.isCancelled && (await this.isChanged(changed));
      if (this.isCancelled) return;
    }
    controller.enqueue(encoder.encode(formatComment("still answering")));
  }

  cancel(): void {
    this.isCancelled = true;
    this.heartbeat.stop();
    this.wake?.(true);
  }

  private isChanged(changed: Promise<void>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.wake = resolve;
    void changed.then(() => resolve(true));
    return promise;
  }

  private async newEvents(): Promise<StreamEvent[]> {
    const { started, text, outcome } = this.stream;
    const { visitor, requestId } = this.caller;
    const events: StreamEvent[] = [];
    const needsToken = visitor && started && (!this.position || typeof outcome === "object");
    const token = needsToken ? await visitorFields(this.env, visitor, started.visitorId) : undefined;
    if (started && !this.position) {
      this.position = ORIGIN;
      const data = { conversation_id: started.conversationId, message_id: started.messageId, ...token };
      events.push({ id: toEventId(ORIGIN), event: "start", data });
    }
    if (this.position && text.length > this.position.length) {
      const added = text.slice(this.position.length);
      this.position = advance(this.position, added);
      events.push({ id: toEventId(this.position), event: "delta", data: { text: added } });
    }
    if (outcome === "failed") {
      const error = { code: "internal_error", message: FAILED, request_id: requestId } as const;
      events.push({ id: toEventId(this.position ?? ORIGIN), event: "error", data: { error } });
    } else if (outcome && this.position) {
      const calls = outcome.required_action?.tool_calls ?? [];
      events.push(...calls.map((call) => ({ id: toEventId(this.position!), event: "tool_call", data: call }) as const));
      events.push({ id: toEventId(this.position, true), event: "done", data: { ...outcome, ...token } });
    }
    return events;
  }
}
