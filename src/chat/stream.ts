import type { ChatAnswer } from "./wire.ts";

/** What is known of an answer before its first word. */
export interface Begun {
  conversationId: string;
  /** The agent's message; null where a human has the conversation and the agent stays silent. */
  messageId: string | null;
  visitorId: string | null;
}

/**
 * An answer while it is written, shared by all its readers: the text so far, which has the length limit of answers, and
 * how it ended. Each reader takes new text at its own pace; the writer waits for none.
 */
export class AnswerStream {
  private written = "";
  private known: Begun | undefined;
  private outcome: ChatAnswer | "failed" | undefined;
  private change = Promise.withResolvers<void>();

  /** The finished stream of a stored answer. */
  static of(answer: ChatAnswer): AnswerStream {
    const stream = new AnswerStream();
    stream.begin({ conversationId: answer.conversation_id, messageId: answer.message_id, visitorId: null });
    stream.finish(answer);
    return stream;
  }

  get begun(): Begun | undefined {
    return this.known;
  }

  get text(): string {
    return this.written;
  }

  get end(): ChatAnswer | "failed" | undefined {
    return this.outcome;
  }

  /** Settles at the next change of any kind. */
  get changed(): Promise<void> {
    return this.change.promise;
  }

  begin(begun: Begun): void {
    this.known = begun;
    this.wake();
  }

  say(text: string): void {
    this.written += text;
    this.wake();
  }

  /** @param answer the whole answer, of which the stream's text so far is the beginning; the rest is emitted now. */
  finish(answer: ChatAnswer): void {
    this.written = answer.answer;
    this.outcome = answer;
    this.wake();
  }

  /** Ends the stream with an error, since its run failed; the next run has a stream of its own. */
  fail(): void {
    this.outcome = "failed";
    this.wake();
  }

  private wake(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }
}

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

/** FNV-1a: the check of a text's beginning can be carried on with what follows. It guards against mix-ups, not against attacks. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const FORM = /^(\d{1,9})-([0-9a-z]{1,7})(-done)?$/;

/**
 * A position in an answer: the length of the text up to it, and a checksum of that text. It does not depend on how the
 * answer was cut into events, so that it can also be found in a stored answer.
 */
export interface Place {
  length: number;
  check: number;
}

export const BEGINNING: Place = { length: 0, check: FNV_BASIS };

/** The position after some more text. */
export function placeAfter({ length, check }: Place, text: string): Place {
  let hash = check;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  return { length: length + text.length, check: hash };
}

/** The id of the event that ends at a position: `<length>-<check>`, with `-done` after the last event. */
export function eventIdOf({ length, check }: Place, isDone = false): string {
  return `${length}-${check.toString(36)}${isDone ? "-done" : ""}`;
}

/**
 * The position that an event id names in an answer.
 * @param text the answer, as far as it is known.
 * @returns undefined when the id does not fit this text: another run's, not reached yet, or malformed.
 */
export function placeIn(text: string, eventId: string | undefined): (Place & { isDone: boolean }) | undefined {
  const [, length, check, done] = FORM.exec(eventId ?? "") ?? [];
  if (length === undefined || Number(length) > text.length) return undefined;
  const place = placeAfter(BEGINNING, text.slice(0, Number(length)));
  const isDone = done !== undefined;
  if (place.check.toString(36) !== check || (isDone && place.length < text.length)) return undefined;
  return { ...place, isDone };
}
