import type { Schemas } from "./widget-schema.ts";

/** The options of the client of any API of the service. */
export interface TransportOptions {
  /** The address of the service, without a path: "https://support.example.com". */
  baseUrl: string;
  /** How often a request is repeated that failed or was asked to wait. 2 by default. */
  retries?: number | undefined;
  /**
   * The longest wait that the service may ask for, in seconds; if it asks for more, the error is thrown. 60 by default, the window of the
   * rate limit.
   */
  maxWaitSeconds?: number | undefined;
  /** Sends requests; the runtime's `fetch` by default. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Waits between two attempts; a timer by default. It rejects with the signal's reason when the signal aborts. */
  wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Called with each response, including errors and responses that lead to another attempt. */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
}

/** The facts of a response besides its body. */
export interface ResponseInfo {
  operationId: string;
  status: number;
  /** They include `X-Request-Id`, and `X-Unknown-Fields` if the request had fields that the service does not know. */
  headers: Headers;
  /** Null if something other than the service answered, such as a proxy, and for APIs that do not report it. */
  rateLimit: RateLimit | null;
}

/** The rate limit of the workspace, which all its keys share. */
export interface RateLimit {
  /** Requests that may be made in any 60 seconds. */
  limit: number;
  /** Requests that are left now. */
  remaining: number;
  /** When all requests are available again if no more are sent. */
  resetAt: Date;
}

export interface SignalOptions {
  /** Aborts the call, including a wait between two attempts, with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The error codes of every API. The visitors' API has all of them. */
export type ErrorCode = Schemas["Error"]["error"]["code"];

/** An error that the service answered. `message` says what to do; `code` is for programs. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** "unexpected" if something other than the service answered, such as a proxy. */
  readonly code: ErrorCode | "unexpected";
  /** The status of the response; 200 if a stream failed after it began. */
  readonly status: number;
  /** Quote this when you report the error to the operator of the service. */
  readonly requestId: string | null;
  /** The seconds to wait before the next attempt; null if the service names none. */
  readonly retryAfter: number | null;
  /** The question that the service stored and will still answer, although the request failed: do not ask it again. */
  readonly kept: { conversation_id: string; message_id: string } | null;
  /** The failed checks of a `validation_error`; empty for other errors. */
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

export const DEFAULT_RETRIES = 2;
const DEFAULT_MAX_WAIT_SECONDS = 60;
/** The wait after an attempt that got no answer. The service's streams name the same time. */
export const UNANSWERED_WAIT_SECONDS = 2;

/** The parameters of path and query, and the body, of any operation. */
type Input = Record<string, unknown> & { body?: object };

/** Sends the request of an operation. */
export type Send = (id: string, input: Input, options: SignalOptions, lastEventId?: string) => Promise<Response>;

/** The differences between the APIs of the service. */
export interface Surface {
  routes: Readonly<Record<string, readonly [method: string, path: string]>>;
  /** Encodes a body that has a file as a form; undefined for a body without a file. An API without files leaves it out. */
  toForm?: (body: object) => FormData | undefined;
  /** The token that authenticates the next request. */
  token: () => string | undefined;
  /** The key with which a repeated POST takes effect once; undefined for an operation that takes none. */
  idempotencyKey: (id: string, options: object) => string | undefined;
}

/** Creates the function that sends requests with retries. A request that got no answer is only repeated if it cannot take effect twice. */
export function createSender({ routes, toForm, token, idempotencyKey }: Surface, options: TransportOptions): Send {
  const { baseUrl, retries = DEFAULT_RETRIES, maxWaitSeconds = DEFAULT_MAX_WAIT_SECONDS, wait = sleep } = options;
  const { fetch = (url, init) => globalThis.fetch(url, init), onResponse } = options;
  return async (id, input, own, lastEventId) => {
    const { signal } = own;
    const [method, path] = routes[id]!;
    const key = method === "POST" ? idempotencyKey(id, own) : undefined;
    const isRepeatable = method !== "POST" || key !== undefined;
    const init = { ...requestOf({ method, toForm, token: token(), key, lastEventId }, input.body), ...(signal && { signal }) };
    const url = baseUrl.replace(/(?<!\/)\/+$/, "") + locationOf(path, input);
    let isRepeated = false;
    for (let left = retries; ; left--) {
      const response = await fetch(url, init).catch((error: unknown) => {
        if (left === 0 || signal?.aborted || !isRepeatable) throw error;
        isRepeated = true;
      });
      if (response) onResponse?.({ operationId: id, status: response.status, headers: response.headers, rateLimit: rateLimitOf(response) });
      if (response?.ok) return response;
      // An earlier attempt has deleted the record, but its response was lost.
      if (response?.status === 404 && method === "DELETE" && isRepeated) return new Response(null, { status: 204 });
      const waitSeconds = response ? (secondsOf(response.headers) ?? Infinity) : UNANSWERED_WAIT_SECONDS;
      if (response && (left === 0 || waitSeconds > maxWaitSeconds)) throw await errorOf(response);
      await response?.body?.cancel();
      await wait(waitSeconds * 1000, signal);
    }
  };
}

interface RequestParts {
  method: string;
  toForm: Surface["toForm"];
  token: string | undefined;
  key: string | undefined;
  lastEventId: string | undefined;
}

function requestOf({ method, toForm, token, key, lastEventId }: RequestParts, body: object | undefined): RequestInit {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (lastEventId !== undefined) headers["Last-Event-ID"] = lastEventId;
  if (body === undefined) return { method, headers };
  // The runtime sets the content type of a form, which names its boundary.
  const form = toForm?.(body);
  if (form) return { method, headers, body: form };
  return { method, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** Creates a method for each operation, named by its operationId, which returns the answered record or text. */
export function createMethods({ routes }: Surface, send: Send): object {
  const call = async (id: string, input: Input = {}, own: SignalOptions = {}) => {
    const response = await send(id, input, own);
    if (response.status === 204) return undefined;
    const isText = /^(?:application\/x-ndjson|text\/csv)\b/.test(response.headers.get("Content-Type") ?? "");
    return isText ? new TextDecoder().decode(await response.arrayBuffer()) : response.json();
  };
  const methods = Object.keys(routes).map((id) => [id, (input?: Input, own?: SignalOptions) => call(id, input, own)]);
  return Object.fromEntries(methods);
}

/**
 * Creates the idempotency key of a visitor's question. It is a UUIDv7, because it also says when the question was asked. Pages without
 * TLS have no `crypto.randomUUID`.
 */
export function newQuestionKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  const hex = Date.now().toString(16).padStart(12, "0") + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-7$3-8$4-$5");
}

type Method<Given, Answer, Options> = {} extends Given
  ? (input?: Given, options?: Options) => Promise<Answer>
  : (input: Given, options?: Options) => Promise<Answer>;

/** The methods of an API, by its operations. */
export type MethodsFor<Operations extends { [Id in keyof Operations]: { input: unknown; answer: unknown } }, Options> = {
  [Id in keyof Operations]: Method<Operations[Id]["input"], Operations[Id]["answer"], Options>;
};

/** Waits; rejects with the signal's reason when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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

/** The seconds of `Retry-After`; null without the header, and if it is a date or 0, which the service never sends. */
function secondsOf(headers: Headers): number | null {
  const seconds = Number(headers.get("Retry-After"));
  return seconds > 0 ? seconds : null;
}

function rateLimitOf({ headers }: Response): RateLimit | null {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => headers.get(`X-RateLimit-${name}`));
  if (!limit || !remaining || !reset) return null;
  return { limit: Number(limit), remaining: Number(remaining), resetAt: new Date(Number(reset) * 1000) };
}

/** Fills the parameters of a path in, and appends the others as its query. */
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
