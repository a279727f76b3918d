import { ApiError, createClient } from "../../client/index.ts";
import { CONSOLE_HEADER } from "../../src/console/protocol.ts";
import { formatNumber } from "./ui/format.tsx";

export type { Schemas } from "../../client/index.ts";

let onRefused: () => void = () => undefined;

/** Registers the function that is called when a request is refused because the session has ended. */
export function whenRefused(callback: () => void): void {
  onRefused = callback;
}

/** The header that the service requires with the session's cookie, against cross-site requests. */
export const CONSOLE_HEADERS = { [CONSOLE_HEADER]: "1" };

/** How often the user has signed in on this page. */
let signIns = 0;

/** Notes that another session has begun, about which the responses to earlier requests say nothing. */
export function noteSignIn(): void {
  signIns++;
}

/**
 * Must be called when a request is sent.
 * @returns a function that takes the status of the response. If the status is 401, it reports that the session has ended, unless the
 *   user has signed in again since the request was sent.
 */
export function watchStatus(): (status: number) => void {
  const before = signIns;
  return (status) => {
    if (status === 401 && signIns === before) onRefused();
  };
}

/** Sends a request with the session's cookie. */
export async function fetchAsConsole(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete("Authorization");
  for (const [name, value] of Object.entries(CONSOLE_HEADERS)) headers.set(name, value);
  const onStatus = watchStatus();
  const response = await fetch(url, { ...init, headers, credentials: "same-origin" });
  if (!url.endsWith("/console/session")) onStatus(response.status);
  return response;
}

/** The API of the workspace. It makes fewer retries than a backend would, so that a page shows an error soon. */
export const api = createClient({ baseUrl: location.origin, apiKey: "session", fetch: fetchAsConsole, retries: 1, maxWaitSeconds: 2 });

/** Sends a request of the console's own API, which the client does not have. @throws ApiError */
export async function request<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await send(method, path, body);
  return response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer);
}

/** Downloads a whole list as CSV, which the service sends in parts. @throws ApiError */
export async function downloadCsv(path: string, query: Record<string, string>): Promise<Blob> {
  const parts: Blob[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const parameters = new URLSearchParams({ ...query, ...(cursor && { cursor }) });
    const read = () => send("GET", `${path}?${parameters}`, undefined, "text/csv");
    // A long list takes as many requests as the rate limit allows, which a second attempt waits for.
    const response: Response = await read().catch(async (error: unknown) => {
      if (!(error instanceof ApiError) || error.retryAfter === null) throw error;
      await new Promise((resolve) => setTimeout(resolve, error.retryAfter! * 1_000));
      return read();
    });
    parts.push(await response.blob());
    cursor = response.headers.get("X-Next-Cursor");
  }
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

async function send(method: string, path: string, body?: unknown, accept = "application/json"): Promise<Response> {
  const response = await fetchAsConsole(location.origin + path, {
    method,
    headers: { Accept: accept, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.ok) return response;
  const error = (await response.json().catch(() => ({}))) as ConstructorParameters<typeof ApiError>[1];
  throw new ApiError(response, error);
}

/** A problem of the user's input, with the path of the field that has it; the path is empty if no field has it. */
export interface Problem {
  path: string;
  text: string;
}

/** The user's input cannot be used; the message says why. */
export class InputError extends Error {
  readonly problems: readonly Problem[];

  /** @param field the name of the field that is wrong; undefined if there is no such field. */
  constructor(problem: string | readonly Problem[], field = "") {
    const problems = typeof problem === "string" ? [{ path: field, text: problem }] : problem;
    super(problems.map(({ text }) => text).join(" "));
    this.problems = problems;
  }
}

/** The code of a part of the console could not be loaded. A deployment removes it, and browsers keep the failure: only a reload helps. */
export class CodeError extends Error {}

/** Lists what an error says about the fields of a form. */
export function problemsOf(error: unknown): readonly Problem[] {
  if (error instanceof InputError) return error.problems;
  if (!(error instanceof ApiError) || error.detail.length === 0) return [{ path: "", text: errorText(error) }];
  return error.detail.map((item) => ({ path: item.loc.slice(1).join("."), text: wordsOf(item) }));
}

/** Returns an error whose problems are at other paths, for a form that edits a part of what was sent. */
export function movedError(error: unknown, move: (problem: Problem) => Problem): InputError {
  return new InputError(problemsOf(error).map(move));
}

/** Describes an error for the user. */
export function errorText(error: unknown): string {
  if (error instanceof InputError || error instanceof CodeError) return error.message;
  if (error instanceof ApiError && error.code === "payload_too_large") return "This is too large. Shorten it, or split it.";
  if (error instanceof ApiError) return error.detail.length > 0 ? problemsOf(error).map(problemText).join(" ") : error.message;
  return navigator.onLine ? "The service did not answer. Try again." : "You are offline. Try again once you are connected.";
}

/** Describes a problem, with its path where there is one. An entry of a list is named by its number. */
export function problemText({ path, text }: Problem): string {
  if (path === "") return text;
  return /^\d+$/.test(path) ? `Entry ${Number(path) + 1}: ${text}` : `${path}: ${text}`;
}

/** Describes a failed check of the API in the words of a form. */
function wordsOf({ type, msg, ctx = {} }: ApiError["detail"][number]): string {
  switch (type) {
    case "missing":
      return "Fill this in.";
    case "string_too_short":
      return ctx["min_length"] === 1 ? "Fill this in." : `Write at least ${String(ctx["min_length"])} characters.`;
    case "string_too_long":
      return `Write at most ${formatNumber(ctx["max_length"] as number)} characters.`;
    case "too_long":
      return `Give at most ${formatNumber(ctx["max_length"] as number)} entries.`;
    case "int_type":
      return "Write a whole number.";
    case "greater_than_equal":
      return `Write ${formatNumber(ctx["ge"] as number)} or more.`;
    case "less_than_equal":
      return `Write ${formatNumber(ctx["le"] as number)} or less.`;
    default:
      return `${msg.charAt(0).toUpperCase()}${msg.slice(1)}${msg.endsWith(".") ? "" : "."}`;
  }
}
