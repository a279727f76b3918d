import { type AnswerKey, readEvents, runTools, type StreamEvent, type ToolFunctions } from "../../client/stream.ts";
import { ApiError } from "../../client/transport.ts";
import type { Api, ApiAnswer, VisitorError } from "./api.ts";

/** The events of a question, in this order. A second `start` discards the answer so far. */
export type AnswerEvent =
  | StreamEvent<ApiAnswer, { visitor_token?: string }>
  /** The request failed, but the service has the question and will answer it. */
  | { type: "start"; conversation_id: string; message_id: string; visitor_token: string | undefined }
  /** The connection was lost and will be opened again. */
  | { type: "reconnecting" }
  /** The whole answer has been read before. */
  | { type: "complete" };

/** A connection is dead after this time without data, since the service sends a comment every 15 s. */
const SILENCE_MS = 35_000;
export const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** The attempts to send a question before the visitor is asked to try again. Once the service has it, its answer is awaited without end. */
const MAX_SENDS = 5;

/** A question, with proof of who asks. */
export interface Question {
  message: string;
  /** The ids of its uploaded files. */
  attachments: readonly string[];
  /** The idempotency key, which is the same for each attempt. */
  key: string;
  identity: string | undefined;
  turnstile: string | undefined;
  /** The tools that the page runs. */
  tools: ToolFunctions;
}

/**
 * Asks the agent and reads its answer to the end. If the connection is lost before the service has the question, the question is sent
 * again under the same key; afterwards the stream is resumed where it broke.
 * @throws ApiError, or TypeError if the question could not be sent.
 */
export async function* followAnswer(api: Api, question: Question): AsyncGenerator<AnswerEvent, void> {
  let answer: AnswerKey | undefined;
  let lastEventId: string | undefined;
  let results: unknown[] | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  attempts: for (let attempt = 1; ; attempt++) {
    const connection = new SilenceGuard(SILENCE_MS);
    try {
      const response = !answer
        ? await api.ask(question, connection.signal)
        : results
          ? await api.sendToolResults(answer, results, connection.signal)
          : await api.resume(answer, lastEventId, connection.signal);
      results = undefined;
      if (response.status === 204) return yield { type: "complete" };
      for await (const event of readEvents<ApiAnswer, { visitor_token?: string }>(response, () => connection.reset())) {
        if (event.type === "start" && event.message_id !== null) {
          answer = { conversation_id: event.conversation_id, message_id: event.message_id };
        }
        lastEventId = event.id;
        pauseMs = FIRST_PAUSE_MS;
        if (event.type === "done" && event.answer.required_action) {
          connection.stop();
          lastEventId = undefined;
          results = await runTools(withTimeouts(question.tools), event.answer.required_action.tool_calls);
          continue attempts;
        }
        yield event;
        if (event.type === "done") return;
      }
    } catch (error) {
      if (error instanceof ApiError) {
        const mayRecover = error.kept || error.status === 200 || (answer && error.status >= 500);
        if (!mayRecover) throw error;
        if (error.kept && !answer) yield { type: "start", ...error.kept, visitor_token: (error as VisitorError).token };
        answer = error.kept ?? answer;
      } else if (!answer && attempt >= MAX_SENDS && navigator.onLine) throw error;
    } finally {
      connection.stop();
    }
    yield { type: "reconnecting" };
    await pause(pauseMs);
    // The visitor may have left the conversation meanwhile.
    yield { type: "reconnecting" };
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** The service waits a minute for the tools of a page. */
const TOOL_TIMEOUT_MS = 50_000;

/** Returns the tools with a time limit for each call. */
function withTimeouts(tools: ToolFunctions): ToolFunctions {
  const limited = Object.entries(tools).map(([name, run]) => {
    const timeout = () => pause(TOOL_TIMEOUT_MS).then(() => Promise.reject(new Error("The tool took too long.")));
    return [name, (args: never) => Promise.race([run(args), timeout()])] as const;
  });
  return Object.fromEntries(limited);
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

/** Waits for a time, and then until the browser is online. */
export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  if (!navigator.onLine) await new Promise((resolve) => addEventListener("online", resolve, { once: true }));
}
