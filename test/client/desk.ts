import { exports } from "cloudflare:workers";
import { type ClientOptions, createClient } from "../../client/index.ts";

/** A request as the client sent it. */
export interface Sent {
  method: string;
  path: string;
  headers: Headers;
  body: string | undefined;
}

/** What stands between the client and the service: it passes a request on, or answers of its own. */
type Between = (pass: () => Promise<Response>, sent: Sent) => Promise<Response>;

/** A client of the running service, which notes what it sends, and what it waits for instead of waiting. */
export function clientOf(apiKey: string, options: Partial<ClientOptions> = {}, between: Between = (pass) => pass()) {
  const sent: Sent[] = [];
  const waitedMs: number[] = [];
  const client = createClient({
    baseUrl: "http://service.test/",
    apiKey,
    fetch: (url, init) => {
      const { pathname: path } = new URL(url);
      const one: Sent = { method: init.method!, path, headers: new Headers(init.headers), body: init.body as string | undefined };
      sent.push(one);
      return between(() => exports.default.fetch(new Request(url, init)), one);
    },
    wait: async (ms) => void waitedMs.push(ms),
    ...options,
  });
  return { client, sent, waitedMs };
}
