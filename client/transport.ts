import type { Schemas } from "./widget-schema.ts";

/** What a client of any surface of the service is made with. */
export interface TransportOptions {
  /** Where the service is, without a path: "https://support.example.com". */
  baseUrl: string;
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
  operationId: string;
  status: number;
  /** Among them `X-Request-Id`, and `X-Unknown-Fields` where the request had fields that the service does not know. */
  headers: Headers;
  /** Null where something else than the service answered, such as a proxy, and on the surfaces that do not tell it. */
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

export interface SignalOptions {
  /** Ends the call, a wait between two tries included, with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Those of every surface: visitors meet all of them. */
export type ErrorCode = Schemas["Error"]["error"]["code"];

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

export const DEFAULT_RETRIES = 2;
const DEFAULT_MAX_WAIT_SECONDS = 60;
/** Between two tries where nobody answered, and so nobody said how long. It is what the service's streams say. */
export const UNANSWERED_WAIT_SECONDS = 2;

/** Parameters of path and query, and the body, of any operation. */
type Input = Record<string, unknown>;

/** Sends an operation's request. */
export type Send = (id: string, input: Input, options: SignalOptions, lastEventId?: string) => Promise<Response>;

/** What the clients of the surfaces differ in. */
export interface Surface {
  routes: Readonly<Record<string, readonly [method: string, path: string, body?: "form"]>>;
  /** What it authenticates with now. */
  token: () => string | undefined;
  /** The key by which a repeated POST is done once; undefined where the operation takes none. */
  idempotencyKey: (id: string, options: object) => string | undefined;
}

/** Sends requests until one gets through. One that would be done twice is not sent again where nobody answered. */
export function senderOf({ routes, token, idempotencyKey }: Surface, options: TransportOptions): Send {
  const { baseUrl, retries = DEFAULT_RETRIES, maxWaitSeconds = DEFAULT_MAX_WAIT_SECONDS, wait = sleep } = options;
  const { fetch = (url, init) => globalThis.fetch(url, init), onResponse } = options;
  return async (id, input, own, lastEventId) => {
    const { signal } = own;
    const [method, path, bodyType] = routes[id]!;
    const key = method === "POST" ? idempotencyKey(id, own) : undefined;
    const bearsRepeating = method !== "POST" || key !== undefined;
    const init = { ...requestOf({ method, bodyType, token: token(), key, lastEventId }, input.body), ...(signal && { signal }) };
    const url = baseUrl.replace(/(?<!\/)\/+$/, "") + locationOf(path, input);
    for (let left = retries; ; left--) {
      const response = await fetch(url, init).catch((error: unknown) => {
        if (left === 0 || signal?.aborted || !bearsRepeating) throw error;
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

/** What a request is made of, beside its body. */
interface RequestParts {
  method: string;
  bodyType: "form" | undefined;
  token: string | undefined;
  key: string | undefined;
  lastEventId: string | undefined;
}

function requestOf({ method, bodyType, token, key, lastEventId }: RequestParts, body: unknown): RequestInit {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (lastEventId !== undefined) headers["Last-Event-ID"] = lastEventId;
  if (body === undefined) return { method, headers };
  // A form names its boundary itself.
  if (bodyType === "form") return { method, headers, body: formOf(body) };
  return { method, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** A method for each operation, by its operationId: it gives the record that is answered, or the text. */
export function methodsOf({ routes }: Surface, send: Send): object {
  const call = async (id: string, input: Input = {}, own: SignalOptions = {}) => {
    const response = await send(id, input, own);
    if (response.status === 204) return undefined;
    const isText = response.headers.get("Content-Type")?.startsWith("application/x-ndjson");
    return isText ? new TextDecoder().decode(await response.arrayBuffer()) : response.json();
  };
  const methods = Object.keys(routes).map((id) => [id, (input?: Input, own?: SignalOptions) => call(id, input, own)]);
  return Object.fromEntries(methods);
}

/**
 * A visitor's key of a question, by which the service answers it once however often it is sent. It is a UUIDv7, since it also says
 * when the question was asked. Pages without TLS have no `crypto.randomUUID`.
 */
export function newQuestionKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  const hex = Date.now().toString(16).padStart(12, "0") + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-7$3-8$4-$5");
}

type Method<Given, Answer, Options> = {} extends Given
  ? (input?: Given, options?: Options) => Promise<Answer>
  : (input: Given, options?: Options) => Promise<Answer>;

/** The methods of a surface, by its operations. */
export type MethodsFor<Operations extends { [Id in keyof Operations]: { input: unknown; answer: unknown } }, Options> = {
  [Id in keyof Operations]: Method<Operations[Id]["input"], Operations[Id]["answer"], Options>;
};

/** The fields of a form: files and texts as they are, all else as JSON. */
function formOf(body: unknown): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body as object)) {
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined) form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return form;
}

/** Waits; rejects with the signal's reason when that aborts. */
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
