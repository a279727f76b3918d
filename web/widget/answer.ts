import { type AnswerKey, readEvents, type StreamEvent } from "../../client/stream.ts";
import { ApiError } from "../../client/transport.ts";
import type { Api, ApiAnswer } from "./api.ts";

/** What happens to a question, in this order; `start` may come again, and the answer then begins anew. */
export type AnswerEvent =
  | StreamEvent<ApiAnswer, { visitor_token?: string }>
  /** The connection was lost, and is made again. */
  | { type: "reconnecting" }
  /** The whole answer was read already. */
  | { type: "complete" };

/** The service sends a comment every 15 s: a connection that is silent for longer is dead. */
const SILENCE_MS = 35_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** How often a question is sent before the visitor is asked. Once it is taken, its answer is waited for. */
const MAX_SENDS = 5;

/** A question and what proves who asks. */
export interface Question {
  message: string;
  /** The same for each attempt to send it. */
  key: string;
  identity: string | undefined;
  turnstile: string | undefined;
}

/**
 * Asks the agent and follows its answer to the end. A lost connection is made again: before the question is taken by sending
 * it once more under its key, afterwards by taking up the stream where it broke.
 * @throws ApiError; TypeError where the question could not be sent.
 */
export async function* followAnswer(api: Api, question: Question): AsyncGenerator<AnswerEvent, void> {
  let place: AnswerKey | undefined;
  let lastEventId: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (let attempt = 1; ; attempt++) {
    const connection = new SilenceGuard(SILENCE_MS);
    try {
      const { message, key, identity, turnstile } = question;
      const response = place
        ? await api.resume(place, lastEventId, connection.signal)
        : await api.ask(message, key, { identity, turnstile }, connection.signal);
      if (response.status === 204) return yield { type: "complete" };
      for await (const event of readEvents<ApiAnswer, { visitor_token?: string }>(response, () => connection.reset())) {
        if (event.type === "start" && event.message_id !== null) {
          place = { conversation_id: event.conversation_id, message_id: event.message_id };
        }
        lastEventId = event.id;
        pauseMs = FIRST_PAUSE_MS;
        yield event;
        if (event.type === "done") return;
      }
    } catch (error) {
      if (error instanceof ApiError) {
        const mayRecover = error.kept || error.status === 200 || (place && error.status >= 500);
        if (!mayRecover) throw error;
        place = error.kept ?? place;
      } else if (!place && attempt >= MAX_SENDS && navigator.onLine) throw error;
    } finally {
      connection.stop();
    }
    yield { type: "reconnecting" };
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Aborts a request whose connection has been silent for too long. */
class SilenceGuard {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly limitMs: number) {
    this.reset();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  reset(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(), this.limitMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.controller.abort();
  }
}

/** Waits, and longer while the browser is offline. */
async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  if (!navigator.onLine) await new Promise((resolve) => addEventListener("online", resolve, { once: true }));
}
