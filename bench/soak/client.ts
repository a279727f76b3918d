import { setTimeout as sleep } from "node:timers/promises";
import { fetchFrom, type PreparedRequest } from "../load.ts";
import type { KillableService } from "./killable-service.ts";

/** A response of the service. */
export interface SoakResponse {
  status: number;
  /** The body; of a stream the data of its last event. */
  body: Fields;
  /** The data of the last event of each name, of a stream. */
  events?: Map<string, Fields>;
}

/** The fields of the responses that are read. */
export interface Fields {
  id?: string;
  answer?: string;
  conversation_id?: string;
  message_id?: string | null;
  needs_human?: boolean;
  visitor_token?: string;
  error?: { code: string; conversation_id?: string; message_id?: string };
  /** Of a list. */
  data?: { content: string }[];
  /** Of the export of a person. */
  conversations?: { id: string }[];
}

/** All records of a list, and how many there are by the service's own count. */
interface List<Item> {
  total: number;
  data: Item[];
}

/** The path to which the platform's own email handler listens. */
const MAIL_PATH = "/cdn-cgi/local/email";
/** How long a visitor's page waits for the news of a reply. */
const NEWS_MS = 30_000;
/** A killed process does not always close its connections at once. */
const REQUEST_MS = 15_000;
/** While nothing is killed, a request that is slow because the machine is busy is not broken off. */
const CALL_MS = 120_000;
const ATTEMPTS = 6;

/** A client of a service that is killed and started again. */
export class SoakClient {
  private readonly service: KillableService;
  private readonly headers: Record<string, string>;
  /** Why a request was not answered last. */
  private lastError: unknown;

  constructor(service: KillableService, headers: Record<string, string>) {
    this.service = service;
    this.headers = headers;
  }

  /** Waits until the service runs. */
  async ready(): Promise<void> {
    await this.service.addresses;
  }

  /** Sends a request when the service runs; returns undefined if it was killed before it answered, or did not answer in time. */
  async send(request: PreparedRequest, limitMs = REQUEST_MS): Promise<SoakResponse | undefined> {
    const headers = { ...this.headers, ...request.headers };
    const port = await this.service.port;
    try {
      const response = await fetchFrom(port, { ...request, headers }, AbortSignal.timeout(limitMs));
      const { status } = response;
      if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) return { status, ...(await readEvents(response)) };
      const text = await response.text();
      return { status, body: text === "" ? {} : (JSON.parse(text) as Fields) };
    } catch (error) {
      this.lastError = error;
      return undefined;
    }
  }

  /** Sends a mail to an agent's mailbox. */
  async mail(from: string, to: string, text: string): Promise<SoakResponse | undefined> {
    const { platformUrl } = await this.service.addresses;
    const url = new URL(`${MAIL_PATH}?${new URLSearchParams({ from, to }).toString()}`, platformUrl);
    try {
      const response = await fetch(url, { method: "POST", body: text, signal: AbortSignal.timeout(REQUEST_MS) });
      await response.text();
      return { status: response.status, body: {} };
    } catch {
      return undefined;
    }
  }

  /** Asks for a stream, breaks it off when it has begun, and resumes it to its end. */
  async cut(request: PreparedRequest): Promise<SoakResponse | undefined> {
    const headers = { ...this.headers, ...request.headers };
    const abort = new AbortController();
    let received = "";
    try {
      const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(REQUEST_MS)]);
      const response = await fetchFrom(await this.service.port, { ...request, headers }, signal);
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        return { status: response.status, body: (await response.json()) as Fields };
      }
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
        received += part;
        if (eventsIn(received).events.get("start")?.message_id) break;
      }
    } catch {
      // What came before the break counts.
    }
    abort.abort();
    const begun = eventsIn(received);
    const { conversation_id: conversationId, message_id: messageId } = begun.events.get("start") ?? {};
    // Without an answer, since a human has the conversation, the stream was read to its end.
    if (!conversationId || !messageId) return begun.events.has("done") ? { status: 200, ...begun } : undefined;
    const lastId = [...received.matchAll(/^id: (.*)\nevent: .*\ndata: .*\n\n/gm)].at(-1)?.[1];
    const path = `/api/v1/conversations/${conversationId}/messages/${messageId}/stream`;
    const rest = await this.send({ method: "GET", path, headers: lastId === undefined ? {} : { "Last-Event-ID": lastId } });
    const events = new Map([...begun.events, ...(rest?.events ?? [])]);
    return { status: rest?.status ?? 200, body: rest?.events?.size ? rest.body : begun.body, events };
  }

  /**
   * Follows a conversation as its visitor's page, while the work is done. @returns whether news of it came; undefined if the service
   * was killed meanwhile.
   */
  async follow(conversationId: string, visitorToken: string, work: () => Promise<unknown>): Promise<boolean | undefined> {
    const { port } = await this.service.addresses;
    const path = `/widget/v1/conversations/${conversationId}/live`;
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, ["support-agent", visitorToken]);
    const [opened, told] = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean | undefined>()];
    socket.addEventListener("open", () => opened.resolve(true));
    socket.addEventListener("message", () => told.resolve(true));
    // A server that was killed closes nothing in the order of the protocol.
    socket.addEventListener("close", ({ wasClean }) => {
      opened.resolve(false);
      told.resolve(wasClean ? false : undefined);
    });
    const timer = setTimeout(() => {
      opened.resolve(false);
      told.resolve(false);
    }, NEWS_MS);
    try {
      if (!(await opened.promise)) return undefined;
      await work();
      return await told.promise;
    } finally {
      clearTimeout(timer);
      socket.close();
    }
  }

  /** Returns the body of a successful response, while nothing is killed. */
  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.send({ method, path, body }, CALL_MS);
      // A removal whose response was lost finds nothing when it is repeated.
      const isRemoved = method === "DELETE" && attempt > 1 && response?.status === 404;
      if (response && (response.status < 300 || isRemoved)) return response.body as Body;
      if (attempt === ATTEMPTS) {
        throw new Error(`${method} ${path} answered ${JSON.stringify(response)}`, { cause: this.lastError });
      }
      await sleep(1_000);
    }
  }

  /** Returns every record of a list. */
  async list<Item>(path: string): Promise<List<Item>> {
    const data: Item[] = [];
    const first = `${path}${path.includes("?") ? "&" : "?"}limit=100`;
    for (let url = first; ;) {
      const page = await this.call<{ data: Item[]; total: number; has_more: boolean; next_cursor?: string | null }>("GET", url);
      data.push(...page.data);
      if (!page.has_more) return { total: page.total, data };
      url = `${first}&${page.next_cursor ? `cursor=${encodeURIComponent(page.next_cursor)}` : `offset=${data.length}`}`;
    }
  }
}

/** Reads a stream of events until it ends or breaks off. */
async function readEvents(response: Response): Promise<{ body: Fields; events: Map<string, Fields> }> {
  let received = "";
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) received += chunk;
  } catch {
    // The events before the break count.
  }
  return eventsIn(received);
}

function eventsIn(received: string): { body: Fields; events: Map<string, Fields> } {
  const found = [...received.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(
    ([, name, data]) => [name!, JSON.parse(data!) as Fields] as const,
  );
  return { body: found.at(-1)?.[1] ?? {}, events: new Map(found) };
}
