import { exports } from "cloudflare:workers";
import { createParser, type EventSourceMessage } from "eventsource-parser";

/** An event of a stream with its parsed data. */
export interface StreamEvent {
  id: string | undefined;
  event: string | undefined;
  data: any;
}

/** A stream that a client reads event by event. */
export interface OpenStream {
  status: number;
  headers: Headers;
  /** The next event; undefined at the end of the stream. */
  next(): Promise<StreamEvent | undefined>;
  /** All remaining events. */
  rest(): Promise<StreamEvent[]>;
  /** Closes the connection. */
  drop(): Promise<void>;
}

/** Sends a request as a client would, and reads the response as events. */
export async function openStream(
  method: string,
  path: string,
  options: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<OpenStream> {
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set("Authorization", `Bearer ${options.token}`);
  if (options.body !== undefined) headers.set("Content-Type", "application/json");
  const body = options.body === undefined ? {} : { body: JSON.stringify(options.body) };
  const response = await exports.default.fetch(new Request(`http://service.test${path}`, { method, headers, ...body }));
  return { status: response.status, headers: response.headers, ...readEvents(response.body) };
}

/** Reads events from bytes. */
export function readEvents(body: ReadableStream<Uint8Array> | null): Pick<OpenStream, "next" | "rest" | "drop"> {
  const events: StreamEvent[] = [];
  const onEvent = ({ id, event, data }: EventSourceMessage) => void events.push({ id, event, data: JSON.parse(data) });
  const parser = createParser({ onEvent });
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<StreamEvent | undefined> => {
    while (events.length === 0) {
      const read = await reader?.read();
      if (!read || read.done) return undefined;
      parser.feed(decoder.decode(read.value, { stream: true }));
    }
    return events.shift();
  };
  const rest = async () => {
    const all: StreamEvent[] = [];
    for (let event = await next(); event; event = await next()) all.push(event);
    return all;
  };
  return { next, rest, drop: async () => reader?.cancel() };
}

/** The text of an answer as a client assembles it: `start` empties it, and each `delta` is appended. */
export class Follower {
  text = "";
  starts = 0;
  lastEventId: string | undefined;
  messageId: string | undefined;
  done: any;

  take({ id, event, data }: StreamEvent): void {
    this.lastEventId = id;
    if (event === "start") {
      this.text = "";
      this.starts++;
      this.messageId = data.message_id;
    } else if (event === "delta") this.text += data.text;
    else if (event === "done") this.done = data;
  }

  /** Reads until the text has a given length, or to the end. */
  async follow(stream: Pick<OpenStream, "next">, length = Number.POSITIVE_INFINITY): Promise<this> {
    while (this.text.length < length) {
      const event = await stream.next();
      if (!event) break;
      this.take(event);
    }
    return this;
  }
}
