/*
 * A client of the Support Agent Service, for backends: it needs `fetch` and Web Crypto, and no other package.
 *
 *   const client = createClient({ baseUrl: "https://support.example.com", apiKey: process.env.API_KEY! });
 *   const { answer } = await client.askAgent({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { type Operations, ROUTES, type Schemas } from "./schema.ts";

export type { Operations, Schemas } from "./schema.ts";
export { verifyWebhook, type WebhookEvent, WebhookVerificationError } from "./webhook.ts";

type OperationId = keyof Operations;

export type ErrorCode = Schemas["Error"]["error"]["code"];

export interface ClientOptions {
  /** Where the service is, without a path: "https://support.example.com". */
  baseUrl: string;
  /** A workspace API key. It is a secret: never ship it to a browser. */
  apiKey: string;
  /** How often a request is sent again that did not get through, or was told to wait. 2 by default. */
  retries?: number | undefined;
  /** The longest wait that is sat out, in seconds; past it the error is thrown. 60, a rate limit's whole window, by default. */
  maxWaitSeconds?: number | undefined;
  /** What sends requests; the runtime's own by default. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** What waits between two tries; a timer by default. It rejects with the signal's reason when that aborts. */
  wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Called with each response as it arrives, also with those that are errors or lead to another try. */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
}

/** What a response says beside its body. */
export interface ResponseInfo {
  operationId: OperationId;
  status: number;
  /** Among them `X-Request-Id`, and `X-Unknown-Fields` where the request had fields that the service does not know. */
  headers: Headers;
  /** Null where something else than the service answered, such as a proxy. */
  rateLimit: RateLimit | null;
}

/** The rate limit of the workspace, all its keys together. */
export interface RateLimit {
  /** Requests that may be made in any 60 seconds. */
  limit: number;
  /** How many of them are left now. */
  remaining: number;
  /** When all of them are left again, if nothing more is sent. */
  resetAt: Date;
}

export interface CallOptions {
  /** Ends the call, a wait between two tries included, with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** For a POST: one that is repeated with the same key and body is done once. One is made up for each call by default. */
  idempotencyKey?: string | undefined;
}

/** What a streamed answer says, in order: `start`, any number of `delta`, `done`. A second `start` means: begin anew. */
export type AnswerEvent = { id: string } & (
  | { type: "start"; conversation_id: string; message_id: string | null }
  | { type: "delta"; text: string }
  | { type: "done"; answer: Schemas["ChatAnswer"] }
);

/** A question; whether to stream the answer is for the method to say. */
export interface Question {
  agent_id: string;
  body: Omit<Schemas["ChatIn"], "stream">;
}

type Method<Input, Answer> = {} extends Input
  ? (input?: Input, options?: CallOptions) => Promise<Answer>
  : (input: Input, options?: CallOptions) => Promise<Answer>;

type Methods = { [Id in OperationId]: Method<Operations[Id]["input"], Operations[Id]["answer"]> };

/** A method for each operation, by its operationId. Each throws an {@link ApiError} where the service answers one. */
export interface Client extends Omit<Methods, "askAgent" | "createChatCompletion" | "resumeAnswer"> {
  /** What OpenAI's own clients call, which stream it too. */
  createChatCompletion(
    question: { body: Omit<Schemas["ChatCompletionIn"], "stream" | "stream_options"> },
    options?: CallOptions,
  ): Promise<Schemas["ChatCompletion"]>;
  askAgent(question: Question, options?: CallOptions): Promise<Schemas["ChatAnswer"]>;
  /** Asks, and gives the answer as it is written. Where the connection breaks, it goes on from there. */
  streamAnswer(question: Question, options?: CallOptions): AsyncIterable<AnswerEvent>;
  /** Goes on with an answer's stream after the event with this id, or from its start. */
  resumeAnswer(
    answer: Operations["resumeAnswer"]["input"],
    options?: CallOptions & { lastEventId?: string | undefined },
  ): AsyncIterable<AnswerEvent>;
}

/** An answer that is an error. `message` says what to do; `code` is for programs. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** "unexpected" where something else than the service answered, such as a proxy. */
  readonly code: ErrorCode | "unexpected";
  /** The response's; 200 where a stream failed on its way. */
  readonly status: number;
  /** What to tell the service's operator. */
  readonly requestId: string | null;
  /** After how many seconds to try again, as the service says; null where it does not. */
  readonly retryAfter: number | null;
  /** The question that the service keeps and will answer, although the request failed: do not ask it again. */
  readonly kept: { conversation_id: string; message_id: string } | null;
  /** Every failed check of a `validation_error`; else empty. */
  readonly detail: Schemas["ValidationItem"][];

  constructor({ status, headers }: Pick<Response, "status" | "headers">, body: Partial<Schemas["ValidationError"]>) {
    super(body.error?.message ?? `The answer was ${status}, and not the service's.`);
    this.code = body.error?.code ?? "unexpected";
    this.status = status;
    this.requestId = body.error?.request_id ?? headers.get("X-Request-Id");
    this.retryAfter = secondsOf(headers);
    const { conversation_id, message_id } = body.error ?? {};
    this.kept = conversation_id && message_id ? { conversation_id, message_id } : null;
    this.detail = body.detail ?? [];
  }
}

const DEFAULT_RETRIES = 2;
const DEFAULT_MAX_WAIT_SECONDS = 60;
/** Between two tries where nobody answered, and so nobody said how long. It is what the service's streams say. */
const UNANSWERED_WAIT_SECONDS = 2;

/** Makes a client of one workspace. */
export function createClient(options: ClientOptions): Client {
  const send = senderOf(options);
  const call = async (id: OperationId, input: Input = {}, callOptions: CallOptions = {}) => {
    const response = await send(id, input, callOptions);
    return response.status === 204 ? undefined : response.json();
  };
  const ids = Object.keys(ROUTES) as OperationId[];
  const methods = Object.fromEntries(ids.map((id) => [id, (input?: Input, own?: CallOptions) => call(id, input, own)]));
  const follow = followerOf(send, options);
  return {
    ...(methods as unknown as Methods),
    streamAnswer: ({ agent_id, body }, own = {}) => follow(() => send("askAgent", { agent_id, body: { ...body, stream: true } }, own), own),
    resumeAnswer: (answer, { lastEventId, ...own } = {}) => follow((id) => send("resumeAnswer", answer, own, id), own, answer, lastEventId),
  };
}

interface ListInput {
  limit?: number | undefined;
  offset?: number | undefined;
  cursor?: string | undefined;
}

interface Page<Item> {
  data: Item[];
  offset: number;
  has_more: boolean;
  next_cursor?: string | null;
}

const LARGEST_PAGE = 100;

/** Every record of a list, page after page: `for await (const lead of paginate(client.listLeads, { q: "ann" })) …` */
export async function* paginate<Item, Query extends ListInput | undefined>(
  list: (input: Query) => Promise<Page<Item>>,
  ...[query]: undefined extends Query ? [query?: NoInfer<Query>] : [query: NoInfer<Query>]
): AsyncGenerator<Item, void> {
  let next = { limit: LARGEST_PAGE, ...query };
  for (;;) {
    const page = await list(next as Query);
    yield* page.data;
    if (!page.has_more || page.data.length === 0) return;
    const place = page.next_cursor ? { cursor: page.next_cursor, offset: undefined } : { offset: page.offset + page.data.length };
    next = { ...next, ...place };
  }
}

/** Parameters of path and query, and the body, of any operation. */
type Input = Record<string, unknown>;

type Send = (id: OperationId, input: Input, options: CallOptions, lastEventId?: string) => Promise<Response>;

/** Sends requests until one gets through. A repeated POST is done once, by its key; the other methods bear repeating. */
function senderOf(options: ClientOptions): Send {
  const { baseUrl, apiKey, retries = DEFAULT_RETRIES, maxWaitSeconds = DEFAULT_MAX_WAIT_SECONDS, wait = sleep } = options;
  const { fetch = (url, init) => globalThis.fetch(url, init), onResponse } = options;
  return async (id, input, { signal, idempotencyKey = crypto.randomUUID() }, lastEventId) => {
    const [method, path, bodyType]: readonly [string, string, "form"?] = ROUTES[id];
    const headers: Record<string, string> = { Authorization: `Bearer ${apiKey}` };
    if (method === "POST") headers["Idempotency-Key"] = idempotencyKey;
    if (lastEventId !== undefined) headers["Last-Event-ID"] = lastEventId;
    // That of a form names its boundary.
    if (input.body !== undefined && bodyType !== "form") headers["Content-Type"] = "application/json";
    const init: RequestInit = {
      method,
      headers,
      ...(input.body !== undefined && { body: bodyType === "form" ? formOf(input.body) : JSON.stringify(input.body) }),
      ...(signal && { signal }),
    };
    const url = baseUrl.replace(/(?<!\/)\/+$/, "") + locationOf(path, input);
    for (let left = retries; ; left--) {
      const response = await fetch(url, init).catch((error: unknown) => {
        if (left === 0 || signal?.aborted) throw error;
      });
      if (response) onResponse?.({ operationId: id, status: response.status, headers: response.headers, rateLimit: rateLimitOf(response) });
      if (response?.ok) return response;
      const waitSeconds = response ? (secondsOf(response.headers) ?? Infinity) : UNANSWERED_WAIT_SECONDS;
      if (response && (left === 0 || waitSeconds > maxWaitSeconds)) throw await errorOf(response);
      await response?.body?.cancel();
      await wait(waitSeconds * 1000, signal);
    }
  };
}

/** The fields of a form: files and texts as they are, all else as JSON. */
function formOf(body: unknown): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body as object)) {
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined) form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return form;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}

/** The seconds of a `Retry-After`; null without one, and where it is a date or 0, which the service never sends. */
function secondsOf(headers: Headers): number | null {
  const seconds = Number(headers.get("Retry-After"));
  return seconds > 0 ? seconds : null;
}

function rateLimitOf({ headers }: Response): RateLimit | null {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => headers.get(`X-RateLimit-${name}`));
  if (!limit || !remaining || !reset) return null;
  return { limit: Number(limit), remaining: Number(remaining), resetAt: new Date(Number(reset) * 1000) };
}

/** The path with its parameters filled in, and the others as its query. */
function locationOf(path: string, input: Input): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(input as Record<string, string | number | undefined>)) {
    if (value === undefined || name === "body") continue;
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, `${value}`);
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Partial<Schemas["ValidationError"]>;
  return new ApiError(response, body);
}

type Follow = (
  open: (lastEventId: string | undefined) => Promise<Response>,
  options: CallOptions,
  answer?: Operations["resumeAnswer"]["input"],
  lastEventId?: string,
) => AsyncGenerator<AnswerEvent, void>;

/** Reads an answer's stream to its end, and takes it up again where it breaks. */
function followerOf(send: Send, { retries = DEFAULT_RETRIES, wait = sleep }: ClientOptions): Follow {
  return async function* follow(open, options, answer, lastEventId) {
    let response = await open(lastEventId);
    for (let left = retries; ; left--) {
      try {
        for await (const event of readEvents(response)) {
          yield event;
          if (event.type === "done") return;
          if (event.type === "start" && event.message_id !== null)
            answer = { conversation_id: event.conversation_id, message_id: event.message_id };
          lastEventId = event.id;
          left = retries;
        }
        // Nothing to come: the event that was known is the last one.
        if (response.status === 204) return;
        if (left === 0 || !answer) throw new Error("The stream ended before the answer did.");
      } catch (error) {
        if (error instanceof ApiError || left === 0 || !answer || options.signal?.aborted) throw error;
      }
      await wait(UNANSWERED_WAIT_SECONDS * 1000, options.signal);
      response = await send("resumeAnswer", { ...answer }, options, lastEventId);
    }
  };
}

/** The events of a stream. The service ends lines with "\n", writes data on one line, and comments to keep the connection open. */
async function* readEvents(response: Response): AsyncGenerator<AnswerEvent, void> {
  if (!response.body) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
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
    // Where reading failed there is nothing left to hang up.
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf({ id = "", event: type, data = "{}" }: Record<string, string>, response: Response): AnswerEvent {
  const read = JSON.parse(data);
  if (type === "error") throw new ApiError(response, read);
  return type === "done" ? { id, type, answer: read } : { id, type, ...read };
}
