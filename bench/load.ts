import { Pool } from "undici";

/** A request that can be sent again and again. */
export interface PreparedRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/**
 * Sends the request again and again for so many seconds, over so many connections with one request at a time on each.
 * @throws Error where a response is not successful.
 */
export async function load(port: number, request: PreparedRequest, connections: number, seconds: number) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const { path } = request;
  const init = initOf(request);
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const lane = async () => {
    for (let nowMs = startMs; nowMs < startMs + seconds * 1000;) {
      const { statusCode, body } = await pool.request({ path, ...init });
      if (statusCode >= 300) throw new Error(`${request.method} ${path} answered ${statusCode}: ${await body.text()}`);
      await body.dump({ limit: Number.MAX_SAFE_INTEGER });
      const sentMs = nowMs;
      nowMs = performance.now();
      latenciesMs.push(nowMs - sentMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, lane));
    return { requestsPerSecond: (latenciesMs.length * 1000) / (performance.now() - startMs), latenciesMs };
  } finally {
    await pool.destroy();
  }
}

/** Sends one request and returns the response, whatever its status is. A form is sent as it is. */
export function fetchFrom(port: number, request: PreparedRequest, signal?: AbortSignal): Promise<Response> {
  const { method, headers = {}, body } = request;
  const init = body instanceof FormData ? { method, headers, body } : initOf(request);
  return fetch(`http://127.0.0.1:${port}${request.path}`, { ...init, ...(signal && { signal }) });
}

/**
 * Sends one request and returns the body of its response.
 * @throws Error where the response is not successful.
 */
export async function send<Answer>(port: number, request: PreparedRequest): Promise<Answer> {
  const response = await fetchFrom(port, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request.method} ${request.path} answered ${response.status}: ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

/** Returns a request as HTTP clients take it. */
export function initOf({ method, headers, body }: PreparedRequest) {
  return {
    method: method as "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    headers: { "Content-Type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}
