import { secretValues } from "../platform/config.ts";
import { IdleTimer } from "../platform/time.ts";
import {
  type AnswerStream,
  BEGINNING,
  type Begun,
  eventIdOf,
  type Place,
  placeAfter,
  placeIn,
  type StreamEvent,
  toComment,
  toEvent,
} from "./stream.ts";
import { mintVisitorToken } from "./visitor-token.ts";

/** Proxies and load balancers close connections that are silent for a minute, some for half of one. */
const HEARTBEAT_MS = 15_000;

const FAILED = "Something failed on our side. Pick the stream up by its last event id in some seconds: the question is kept.";

/** Who reads a stream, and from where. */
export interface Reading {
  /** Named by errors. */
  requestId: string;
  /** The id of the last event that the reader has of this answer, if it has any. */
  lastEventId?: string | undefined;
  /** What `start` and `done` tell this reader beside the rest. */
  extra?: ((begun: Begun) => Promise<Record<string, string>>) | undefined;
  heartbeatMs?: number;
}

/** Whether a reader whose last event has this id already has the whole answer. */
export function hasAll(stream: AnswerStream, lastEventId: string | undefined): boolean {
  return typeof stream.end === "object" && placeIn(stream.text, lastEventId)?.isDone === true;
}

/**
 * An answer as Server-Sent Events for one reader. Each read makes one event of all text that was written since the last
 * read: a slow reader gets fewer, longer events, and none are queued.
 */
export function readStream(stream: AnswerStream, reading: Reading): ReadableStream<Uint8Array> {
  const reader = new StreamReader(stream, reading);
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { text, isLast } = await reader.next();
      if (reader.isGone) return;
      controller.enqueue(encoder.encode(text));
      if (isLast) controller.close();
    },
    cancel: () => reader.leave(),
  });
}

class StreamReader {
  /** Undefined until `start` is said: it begins the answer, also where another run's words were heard before. */
  private place: Place | undefined;
  /** Ends a wait for the next change: whether there was one. */
  private wake: ((isChanged: boolean) => void) | undefined;
  private readonly silence: IdleTimer;
  isGone = false;

  constructor(
    private readonly stream: AnswerStream,
    private readonly reading: Reading,
  ) {
    const place = placeIn(stream.text, reading.lastEventId);
    if (place && !place.isDone && stream.begun) this.place = place;
    this.silence = new IdleTimer(reading.heartbeatMs ?? HEARTBEAT_MS, () => this.wake?.(false));
  }

  /** The next events, as soon as there is new text; after a while without any, a comment as heartbeat. */
  async next(): Promise<{ text: string; isLast: boolean }> {
    while (!this.isGone) {
      // Taken before looking, so that no change is missed.
      const { changed } = this.stream;
      const isLast = this.stream.end !== undefined;
      const events = await this.newEvents();
      if (isLast) this.silence.stop();
      if (events.length > 0) {
        this.silence.reset();
        return { text: events.map(toEvent).join(""), isLast };
      }
      if (!(await this.isChanged(changed))) return { text: toComment("still answering"), isLast: false };
    }
    return { text: "", isLast: true };
  }

  /** The client has hung up. */
  leave(): void {
    this.isGone = true;
    this.silence.stop();
    this.wake?.(true);
  }

  private isChanged(changed: Promise<void>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.wake = resolve;
    void changed.then(() => resolve(true));
    return promise;
  }

  private async newEvents(): Promise<StreamEvent[]> {
    const { begun, text, end } = this.stream;
    const events: StreamEvent[] = [];
    const extra = begun && (!this.place || typeof end === "object") ? await this.reading.extra?.(begun) : undefined;
    if (begun && !this.place) {
      const data = { conversation_id: begun.conversationId, message_id: begun.messageId, ...extra };
      this.place = BEGINNING;
      events.push({ id: eventIdOf(this.place), event: "start", data });
    }
    if (this.place && text.length > this.place.length) {
      const said = text.slice(this.place.length);
      this.place = placeAfter(this.place, said);
      events.push({ id: eventIdOf(this.place), event: "delta", data: { text: said } });
    }
    if (end === "failed") events.push(this.failure());
    else if (end && this.place) events.push({ id: eventIdOf(this.place, true), event: "done", data: { ...end, ...extra } });
    return events;
  }

  private failure(): StreamEvent {
    const error = { code: "internal_error", message: FAILED, request_id: this.reading.requestId } as const;
    return { id: eventIdOf(this.place ?? BEGINNING), event: "error", data: { error } };
  }
}

/** The caller of a stream, in a form that can be passed to a Durable Object. */
export interface StreamCaller {
  /** For errors and the log. */
  requestId: string;
  lastEventId?: string | undefined;
  /** The visitor whose token `start` and `done` hold; their id is null where only the turn tells it. Nobody over the API. */
  visitor?: { agentId: string; visitorId: string | null; anonId: string } | undefined;
}

/** The reading of a stream for its caller. A visitor's first event also holds their token, with which they can resume the stream. */
export function readingOf(env: Env, { visitor, ...caller }: StreamCaller): Reading {
  if (!visitor) return caller;
  const { agentId, anonId } = visitor;
  const extra = async (begun: Begun) => {
    const named = { agentId, visitorId: visitor.visitorId ?? begun.visitorId! };
    return { visitor_token: await mintVisitorToken(named, secretValues(env.KEY_SECRET)[0], Date.now()), anon_id: anonId };
  };
  return { ...caller, extra };
}
