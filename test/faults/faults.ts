import { env } from "cloudflare:workers";
import { Clock } from "./clock.ts";

/** The kinds of faults. */
export const KINDS = [
  "fails before it is done",
  "fails after it is done",
  "hangs for ten minutes, and is done late",
  "is busy for two minutes",
] as const;
export type Kind = (typeof KINDS)[number];

/** A fault: the name of a call, the number among the calls with that name, and the kind. */
export interface Fault {
  name: string;
  occurrence: number;
  kind: Kind;
}

/** The resource that a call goes to. All calls to a busy resource fail. */
type Resource = "D1" | "GATE" | "INDEX" | "SESSION" | "LEADS" | "ENTRY" | "COMMITTER" | "queue" | "fetch";

/** A message that the service sent to a queue. */
export interface QueuedMessage {
  queue: string;
  body: unknown;
}

const DATABASES = ["DB", "DB_1"] as const;
const OBJECTS = ["GATE", "INDEX", "SESSION", "LEADS", "ENTRY", "COMMITTER"] as const;
const QUEUES = {
  INGESTION_QUEUE: "support-agent-ingestion",
  CRAWL_QUEUE: "support-agent-crawls",
  ERASURE_QUEUE: "support-agent-erasure",
  DELIVERY_QUEUE: "support-agent-deliveries",
  SLOW_DELIVERY_QUEUE: "support-agent-slow-deliveries",
  EMAIL_QUEUE: "support-agent-email",
} as const;

const BUSY_MS = 2 * 60_000;
const HANG_MS = 10 * 60_000;
/** After this time without a call, any call that follows from the last one has begun. */
const CALM_MS = 5;
/** The host by which the tests configure other hosts. The service does not call it. */
const CONTROL = "control.outbound.invalid";

/** The error of each busy resource, in the words of the platform. A host answers 503. */
const BUSY: Record<Resource, string> = {
  D1: "D1_ERROR: database is locked: SQLITE_BUSY",
  GATE: "Durable Object is overloaded. Requests queued for too long.",
  INDEX: "Durable Object is overloaded. Requests queued for too long.",
  SESSION: "Durable Object is overloaded. Requests queued for too long.",
  LEADS: "Durable Object is overloaded. Requests queued for too long.",
  ENTRY: "Durable Object is overloaded. Requests queued for too long.",
  COMMITTER: "Durable Object is overloaded. Requests queued for too long.",
  queue: "Queue is overloaded. Please back off.",
  fetch: "",
};

/**
 * Wraps every binding of the service, and `fetch`, and passes each call on to the real one. It counts and names
 * the calls, and makes one of them fail.
 */
export class Faults {
  readonly clock = new Clock();
  /** Hosts that answer within the tests, such as a model's server. */
  readonly hosts = new Map<string, typeof fetch>();
  private readonly real: Env = { ...env };
  private readonly realFetch = globalThis.fetch.bind(globalThis);
  private readonly counts = new Map<string, number>();
  private fault: Fault | undefined;
  private isWatching = false;
  private hasHappened = false;
  private hangsUntilMs = 0;
  private busy: { resource: Resource; untilMs: number } | undefined;
  private inFlight = 0;
  private queries = 0;
  private readonly queued: QueuedMessage[] = [];
  private readonly sessions = new Set<string>();

  /** Replaces the bindings. */
  private install(): void {
    for (const name of DATABASES) Reflect.set(env, name, this.database(Reflect.get(this.real, name)));
    for (const name of OBJECTS) Reflect.set(env, name, this.namespace(name, this.real[name] as DurableObjectNamespace));
    for (const name of Object.keys(QUEUES) as (keyof typeof QUEUES)[]) Reflect.set(env, name, this.queue(name));
    globalThis.fetch = ((input: RequestInfo, init?: RequestInit) => this.request(input, init)) as typeof fetch;
  }

  private uninstall(): void {
    for (const name of [...DATABASES, ...OBJECTS, ...Object.keys(QUEUES)]) Reflect.set(env, name, Reflect.get(this.real, name));
    globalThis.fetch = this.realFetch;
  }

  /** Runs some work with a fault. @returns the calls of the work, and whether the one with the fault is among them. */
  async during(fault: Fault | undefined, work: () => Promise<void>): Promise<{ points: Omit<Fault, "kind">[]; hasHappened: boolean }> {
    Object.assign(this, { fault, isWatching: true, hasHappened: false, busy: undefined });
    for (const seen of [this.counts, this.sessions]) seen.clear();
    this.queued.length = 0;
    this.install();
    try {
      await work();
    } finally {
      this.uninstall();
    }
    const points = [...this.counts].flatMap(([name, count]) => Array.from({ length: count }, (_, occurrence) => ({ name, occurrence })));
    return { points, hasHappened: this.hasHappened };
  }

  /** Whether a call hangs, and only a timeout ends it. */
  get hangs(): boolean {
    return Date.now() < this.hangsUntilMs;
  }

  /** Whether no call is in progress. */
  get isCalm(): boolean {
    return this.inFlight === 0;
  }

  /** Resolves when no call is in progress, and none follows. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < CALM_MS; calm++) {
      if (this.inFlight > 0) calm = 0;
      await scheduler.wait(1);
    }
  }

  /** Runs some work without faults. @returns the number of its calls to D1. */
  async unwatched(work: () => Promise<void>): Promise<number> {
    const before = this.queries;
    this.isWatching = false;
    await work();
    this.isWatching = true;
    return this.queries - before;
  }

  /** Whether messages to one of these queues wait. */
  hasQueued(queues: readonly string[]): boolean {
    return this.queued.some(({ queue }) => queues.includes(queue));
  }

  /** The messages that were sent since the last time. */
  takeQueued(): QueuedMessage[] {
    return this.queued.splice(0);
  }

  /** The sessions that were called. */
  get calledSessions(): DurableObjectStub[] {
    return [...this.sessions].map((name) => this.real.SESSION.getByName(name));
  }

  private async call<Result>(resource: Resource, detail: string, run: () => Promise<Result>): Promise<Result> {
    this.inFlight++;
    if (resource === "D1") this.queries++;
    try {
      return await this.pass(resource, detail, run);
    } finally {
      this.inFlight--;
    }
  }

  private async pass<Result>(resource: Resource, detail: string, run: () => Promise<Result>): Promise<Result> {
    if (!this.isWatching) return run();
    const name = `${resource} ${detail}`;
    const occurrence = this.counts.get(name) ?? 0;
    this.counts.set(name, occurrence + 1);
    const { fault } = this;
    if (fault?.name === name && fault.occurrence === occurrence) {
      this.hasHappened = true;
      return this.goWrong(fault.kind, resource, run);
    }
    if (this.busy?.resource === resource && Date.now() < this.busy.untilMs) return refuseBusy(resource) as Result;
    return run();
  }

  private async goWrong<Result>(kind: Kind, resource: Resource, run: () => Promise<Result>): Promise<Result> {
    switch (kind) {
      case "fails before it is done":
        throw new Error(resource === "D1" ? "D1_ERROR: it is down" : "It is down");
      case "fails after it is done":
        await run();
        throw new Error("Network connection lost.");
      case "hangs for ten minutes, and is done late":
        this.hangsUntilMs = Date.now() + HANG_MS;
        // It waits in the invocation of the caller, because another one may not resume it.
        while (this.hangs) await scheduler.wait(1);
        return run();
      case "is busy for two minutes":
        this.busy = { resource, untilMs: Date.now() + BUSY_MS };
        return refuseBusy(resource) as Result;
    }
  }

  private database(real: D1Database): D1Database {
    const wrap = (text: string, inner: D1PreparedStatement): object => ({
      text,
      inner,
      bind: (...values: unknown[]) => wrap(text, inner.bind(...values)),
      all: () => this.call("D1", describe([text]), () => inner.all()),
      run: () => this.call("D1", describe([text]), () => inner.run()),
      raw: () => this.call("D1", describe([text]), () => inner.raw()),
    });
    return {
      prepare: (text: string) => wrap(text, real.prepare(text)),
      batch: (statements: { text: string; inner: D1PreparedStatement }[]) =>
        this.call("D1", describe(statements.map(({ text }) => text)), () => real.batch(statements.map(({ inner }) => inner))),
    } as unknown as D1Database;
  }

  private namespace(resource: (typeof OBJECTS)[number], real: DurableObjectNamespace): DurableObjectNamespace {
    const getByName = (name: string) => {
      if (resource === "SESSION") this.sessions.add(name);
      const stub = real.getByName(name) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      const get =
        (_: object, method: string) =>
        (...args: unknown[]) =>
          this.call(resource, method, () => stub[method]!(...args));
      return new Proxy({}, { get });
    };
    const rest = (name: keyof DurableObjectNamespace) => {
      const value: unknown = real[name];
      return typeof value === "function" && name !== ("constructor" as string) ? value.bind(real) : value;
    };
    return new Proxy(real, { get: (_, name) => (name === "getByName" ? getByName : rest(name as keyof DurableObjectNamespace)) });
  }

  private queue(name: keyof typeof QUEUES): Queue {
    const sendBatch = async (messages: { body: unknown }[]) => {
      if (messages.length === 0) return;
      // A scenario delivers its messages itself: the queue would deliver them in the midst of another one.
      await this.call("queue", name, async () => {
        // Deletions of retention are not part of the scenario; they come up because the clock advances.
        const own = messages.filter(({ body }) => !Object.hasOwn(body as object, "prune"));
        this.queued.push(...own.map(({ body }) => ({ queue: QUEUES[name], body })));
      });
    };
    return { sendBatch } as unknown as Queue;
  }

  private request(input: RequestInfo, init?: RequestInit): Promise<Response> {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input);
    if (host === CONTROL) return this.realFetch(input, init);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    const answer = this.hosts.get(host) ?? this.realFetch;
    // The names of the hosts in tests are random.
    return this.call("fetch", `${method} ${pathname}`, () => answer(input, init));
  }
}

async function refuseBusy(resource: Resource): Promise<Response> {
  if (resource === "fetch") return new Response("Busy", { status: 503, headers: { "Retry-After": "60" } });
  throw Object.assign(new Error(BUSY[resource]), resource === "D1" ? {} : { overloaded: true });
}

/** Describes a batch by the tables that it writes or, if it writes none, reads. */
function describe(texts: string[]): string {
  const tables = (pattern: RegExp) => [...new Set(texts.flatMap((text) => pattern.exec(text)?.[1] ?? []))];
  const written = tables(/^\s*(?:insert into|update|delete from)\s+"?(\w+)/i);
  return written.length > 0 ? `writes ${written.join(", ")}` : `reads ${tables(/\bfrom\s+"?(\w+)/i).join(", ")}`;
}
