import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../../shared/ports.ts";
import { ApiError, type Call, D1, Products, Queues, type Routes, Vectorize } from "./account.ts";
import { Workers } from "./workers.ts";

/** The account that the stand-in is. */
export const ACCOUNT = { id: "0123456789abcdef0123456789abcdef", name: "Stand-in" };

/** Paths to which a POST only asks. */
const ASKING = /^(graphql|analytics_engine\/sql)$/;

/**
 * The part of the Cloudflare API that a deployment reaches, on this machine: it keeps what it is sent, refuses what the
 * real one would, and records every call. A call that it does not know is refused, so that a new one is noticed.
 */
export class CloudflareStandIn {
  /** The accounts of the login. */
  readonly accounts = [ACCOUNT];
  readonly routes: Routes = [
    [/^GET user\/tokens\/verify$/, () => ({ id: "token", status: "active" })],
    [/^GET user$/, () => ({ id: "user", email: "operator@example.com" })],
    [/^GET accounts$/, () => this.accounts],
    [/^GET memberships$/, () => this.accounts.map((account) => ({ id: "membership", account }))],
  ];
  readonly d1: D1 = new D1();
  readonly queues: Queues = new Queues();
  readonly vectorize: Vectorize = new Vectorize();
  readonly products: Products = new Products();
  readonly workers: Workers = new Workers(
    ({ type, id, queue_name: queue, index_name: index }) => {
      if (type === "analytics_engine" && this.products.metrics !== "on")
        throw new ApiError(
          403,
          10_089,
          "You need to enable Analytics Engine. Head to the Cloudflare Dashboard to enable:\n  https://dash.cloudflare.com/",
        );
      if (type === "queue") return this.queues.names.includes(queue ?? "");
      if (type === "vectorize") return this.vectorize.indexes.some(({ name }) => name === index);
      return type !== "d1" || this.d1.find(id ?? "") !== undefined;
    },
    () => this.queues.names.some((name) => this.queues.consumersOf(name).length > 0),
  );
  readonly calls: Call[] = [];
  /** Calls that are refused as if the API were down, as `METHOD path`. */
  down: RegExp | undefined;
  readonly #server: Server = createServer((request, response) => void this.#respond(request, response));

  /** Starts the server. Returns the URL of the API. */
  async listen(): Promise<string> {
    return `${await listen(this.#server)}/client/v4`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** The calls that change something, as `METHOD path` without identifiers. */
  changes(): string[] {
    const isRead = ({ method, path, body }: Call) =>
      method === "GET" || ASKING.test(path) || (path.endsWith("/query") && /"sql":"\s*(SELECT|CREATE TABLE IF NOT EXISTS)/.test(body));
    return this.calls.filter((call) => !isRead(call)).map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/g, "…")}`);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request);
    const { status, body } = this.#answer(request, sent);
    // The answer to an upload names the hash of the file.
    const headers = { "Content-Type": "application/json", ETag: createHash("md5").update(sent).digest("hex") };
    response.writeHead(status, headers).end(JSON.stringify(body));
  }

  #answer(request: IncomingMessage, body: string) {
    const url = new URL(request.url ?? "", "http://api");
    const path = url.pathname.replace(/^\/client\/v4\//, "").replace(`accounts/${ACCOUNT.id}/`, "");
    const call: Call = { method: request.method ?? "", path, query: url.searchParams, body, origin: `http://${request.headers.host}` };
    this.calls.push(call);
    try {
      if (call.path === "graphql") return { status: 200, body: this.#graph() };
      return { status: 200, body: { success: true, errors: [], messages: [], result: this.#route(call) ?? null } };
    } catch (error) {
      const { status, code, message } = error instanceof ApiError ? error : new ApiError(500, 10_013, String(error));
      return { status, body: { success: false, errors: [{ code, message }], messages: [], result: null } };
    }
  }

  #graph() {
    const isReadable = this.products.metrics !== "unreadable";
    return isReadable
      ? { data: { viewer: { accounts: [{}] } }, errors: null }
      : { data: null, errors: [{ message: "not authorized for that account" }] };
  }

  #route(call: Call): unknown {
    const request = `${call.method} ${call.path}`;
    if (this.down?.test(request)) throw new ApiError(403, 10_000, "Authentication error");
    for (const { routes } of [this, this.d1, this.queues, this.vectorize, this.workers, this.products]) {
      for (const [pattern, handle] of routes) {
        const found = pattern.exec(request);
        if (found) return handle(call, decodeURIComponent(found[1] ?? ""));
      }
    }
    throw new ApiError(404, 7_003, `The stand-in does not know ${request}`);
  }
}
