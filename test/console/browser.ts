import { exports } from "cloudflare:workers";
import { newAddress } from "../harness.ts";

/** A browser with a page of the console: it keeps cookies and sends the page's headers. */
export interface Browser {
  readonly cookie: string | undefined;
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: any; headers: Headers }>;
  /** Opens the live channel; collects its messages. */
  live(headers?: Record<string, string>): Promise<Live>;
}

export interface Live {
  status: number;
  send(message: unknown): void;
  /** The next message that fits. */
  next(fits: (message: any) => boolean): Promise<any>;
  /** The messages that `next` has not given. */
  unread: readonly any[];
  close(): void;
  closed: Promise<number>;
  /** Why it was closed. */
  closeReason: Promise<string>;
}

/** @param origin of the service, as the browser sees it. */
export function openBrowser(origin = "https://service.test", cookie?: string): Browser {
  const jar = { cookie };
  const address = newAddress();
  const fetchAs = (path: string, init: RequestInit) => exports.default.fetch(new Request(origin + path, init));
  return {
    get cookie() {
      return jar.cookie;
    },
    call: async (method, path, body, headers) => {
      const own = { "X-Support-Agent-Console": "1", "Sec-Fetch-Site": "same-origin", ...(method !== "GET" && { Origin: origin }) };
      const response = await fetchAs(path, {
        method,
        headers: {
          ...address,
          ...own,
          ...(jar.cookie && { Cookie: jar.cookie }),
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const [set] = response.headers.getSetCookie();
      if (set) jar.cookie = set.includes("Max-Age=0") ? undefined : set.split(";")[0];
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : text };
    },
    live: async (headers) => {
      const response = await fetchAs("/console/live", {
        headers: { ...address, Upgrade: "websocket", Origin: origin, ...(jar.cookie && { Cookie: jar.cookie }), ...headers },
      });
      return collect(response);
    },
  };
}

/** Opens the socket of a response, and collects its messages. */
export function collect({ status, webSocket }: Response): Live {
  const received: any[] = [];
  let waiting: (() => void)[] = [];
  const closing = new Promise<CloseEvent>((resolve) => webSocket?.addEventListener("close", resolve));
  const closed = closing.then(({ code }) => code);
  const closeReason = closing.then(({ reason }) => reason);
  webSocket?.addEventListener("message", ({ data }) => {
    received.push(data === "pong" ? data : JSON.parse(String(data)));
    for (const wake of waiting.splice(0)) wake();
  });
  webSocket?.accept();
  const next = async (fits: (message: any) => boolean): Promise<any> => {
    for (;;) {
      const at = received.findIndex(fits);
      if (at >= 0) return received.splice(at, 1)[0];
      await new Promise<void>((resolve) => (waiting = [...waiting, resolve]));
    }
  };
  const send = (message: unknown) => webSocket!.send(message === "ping" ? message : JSON.stringify(message));
  return { status, next, closed, closeReason, unread: received, send, close: () => webSocket!.close(1000) };
}
