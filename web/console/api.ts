import { ApiError, createClient } from "../../client/index.ts";

export type { Schemas } from "../../client/index.ts";

let onRefused: () => void = () => undefined;

/** Calls back when a request was refused because nobody is signed in any more. */
export function whenRefused(callback: () => void): void {
  onRefused = callback;
}

/** Sends a request with the session's cookie, and the header without which the cookie counts nothing. */
export async function fetchAsConsole(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete("Authorization");
  headers.set("X-Support-Agent-Console", "1");
  const response = await fetch(url, { ...init, headers, credentials: "same-origin" });
  if (response.status === 401 && !url.endsWith("/console/session")) onRefused();
  return response;
}

/** The workspace's API. It is tried once more where the network fails: a page shows an error sooner than a backend does. */
export const api = createClient({ baseUrl: location.origin, apiKey: "session", fetch: fetchAsConsole, retries: 1, maxWaitSeconds: 2 });

/**
 * A request that no client has a method for: sign-in, downloads.
 * @throws ApiError.
 */
export async function request<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await send(method, path, body);
  return response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer);
}

/** The body of a GET as a file. */
export async function download(path: string, accept: string): Promise<Blob> {
  return (await send("GET", path, undefined, accept)).blob();
}

async function send(method: string, path: string, body?: unknown, accept = "application/json"): Promise<Response> {
  const isForm = body instanceof FormData;
  const response = await fetchAsConsole(location.origin + path, {
    method,
    headers: { Accept: accept, ...(body !== undefined && !isForm && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  if (response.ok) return response;
  const error = (await response.json().catch(() => ({}))) as ConstructorParameters<typeof ApiError>[1];
  throw new ApiError(response, error);
}

/** What to tell a person of an error. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.detail.length > 0 ? error.detail.map(detailText).join(" ") : error.message;
  return navigator.onLine ? "The service did not answer. Try again." : "You are offline. Try again once you are connected.";
}

function detailText({ loc, msg }: ApiError["detail"][number]): string {
  const field = loc.slice(1).join(".");
  return field === "" ? `${msg}.` : `${field}: ${msg}.`;
}
