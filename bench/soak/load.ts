import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { PreparedRequest } from "../load.ts";
import type { Fields, SoakClient, SoakResponse } from "./client.ts";

/** The kinds of requests, and how often each comes. */
const WEIGHTS = { ask: 6, stream: 4, lead: 4, source: 2, answer: 2, removal: 1, reply: 2, erasure: 1 };

export type Kind = keyof typeof WEIGHTS;
/** Each kind as often as it comes. */
const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) => Array<Kind>(weight).fill(kind as Kind));

/** A request of the load, and its outcome. */
export interface Deed {
  kind: Kind;
  /** A word that occurs nowhere else: by it the check finds what was stored. */
  marker: string;
  request: PreparedRequest;
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
}

/** The agents that the load is sent to. */
export interface Target {
  client: SoakClient;
  /** The agent for questions. */
  agentId: string;
  /** The agent for sources and curated answers. */
  scratchAgentId: string;
}

const LANES = 6;
/** The share of requests that are repeated; the others are never sent again, as by a client that gives up. */
const REPEATED_SHARE = 0.75;
const CONTINUED_SHARE = 0.3;
/** Pauses keep the load below what the machine can do. */
const PAUSE_MS = 300;
const RETRY_AFTER_MS = 1_000;
/** The number of paragraphs of a text source. */
const PARAGRAPHS = 12;

/** Keeps requests under way until `stop`, then repeats what was not answered. */
export class Load {
  readonly deeds: Deed[] = [];
  private readonly target: Target;
  private readonly pending: { deed: Deed; atMs: number }[] = [];
  private isStopped = false;
  private lanes: Promise<unknown> = Promise.resolve();

  constructor(target: Target) {
    this.target = target;
  }

  start(): void {
    this.lanes = Promise.all(Array.from({ length: LANES }, () => this.runLane()));
  }

  /** Starts nothing new, and ends when each request has its response. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.lanes;
  }

  private async runLane(): Promise<void> {
    while (!this.isStopped || this.pending.length > 0) {
      const due = this.pending.findIndex(({ atMs }) => atMs <= Date.now());
      if (due >= 0) await this.attempt(this.pending.splice(due, 1)[0]!.deed);
      else if (!this.isStopped) await this.attempt(this.newDeed());
      await sleep(randomInt(PAUSE_MS));
    }
  }

  private async attempt(deed: Deed): Promise<void> {
    deed.attempts++;
    const response = await this.target.client.send(deed.request);
    const ids = response?.events?.get("start");
    // A repeated request must return the message of the first one.
    if (deed.response.message_id && ids?.message_id && ids.message_id !== deed.response.message_id) deed.outcome = "refused";
    if (ids) deed.response = { ...deed.response, ...ids };
    if (isDone(deed, response)) {
      deed.outcome = "acknowledged";
      deed.response = { ...deed.response, ...response!.body };
    } else if (response?.body.error?.message_id) {
      deed.outcome = "acknowledged";
      deed.response = { ...response.body.error };
    } else if (deed.isRepeated && isWorthRepeating(response)) {
      this.pending.push({ deed, atMs: Date.now() + RETRY_AFTER_MS });
    } else if (ids) deed.outcome = "acknowledged";
    else deed.outcome = response === undefined ? "unknown" : "refused";
    if (deed.outcome === "refused") console.error(`${deed.kind} answered ${response?.status}: ${JSON.stringify(response?.body)}`);
  }

  private newDeed(): Deed {
    const kind = KINDS[randomInt(KINDS.length)]!;
    // Letters alone remain one word, however a text is divided.
    const marker = `zq${[...randomBytes(10)].map((byte) => String.fromCodePoint(97 + (byte % 26))).join("")}`;
    const request = this.requestOf(kind, marker);
    if (!request) return this.newDeed();
    const isRepeated = kind === "erasure" || kind === "removal" || Math.random() < REPEATED_SHARE;
    // A visitor has no idempotency key: the same details are the same lead.
    const key = isRepeated && kind !== "lead" && { headers: { "Idempotency-Key": marker } };
    const deed: Deed = { kind, marker, attempts: 0, isRepeated, response: {}, request: { ...request, ...key } };
    this.deeds.push(deed);
    return deed;
  }

  /** Returns undefined if no record exists yet that the request could be about. */
  private requestOf(kind: Kind, marker: string): PreparedRequest | undefined {
    const { agentId, scratchAgentId } = this.target;
    const post = (path: string, body: object): PreparedRequest => ({ method: "POST", path: `/api/v1${path}`, body });
    const remove = (path: string): PreparedRequest => ({ method: "DELETE", path: `/api/v1${path}` });
    const scratch = `/agents/${scratchAgentId}`;
    switch (kind) {
      case "ask":
      case "stream": {
        const isContinued = Math.random() < CONTINUED_SHARE;
        const earlier = isContinued ? this.acknowledged("ask", ({ response }) => response.needs_human === false) : undefined;
        const person = { user: (earlier?.request.body as { user?: object } | undefined)?.user ?? { id: `u-${marker}` } };
        const conversation = earlier && { conversation_id: earlier.response.conversation_id };
        const message = `How long does a refund take to be paid? ${marker}`;
        return post(`/agents/${agentId}/messages`, { message, ...person, ...conversation, ...(kind === "stream" && { stream: true }) });
      }
      case "lead": {
        const headers = { "CF-Connecting-IP": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}` };
        const body = { name: marker, email: `${marker}@example.com` };
        return { method: "POST", path: `/widget/v1/agents/${agentId}/leads`, headers, body };
      }
      case "source":
        return post(`${scratch}/sources`, { type: "text", name: marker, text: textOf(marker), schedule: "manual" });
      case "answer":
        return post(`${scratch}/answers`, { question: `What is ${marker}?`, answer: `It is ${marker}.` });
      case "removal": {
        const isRemoved = (id = "") => this.deeds.some(({ request }) => request.path.endsWith(`/${id}`));
        const answer = this.acknowledged("answer", ({ response }) => !isRemoved(response.id));
        return answer && remove(`${scratch}/answers/${answer.response.id}`);
      }
      case "reply": {
        const asked = this.acknowledged("ask");
        return asked && post(`/conversations/${asked.response.conversation_id}/messages`, { content: marker });
      }
      case "erasure": {
        // An erasure also removes the messages of others, so conversations that others wrote to are left out.
        const asked = this.acknowledged("stream", (deed) => !this.isShared(deed));
        const { user } = (asked?.request.body ?? {}) as { user?: { id: string } };
        return user && remove(`/privacy/visitors?external_id=${user.id}`);
      }
    }
  }

  private acknowledged(kind: Kind, fits: (deed: Deed) => boolean = () => true): Deed | undefined {
    const found = this.deeds.filter((deed) => deed.kind === kind && deed.outcome === "acknowledged" && fits(deed));
    return found[found.length === 0 ? 0 : randomInt(found.length)];
  }

  /** Whether the request continues a conversation of another one, or its person is being erased. */
  private isShared({ request }: Deed): boolean {
    const { conversation_id: continued, user } = request.body as { conversation_id?: string; user: { id: string } };
    return continued !== undefined || this.deeds.some(({ request }) => request.path.endsWith(`=${user.id}`));
  }
}

function isDone({ kind, request }: Deed, response: SoakResponse | undefined): boolean {
  if (!response) return false;
  if (response.events) return response.events.has("done");
  // A repeated removal finds nothing.
  return response.status < 300 || (kind === "removal" && request.method === "DELETE" && response.status === 404);
}

/** Whether there was no response, a failure of the service, or the first request with this key is still in progress. */
function isWorthRepeating(response: SoakResponse | undefined): boolean {
  return !response || response.events !== undefined || response.status >= 500 || response.status === 409 || response.status === 429;
}

function textOf(marker: string): string {
  const paragraph = (at: number) =>
    `# Part ${at}\n\nThe device ${marker} has a setting number ${at}. It is found in the menu and takes effect at once.`;
  return Array.from({ length: PARAGRAPHS }, (_, at) => paragraph(at)).join("\n\n");
}
