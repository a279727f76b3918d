import { exports } from "cloudflare:workers";
import { type ClientOptions, createClient } from "../../client/index.ts";

/** A request as the client sent it. */
export interface Sent {
  method: string;
  path: string;
  headers: Headers;
  body: string | undefined;
}

/** A proxy between the client and the service, which passes a request on or answers it. */
type Between = (pass: () => Promise<Response>, sent: Sent) => Promise<Response>;

/** The options of a client of the running service. They record the requests, and the waits instead of waiting. */
export function networkOf(between: Between = (pass) => pass()) {
  const sent: Sent[] = [];
  const waitedMs: number[] = [];
  const options = {
    baseUrl: "http://service.test/",
    fetch: (url: string, init: RequestInit) => {
      const { pathname: path } = new URL(url);
      const one: Sent = { method: init.method!, path, headers: new Headers(init.headers), body: init.body as string | undefined };
      sent.push(one);
      return between(() => exports.default.fetch(new Request(url, init)), one);
    },
    wait: async (ms: number) => void waitedMs.push(ms),
  };
  return { options, sent, waitedMs };
}

/** A client of a workspace, on such a network. */
export function clientOf(apiKey: string, own: Partial<ClientOptions> = {}, between?: Between) {
  const { options, ...network } = networkOf(between);
  return { client: createClient({ ...options, apiKey, ...own }), ...network };
}
