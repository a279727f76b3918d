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
  error?: { code: string; conversation_id?: string; message_id?: string };
}

/** All records of a list, and how many there are by the service's own count. */
interface List<Item> {
  total: number;
  data: Item[];
}

/** A killed process does not always close its connections at once. */
const REQUEST_MS = 15_000;
const ATTEMPTS = 6;

/** A client of a service that is killed and started again. */
export class SoakClient {
  private readonly service: KillableService;
  private readonly headers: Record<string, string>;

  constructor(service: KillableService, headers: Record<string, string>) {
    this.service = service;
    this.headers = headers;
  }

  /** Sends a request when the service runs; returns undefined if it was killed before it answered. */
  async send(request: PreparedRequest): Promise<SoakResponse | undefined> {
    const headers = { ...this.headers, ...request.headers };
    const port = await this.service.port;
    try {
      const response = await fetchFrom(port, { ...request, headers }, AbortSignal.timeout(REQUEST_MS));
      const { status } = response;
      if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) return { status, ...(await readEvents(response)) };
      const text = await response.text();
      return { status, body: text === "" ? {} : (JSON.parse(text) as Fields) };
    } catch {
      return undefined;
    }
  }

  /** Returns the body of a successful response, while nothing is killed. */
  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.send({ method, path, body });
      if (response && response.status < 300) return response.body as Body;
      if (attempt === ATTEMPTS) throw new Error(`${method} ${path} answered ${JSON.stringify(response)}`);
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
async function readEvents(response: Response): Promise<Pick<SoakResponse, "body" | "events">> {
  let received = "";
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) received += chunk;
  } catch {
    // The events before the break count.
  }
  const found = [...received.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(
    ([, name, data]) => [name!, JSON.parse(data!) as Fields] as const,
  );
  return { body: found.at(-1)?.[1] ?? {}, events: new Map(found) };
}
