import { ApiError, DEFAULT_RETRIES, type SignalOptions, sleep, type TransportOptions, UNANSWERED_WAIT_SECONDS } from "./transport.ts";

/** The events of a streamed answer, in order: `start`, any number of `delta`, `done`. A second `start` discards what came before it. */
export type StreamEvent<Answer, Start = {}> = { id: string } & (
  | ({ type: "start"; conversation_id: string; message_id: string | null } & Start)
  | { type: "delta"; text: string }
  /** A client tool to run. */
  | { type: "tool_call"; call: ToolCall }
  | { type: "done"; answer: Answer }
);

/** A call of a client tool. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** The client tools of a caller, by name. What a function returns is sent as JSON, unless it is a text; an error is sent as its message. */
export type ToolFunctions = Record<string, (args: never) => unknown>;

/** Runs the calls that an answer waits for. */
export function runTools(
  tools: ToolFunctions,
  calls: readonly ToolCall[],
): Promise<({ tool_call_id: string } & ({ content: string } | { error: string }))[]> {
  return Promise.all(
    calls.map(async ({ id: tool_call_id, name, arguments: args }) => {
      try {
        if (!Object.hasOwn(tools, name)) throw new Error("There is no tool of this name.");
        const result = await tools[name]!(args as never);
        return { tool_call_id, content: typeof result === "string" ? result : (JSON.stringify(result) ?? "") };
      } catch (error) {
        return { tool_call_id, error: (error instanceof Error && error.message) || "The tool failed." };
      }
    }),
  );
}

/** Identifies the answer of a stream. */
export interface AnswerKey {
  conversation_id: string;
  message_id: string;
}

/** The point at which a stream is resumed. */
export interface ResumePoint {
  answer?: AnswerKey;
  lastEventId?: string | undefined;
}

interface AnswerStream extends ResumePoint, SignalOptions {
  /** Opens the stream, after the last event that was read before. */
  open: (lastEventId: string | undefined) => Promise<Response>;
  /** Opens the stream again after its connection broke. */
  resume: (answer: AnswerKey, lastEventId: string | undefined) => Promise<Response>;
}

/** Reads the stream of an answer to its end, and resumes it when its connection breaks. */
export async function* followAnswer<Answer, Start = {}>(
  { open, resume, signal, answer, lastEventId }: AnswerStream,
  { retries = DEFAULT_RETRIES, wait = sleep }: TransportOptions,
): AsyncGenerator<StreamEvent<Answer, Start>, void> {
  let response = await open(lastEventId);
  for (let left = retries; ; left--) {
    try {
      for await (const event of readEvents<Answer, Start>(response)) {
        yield event;
        if (event.type === "done") return;
        if (event.type === "start" && event.message_id !== null)
          answer = { conversation_id: event.conversation_id, message_id: event.message_id };
        lastEventId = event.id;
        left = retries;
      }
      // There are no more events: the caller has read the last one.
      if (response.status === 204) return;
      if (left === 0 || !answer) throw new Error("The stream ended before the answer did.");
    } catch (error) {
      if (error instanceof ApiError || left === 0 || !answer || signal?.aborted) throw error;
    }
    await wait(UNANSWERED_WAIT_SECONDS * 1000, signal);
    response = await resume(answer, lastEventId);
  }
}

/**
 * Reads the events of a stream. The service ends lines with "\n", writes data on one line, and sends comments to keep the connection open.
 * @param onChunk called for each chunk that is received, including comments.
 * @throws ApiError with the status 200 if the service reports that the answer failed.
 */
export async function* readEvents<Answer, Start = {}>(
  response: Response,
  onChunk?: () => void,
): AsyncGenerator<StreamEvent<Answer, Start>, void> {
  if (!response.body) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      onChunk?.();
      const blocks = (text + decoder.decode(read.value, { stream: true })).split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const fields = Object.fromEntries(
          block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
        );
        if (fields["data"] !== undefined) yield eventOf(fields, response);
      }
    }
  } finally {
    // If reading failed, the connection is closed already.
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf<Answer, Start>(
  { id = "", event: type, data = "{}" }: Record<string, string>,
  response: Response,
): StreamEvent<Answer, Start> {
  const read = JSON.parse(data);
  if (type === "error") throw new ApiError(response, read);
  if (type === "tool_call") return { id, type, call: read };
  return type === "done" ? { id, type, answer: read } : { id, type, ...read };
}
