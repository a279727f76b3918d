import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { PreparedRequest } from "../load.ts";
import type { Fields, SoakClient, SoakResponse } from "./client.ts";

/** The kinds of requests, and how often each comes. */
const WEIGHTS = {
  ask: 12,
  stream: 8,
  cut: 4,
  visit: 4,
  mail: 2,
  lead: 8,
  reply: 4,
  source: 3,
  file: 1,
  crawl: 1,
  answer: 4,
  removal: 2,
  evaluation: 1,
  export: 2,
  erasure: 2,
};

export type Kind = keyof typeof WEIGHTS;
/** Each kind as often as it comes. */
const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) => Array<Kind>(weight).fill(kind as Kind));

/** Kinds that make a source. */
export const SOURCE_KINDS: ReadonlySet<Kind> = new Set<Kind>(["source", "file", "crawl"]);

/** A request of the load, and its outcome. */
export interface SoakRequest {
  kind: Kind;
  /** A word that occurs nowhere else: by it the check finds what was stored. */
  marker: string;
  prepared: PreparedRequest;
  /** How often it was sent. */
  attempts: number;
  /** Whether it is sent again until it is answered. */
  isRepeated: boolean;
  /**
   * `acknowledged`: it must have been done once. `refused`: nothing of it may be stored. `unknown`: its response was lost, and
   * it is not sent again, so that it may have been done once.
   */
  outcome?: "acknowledged" | "refused" | "unknown";
  /** The response that acknowledged it. */
  response: Fields;
  /** How long its first attempt took, if it was answered. */
  firstMs?: number;
  /** What was wrong in the response. */
  fault?: string;
}

/** The agents that the load is sent to. */
export interface Target {
  client: SoakClient;
  /** The agent for questions. */
  agentId: string;
  /** The agent for sources and curated answers. */
  scratchAgentId: string;
  /** The address of the first agent's mailbox. */
  mailbox: string;
  /** The origin of a website to read. */
  siteOrigin: string;
}

/** How many requests are under way at once, and the longest pause of a lane between two. */
export interface Pace {
  lanes: number;
  pauseMs: number;
}

const FAST: Pace = { lanes: 6, pauseMs: 300 };
/** The share of requests that are repeated; the others are never sent again, as by a client that gives up. */
const REPEATED_SHARE = 0.75;
const CONTINUED_SHARE = 0.3;
const RETRY_AFTER_MS = 1_000;
/** How long requests are repeated after the end of the load. */
const REPEAT_LIMIT_MS = 10 * 60_000;
/** The service keeps the ten latest of an agent. */
const MOST_EVALUATIONS = 10;
/** A crawl reads so many pages at most. */
const MAX_PAGES = 5;
/** The number of paragraphs of a text source. */
const PARAGRAPHS = 12;

/** Keeps requests under way until `stop`, then repeats what was not answered. */
export class Load {
  readonly requests: SoakRequest[] = [];
  private readonly target: Target;
  private readonly pending: { request: SoakRequest; atMs: number }[] = [];
  private stoppedMs: number | undefined;
  private lanes: Promise<unknown> = Promise.resolve();

  private readonly pace: Pace;

  /** @param pace its pauses keep the load below what the machine can do. */
  constructor(target: Target, pace = FAST) {
    this.target = target;
    this.pace = pace;
  }

  start(): void {
    this.lanes = Promise.all(Array.from({ length: this.pace.lanes }, () => this.runLane()));
  }

  /**
   * Starts nothing new, and ends when each request has its response.
   * @throws Error where a request is repeated for minutes in vain.
   */
  async stop(): Promise<void> {
    this.stoppedMs = Date.now();
    await this.lanes;
  }

  private async runLane(): Promise<void> {
    while (this.stoppedMs === undefined || this.pending.length > 0) {
      if (this.stoppedMs !== undefined && Date.now() > this.stoppedMs + REPEAT_LIMIT_MS) {
        throw new Error(
          `These requests are not answered: ${this.pending.map(({ request }) => `${request.kind} ${request.marker}`).join(", ")}`,
        );
      }
      const due = this.pending.findIndex(({ atMs }) => atMs <= Date.now());
      if (due >= 0) await this.attempt(this.pending.splice(due, 1)[0]!.request);
      else if (this.stoppedMs === undefined) await this.attempt(this.newRequest());
      await sleep(randomInt(this.pace.pauseMs));
    }
  }

  private async attempt(request: SoakRequest): Promise<void> {
    request.attempts++;
    await this.target.client.ready();
    const startMs = performance.now();
    const response = await this.perform(request);
    if (request.attempts === 1 && response && response.status < 300) request.firstMs = performance.now() - startMs;
    const ids = response?.events?.get("start");
    // A repeated request must return the message of the first one.
    if (request.response.message_id && ids?.message_id && ids.message_id !== request.response.message_id) request.outcome = "refused";
    if (ids) request.response = { ...request.response, ...ids };
    if (isDone(request, response)) {
      request.outcome = "acknowledged";
      request.response = { ...request.response, ...response!.body };
    } else if (response?.body.error?.message_id) {
      request.outcome = "acknowledged";
      request.response = { ...response.body.error };
    } else if (request.isRepeated && isWorthRepeating(response)) {
      this.pending.push({ request, atMs: Date.now() + RETRY_AFTER_MS });
      if (request.attempts % 10 === 0) console.error(`${request.kind} was sent ${request.attempts} times: ${JSON.stringify(response)}`);
    } else if (ids) request.outcome = "acknowledged";
    else request.outcome = response === undefined ? "unknown" : "refused";
    if (request.kind === "visit" && request.outcome === "acknowledged") await this.visit(request);
    if (request.kind === "export" && request.outcome === "acknowledged") checkExport(request);
    if (request.outcome === "refused") console.error(`${request.kind} answered ${response?.status}: ${JSON.stringify(response?.body)}`);
  }

  private async perform({ kind, marker, prepared }: SoakRequest): Promise<SoakResponse | undefined> {
    const { client, mailbox } = this.target;
    if (kind === "mail") return client.mail(addressOf(marker), mailbox, prepared.body as string);
    return kind === "cut" ? client.cut(prepared) : client.send(prepared);
  }

  /** A visitor follows the conversation, and the team replies. */
  private async visit(request: SoakRequest): Promise<void> {
    const { client } = this.target;
    const { conversation_id: id, visitor_token: token } = request.response;
    if (!id || !token) return;
    const messages = `conversations/${id}/messages`;
    const content = `Reply to ${request.marker}`;
    let reply: SoakResponse | undefined;
    const isTold = await client.follow(id, token, async () => {
      reply = await client.send({ method: "POST", path: `/api/v1/${messages}`, body: { content } });
    });
    if (reply?.status !== 201) return;
    if (isTold === false) request.fault = "the socket did not tell of the reply";
    const headers = { Authorization: `Bearer ${token}` };
    const read = await client.send({ method: "GET", path: `/widget/v1/${messages}`, headers });
    const found = read?.status === 200 && read.body.data?.filter((message) => message.content === content).length;
    if (found !== undefined && found !== false && found !== 1) request.fault = `the visitor reads ${found} replies instead of 1`;
  }

  private newRequest(): SoakRequest {
    const kind = KINDS[randomInt(KINDS.length)]!;
    // Letters alone remain one word, however a text is divided.
    const marker = `zq${[...randomBytes(10)].map((byte) => String.fromCodePoint(97 + (byte % 26))).join("")}`;
    const prepared = this.prepare(kind, marker);
    if (!prepared) return this.newRequest();
    const mustSucceed = kind === "erasure" || kind === "removal" || kind === "mail";
    // A visitor has no idempotency key: the same details are the same lead, and the same question is another one.
    const isRepeated = mustSucceed || (kind !== "visit" && Math.random() < REPEATED_SHARE);
    const key = isRepeated && kind !== "lead" && { headers: { "Idempotency-Key": marker } };
    const request: SoakRequest = { kind, marker, attempts: 0, isRepeated, response: {}, prepared: { ...prepared, ...key } };
    this.requests.push(request);
    return request;
  }

  /** Returns undefined if no record exists yet that the request could be about. */
  private prepare(kind: Kind, marker: string): PreparedRequest | undefined {
    const { agentId, scratchAgentId } = this.target;
    const post = (path: string, body: object): PreparedRequest => ({ method: "POST", path: `/api/v1${path}`, body });
    const remove = (path: string): PreparedRequest => ({ method: "DELETE", path: `/api/v1${path}` });
    const scratch = `/agents/${scratchAgentId}`;
    switch (kind) {
      case "ask":
      case "cut":
      case "stream": {
        const isContinued = Math.random() < CONTINUED_SHARE;
        const earlier = isContinued ? this.acknowledged("ask", ({ response }) => response.needs_human === false) : undefined;
        const person = { user: (earlier?.prepared.body as { user?: object } | undefined)?.user ?? { id: `u-${marker}` } };
        const conversation = earlier && { conversation_id: earlier.response.conversation_id };
        const message = `How long does a refund take to be paid? ${marker}`;
        return post(`/agents/${agentId}/messages`, { message, ...person, ...conversation, ...(kind !== "ask" && { stream: true }) });
      }
      case "visit": {
        const body = { message: `How long does a refund take to be paid? ${marker}` };
        return { method: "POST", path: `/widget/v1/agents/${agentId}/messages`, headers: randomAddress(), body };
      }
      case "mail":
        return { method: "POST", path: "", body: mailOf(marker, this.target.mailbox) };
      case "lead": {
        const headers = randomAddress();
        const body = { name: marker, email: `${marker}@example.com` };
        return { method: "POST", path: `/widget/v1/agents/${agentId}/leads`, headers, body };
      }
      case "source":
        return post(`${scratch}/sources`, { type: "text", name: marker, text: textOf(marker), schedule: "manual" });
      case "file": {
        const body = new FormData();
        body.append("name", marker);
        body.append("file", new File([textOf(marker)], "device.md"));
        return { ...post(`${scratch}/sources/files`, {}), body };
      }
      case "crawl": {
        const url = `${this.target.siteOrigin}/?of=${marker}`;
        return post(`${scratch}/sources`, { type: "website", name: marker, url, max_pages: MAX_PAGES, schedule: "manual" });
      }
      case "evaluation": {
        if (this.requests.filter((request) => request.kind === "evaluation").length >= MOST_EVALUATIONS) return undefined;
        const cases = [{ question: `What is ${marker}?`, expect: { refusal: true } }];
        return post(`${scratch}/evaluations`, { name: marker, cases });
      }
      case "export": {
        const asked = this.acknowledged("ask");
        const { user } = (asked?.prepared.body ?? {}) as { user?: { id: string } };
        return user && { method: "GET", path: `/api/v1/privacy/export?external_id=${user.id}&of=${asked!.response.conversation_id}` };
      }
      case "answer":
        return post(`${scratch}/answers`, { question: `What is ${marker}?`, answer: `It is ${marker}.` });
      case "removal": {
        const isRemoved = (id = "") => this.requests.some(({ prepared }) => prepared.path.endsWith(`/${id}`));
        const [removed, list] = Math.random() < 0.5 ? (["answer", "answers"] as const) : (["source", "sources"] as const);
        const record = this.acknowledged(removed, ({ response }) => !isRemoved(response.id));
        return record && remove(`${scratch}/${list}/${record.response.id}`);
      }
      case "reply": {
        const asked = this.acknowledged("ask");
        return asked && post(`/conversations/${asked.response.conversation_id}/messages`, { content: marker });
      }
      case "erasure": {
        // An erasure also removes the messages of others, so conversations that others wrote to are left out.
        const asked = this.acknowledged("stream", (request) => !this.isShared(request));
        const { user } = (asked?.prepared.body ?? {}) as { user?: { id: string } };
        return user && remove(`/privacy/visitors?external_id=${user.id}`);
      }
    }
  }

  private acknowledged(kind: Kind, fits: (request: SoakRequest) => boolean = () => true): SoakRequest | undefined {
    const found = this.requests.filter((request) => request.kind === kind && request.outcome === "acknowledged" && fits(request));
    return found[found.length === 0 ? 0 : randomInt(found.length)];
  }

  /** Whether the request continues a conversation of another one, or its person is being erased. */
  private isShared({ prepared }: SoakRequest): boolean {
    const { conversation_id: continued, user } = prepared.body as { conversation_id?: string; user: { id: string } };
    return continued !== undefined || this.requests.some(({ prepared }) => prepared.path.endsWith(`=${user.id}`));
  }
}

function isDone({ kind, prepared }: SoakRequest, response: SoakResponse | undefined): boolean {
  if (!response) return false;
  if (response.events) return response.events.has("done");
  // A repeated removal finds nothing.
  return response.status < 300 || (kind === "removal" && prepared.method === "DELETE" && response.status === 404);
}

/** Whether there was no response, a failure of the service, or the first request with this key is still in progress. */
function isWorthRepeating(response: SoakResponse | undefined): boolean {
  return !response || response.events !== undefined || response.status >= 500 || response.status === 409 || response.status === 429;
}

/** Checks that the export of a person has the conversation that they were acknowledged. */
function checkExport(request: SoakRequest): void {
  const wanted = new URLSearchParams(request.prepared.path.split("?")[1]).get("of");
  if (!request.response.conversations?.some(({ id }) => id === wanted)) request.fault = `conversation ${wanted} is not in the export`;
  request.response = {};
}

function randomAddress(): Record<string, string> {
  return { "CF-Connecting-IP": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}` };
}

function addressOf(marker: string): string {
  return `visitor@${marker}.example`;
}

function mailOf(marker: string, mailbox: string): string {
  const from = addressOf(marker);
  const question = `How long does a refund take to be paid? ${marker}`;
  const lines = [`From: Ada <${from}>`, `To: ${mailbox}`, "Subject: Refund", `Message-ID: <${marker}@example.net>`, "", question, ""];
  return lines.join("\r\n");
}

function textOf(marker: string): string {
  const paragraph = (at: number) =>
    `# Part ${at}\n\nThe device ${marker} has a setting number ${at}. It is found in the menu and takes effect at once.`;
  return Array.from({ length: PARAGRAPHS }, (_, at) => paragraph(at)).join("\n\n");
}
