import { setTimeout as sleep } from "node:timers/promises";
import type { KillableService } from "./killable-service.ts";

/** A request of the load. */
export interface SoakRequest {
  method: string;
  path: string;
  body?: unknown;
  /** Makes it safe to repeat. */
  key?: string;
  /** The client address that it seems to come from. */
  address?: string;
}

/** What came back. */
export interface SoakResponse {
  status: number;
  /** The body; of a stream the data of its last event. */
  body: Fields;
  /** The events of a stream, by name, each with its last data. */
  events?: Map<string, Fields>;
}

/** What of the responses is read. */
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

/** A process that is killed does not always close its connections at once. */
const REQUEST_MS = 15_000;

/** A client of a service that comes and goes. */
export class SoakClient {
  private readonly service: KillableService;
  private readonly authorization: string;

  constructor(service: KillableService, token: string) {
    this.service = service;
    this.authorization = `Bearer ${token}`;
  }

  /** Sends a request to the service once it runs; undefined where it died before it answered. */
  async send({ method, path, body, key, address }: SoakRequest): Promise<SoakResponse | undefined> {
    const port = await this.service.port;
    const headers: Record<string, string> = { Authorization: this.authorization, "Content-Type": "application/json" };
    if (key !== undefined) headers["Idempotency-Key"] = key;
    if (address !== undefined) headers["CF-Connecting-IP"] = address;
    const init = { method, headers, signal: AbortSignal.timeout(REQUEST_MS), ...(body !== undefined && { body: JSON.stringify(body) }) };
    let text = "";
    let status = 0;
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
      status = response.status;
      if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) return await readEvents(response);
      text = await response.text();
      return { status, body: text === "" ? {} : (JSON.parse(text) as Fields) };
    } catch {
      return undefined;
    }
  }

  /** The body of a successful response, for what is asked while nothing is killed. */
  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    for (let attempt = 0; ; attempt++) {
      const response = await this.send({ method, path, body });
      if (response && response.status < 300) return response.body as Body;
      if (attempt === 5) throw new Error(`${method} ${path} answered ${response?.status ?? "nothing"}: ${JSON.stringify(response?.body)}`);
      await sleep(1_000);
    }
  }

  /** Every record of a list. */
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

/** Reads a stream of events, as far as it comes. */
async function readEvents(response: Response): Promise<SoakResponse> {
  const events = new Map<string, Fields>();
  let [received, body]: [string, Fields] = ["", {}];
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) received += chunk;
  } catch {
    // It broke off: what came before counts.
  }
  for (const block of received.split("\n\n").slice(0, -1)) {
    const [, name] = /^event: (.*)$/m.exec(block) ?? [];
    const [, data] = /^data: (.*)$/m.exec(block) ?? [];
    if (name === undefined || data === undefined) continue;
    body = JSON.parse(data) as Fields;
    events.set(name, body);
  }
  return { status: response.status, body, events };
}
