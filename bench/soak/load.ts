import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fields, SoakClient, SoakRequest, SoakResponse } from "./client.ts";

/** What the load consists of, and how often each comes. */
const WEIGHTS = { ask: 6, stream: 4, lead: 4, source: 2, answer: 2, removal: 1, reply: 2, erasure: 1 };

export type Kind = keyof typeof WEIGHTS;

/** Something that the load did, and what became of it. */
export interface Deed {
  kind: Kind;
  /** A word that stands nowhere else: by it the check finds what was stored. */
  marker: string;
  request: SoakRequest;
  /** How often it was sent. */
  attempts: number;
  /** Whether it is sent again until it is answered. */
  isRepeated: boolean;
  /**
   * `acknowledged`: it must have been done, once. `refused`: nothing of it may be there. `unknown`: its response was lost, and
   * it is not sent again: it may have been done, once.
   */
  outcome?: "acknowledged" | "refused" | "unknown";
  /** What acknowledged it. */
  response: Fields;
}

/** Where the load is sent. */
export interface Target {
  client: SoakClient;
  /** Is asked. */
  agentId: string;
  /** Gets sources and curated answers. */
  scratchAgentId: string;
}

const LANES = 6;
/** Of all requests: the others are never sent again, as by a client that gives up. */
const REPEATED_SHARE = 0.75;
const CONTINUED_SHARE = 0.3;
/** The load is not to be limited by the machine: what is under way when the service dies is what counts. */
const PAUSE_MS = 300;
const RETRY_AFTER_MS = 1_000;
/** Text sources are of this many paragraphs. */
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
    // A repeated request must join what the first one began.
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
    const kind = chooseKind();
    // Letters alone: one word, however a text is divided.
    const marker = `zq${[...randomBytes(10)].map((byte) => String.fromCodePoint(97 + (byte % 26))).join("")}`;
    const request = this.requestOf(kind, marker);
    if (!request) return this.newDeed();
    const isRepeated = kind === "erasure" || kind === "removal" || Math.random() < REPEATED_SHARE;
    // A visitor has no key: the same details are the same lead.
    const key = isRepeated && kind !== "lead" && { key: marker };
    const deed: Deed = { kind, marker, attempts: 0, isRepeated, response: {}, request: { ...request, ...key } };
    this.deeds.push(deed);
    return deed;
  }

  /** Undefined where there is nothing yet that it could be about. */
  private requestOf(kind: Kind, marker: string): SoakRequest | undefined {
    const { agentId, scratchAgentId } = this.target;
    const scratch = `/api/v1/agents/${scratchAgentId}`;
    const ask = `/api/v1/agents/${agentId}/messages`;
    const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
    switch (kind) {
      case "ask":
      case "stream": {
        const earlier =
          Math.random() < CONTINUED_SHARE ? this.acknowledged("ask", ({ response }) => response.needs_human === false) : undefined;
        const person = { user: (earlier?.request.body as { user?: object } | undefined)?.user ?? { id: `u-${marker}` } };
        const conversation = earlier && { conversation_id: earlier.response.conversation_id };
        const message = `How long does a refund take to be paid? ${marker}`;
        return { method: "POST", path: ask, body: { message, ...person, ...conversation, ...(kind === "stream" && { stream: true }) } };
      }
      case "lead":
        return {
          method: "POST",
          path: `/widget/v1/agents/${agentId}/leads`,
          address,
          body: { name: marker, email: `${marker}@example.com` },
        };
      case "source":
        return {
          method: "POST",
          path: `${scratch}/sources`,
          body: { type: "text", name: marker, text: textOf(marker), schedule: "manual" },
        };
      case "answer":
        return { method: "POST", path: `${scratch}/answers`, body: { question: `What is ${marker}?`, answer: `It is ${marker}.` } };
      case "removal": {
        const answer = this.acknowledged(
          "answer",
          ({ response }) => !this.deeds.some(({ request }) => request.path.endsWith(`/${response.id}`)),
        );
        return answer && { method: "DELETE", path: `${scratch}/answers/${answer.response.id}` };
      }
      case "reply": {
        const asked = this.acknowledged("ask");
        return (
          asked && { method: "POST", path: `/api/v1/conversations/${asked.response.conversation_id}/messages`, body: { content: marker } }
        );
      }
      case "erasure": {
        // Not one whose conversation others wrote to: an erasure takes their messages too.
        const asked = this.acknowledged("stream", (deed) => !this.isShared(deed));
        const { user } = (asked?.request.body ?? {}) as { user?: { id: string } };
        return user && { method: "DELETE", path: `/api/v1/privacy/visitors?external_id=${user.id}` };
      }
    }
  }

  private acknowledged(kind: Kind, fits: (deed: Deed) => boolean = () => true): Deed | undefined {
    const found = this.deeds.filter((deed) => deed.kind === kind && deed.outcome === "acknowledged" && fits(deed));
    return found[found.length === 0 ? 0 : randomInt(found.length)];
  }

  /** Whether it continues a conversation, which another deed began, or its person is being erased. */
  private isShared({ request }: Deed): boolean {
    const { conversation_id: continued, user } = request.body as { conversation_id?: string; user: { id: string } };
    return continued !== undefined || this.deeds.some(({ request }) => request.path.endsWith(`=${user.id}`));
  }
}

function isDone({ kind, request }: Deed, response: SoakResponse | undefined): boolean {
  if (!response) return false;
  if (response.events) return response.events.has("done");
  // Whoever repeats a removal finds that there is nothing.
  return response.status < 300 || (kind === "removal" && request.method === "DELETE" && response.status === 404);
}

/** No response, a failure of the service, or its first request with this key still under way. */
function isWorthRepeating(response: SoakResponse | undefined): boolean {
  return !response || response.events !== undefined || response.status >= 500 || response.status === 409 || response.status === 429;
}

function chooseKind(): Kind {
  const kinds = Object.entries(WEIGHTS).flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind as Kind));
  return kinds[randomInt(kinds.length)]!;
}

function textOf(marker: string): string {
  const paragraph = (at: number) =>
    `# Part ${at}\n\nThe device ${marker} has a setting number ${at}. It is found in the menu and takes effect at once.`;
  return Array.from({ length: PARAGRAPHS }, (_, at) => paragraph(at)).join("\n\n");
}
