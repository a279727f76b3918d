import { setTimeout as sleep } from "node:timers/promises";
import { load, type PreparedRequest, send } from "./load.ts";
import { percentile, type Report } from "./report.ts";
import { type Build, buildService, createSecrets, type RunningWorker, startWorker } from "./service.ts";
import { HANGING_PATH, type Receiver, startReceiver } from "./stand-ins/receiver.ts";

/** A workspace whose replies cause events, one each. */
export interface EventSource {
  /** Adds endpoints for replies; gives a function that removes them. */
  listen(urls: string[]): Promise<() => Promise<void>>;
  /** Causes one event; gives the record's identifier. */
  reply(): Promise<string>;
  replyRequest: PreparedRequest;
}

/** What of the answers is read. */
interface Answered {
  id: string;
  key: string;
  conversation_id: string;
}

/** More than the bench asks for. */
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000 };

export async function createEventSource(port: number, operatorToken: string): Promise<EventSource> {
  const asOperator = (method: string, path: string, body: unknown, status: number) =>
    send(port, {
      method,
      path: `/operator/v1${path}`,
      headers: { Authorization: `Bearer ${operatorToken}` },
      body,
      status,
    }) as Promise<Answered>;
  const slug = `bench-${Date.now()}`;
  const { id } = await asOperator("POST", "/workspaces", { name: "Bench", slug, plan: "enterprise" }, 201);
  await asOperator("PATCH", `/workspaces/${id}`, { limits: LIMITS }, 200);
  const agent = await asOperator("POST", `/workspaces/${id}/agents`, { name: "Agent" }, 201);
  const { key } = await asOperator("POST", `/workspaces/${id}/keys`, { name: "Bench", scopes: ["*"] }, 201);
  const headers = { Authorization: `Bearer ${key}` };
  const call = (method: string, path: string, body: unknown, status: number) =>
    send(port, { method, path: `/api/v1${path}`, headers, body, status }) as Promise<Answered>;
  const { conversation_id: conversationId } = await call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" }, 200);
  const reply = {
    method: "POST",
    path: `/conversations/${conversationId}/messages`,
    body: { content: "We will look into it." },
    status: 201,
  };
  return {
    listen: async (urls) => {
      const ids: string[] = [];
      for (const url of urls) ids.push((await call("POST", "/webhooks", { url, events: ["message.human_replied"] }, 201)).id);
      return async () => {
        for (const webhookId of ids) await call("DELETE", `/webhooks/${webhookId}`, undefined, 204);
      };
    },
    reply: async () => (await call(reply.method, reply.path, reply.body, reply.status)).id,
    replyRequest: { ...reply, path: `/api/v1${reply.path}`, headers },
  };
}

/** What one event costs with so many endpoints. */
interface EventCost {
  endpoints: number;
  /** Of the request that causes it. */
  causeTrips: number;
  causeRowsWritten: number;
  /** Of delivering it: claims and records together. */
  deliveryTrips: number;
  deliveryRowsWritten: number;
}

/** How many events a second reach one receiver while causes come as fast as they are taken. */
interface Throughput {
  causesPerSecond: number;
  deliveriesPerSecond: number;
  deliveries: number;
}

/** How long, one after the other, an event takes from its cause's response to its acceptance. */
interface Delay {
  p50Ms: number;
  p99Ms: number;
}

/** How long it takes until everyone who answers has everything. */
interface Isolation {
  endpoints: number;
  events: number;
  aloneMs: number;
  besideHangingMs: number;
}

const ENDPOINT_COUNTS = [0, 1, 10, 100];
const CONNECTIONS = 16;
const DELAY_EVENTS = 50;
const ANSWERING = 50;
const ISOLATION_EVENTS = 10;
/** What took longer is not measured any more, but broken. */
const DEADLINE_MS = 120_000;
/** The last record of a delivery follows its answer, and its line of the log comes by pipe. */
const SETTLE_MS = 500;

/** The jobs that bring an event to its endpoints. */
const DELIVERING: ReadonlySet<string> = new Set(["deliveries", "slow-deliveries", "webhook_attempt"]);

type Line = { event: string; job?: string; operation?: string; d1_trips: number; rows_written: number };

/** What one event costs with no endpoint, one, ten and a hundred. */
async function measureCosts(source: EventSource, receiver: Receiver, served: RunningWorker): Promise<EventCost[]> {
  const costs: EventCost[] = [];
  // The first reply also takes the conversation over; the later ones are alike.
  await source.reply();
  for (const endpoints of ENDPOINT_COUNTS) {
    const unlisten = await source.listen(Array.from({ length: endpoints }, (_, at) => receiver.url(`/cost/${at}`)));
    const lines: Line[] = [];
    const before = receiver.arrivals.length;
    served.onLog = (line) => void (line.startsWith("{") && lines.push(JSON.parse(line) as Line));
    await source.reply();
    await receiver.until(() => receiver.arrivals.length >= before + endpoints, DEADLINE_MS);
    await sleep(SETTLE_MS);
    served.onLog = undefined;
    const cause = lines.find(({ event }) => event === "request")!;
    const delivering = lines.filter(({ job = "" }) => DELIVERING.has(job));
    costs.push({
      endpoints,
      causeTrips: cause.d1_trips,
      causeRowsWritten: cause.rows_written,
      deliveryTrips: sumOf(delivering.map((line) => line.d1_trips)),
      deliveryRowsWritten: sumOf(delivering.map((line) => line.rows_written)),
    });
    await unlisten();
  }
  return costs;
}

/** Causes events for so long, and waits until all have arrived. */
async function measureThroughput(source: EventSource, receiver: Receiver, port: number, seconds: number): Promise<Throughput> {
  const unlisten = await source.listen([receiver.url("/throughput")]);
  const before = receiver.arrivals.length;
  const startMs = performance.now();
  const round = await load(port, source.replyRequest, CONNECTIONS, seconds);
  const caused = round.latenciesMs.length;
  if (round.failures > 0) throw new Error(`${round.failures} replies had another status than expected.`);
  await receiver.until(() => receiver.arrivals.length >= before + caused, DEADLINE_MS);
  const lastMs = receiver.arrivals.at(-1)!.atMs;
  await sleep(SETTLE_MS);
  await unlisten();
  return {
    causesPerSecond: round.requestsPerSecond,
    deliveriesPerSecond: (caused * 1000) / (lastMs - startMs),
    deliveries: caused,
  };
}

/** Causes one event after the other, each when the one before has arrived. */
async function measureDelay(source: EventSource, receiver: Receiver): Promise<Delay> {
  const unlisten = await source.listen([receiver.url("/delay")]);
  const delaysMs: number[] = [];
  for (let at = 0; at < DELAY_EVENTS; at++) {
    const recordId = await source.reply();
    const respondedMs = performance.now();
    await receiver.until(() => receiver.arrivals.some((arrival) => arrival.recordId === recordId), DEADLINE_MS);
    delaysMs.push(receiver.arrivals.find((arrival) => arrival.recordId === recordId)!.atMs - respondedMs);
  }
  await unlisten();
  return { p50Ms: percentile(delaysMs, 0.5), p99Ms: percentile(delaysMs, 0.99) };
}

/** Some events to fifty endpoints that answer, without and with one more that never does. */
async function measureIsolation(source: EventSource, receiver: Receiver): Promise<Isolation> {
  const answering = Array.from({ length: ANSWERING }, (_, at) => receiver.url(`/isolation/${at}`));
  const timed = async (urls: string[]) => {
    const unlisten = await source.listen(urls);
    const isTheirs = ({ path }: { path: string }) => path.startsWith("/isolation/");
    const before = receiver.arrivals.filter(isTheirs).length;
    const startMs = performance.now();
    for (let at = 0; at < ISOLATION_EVENTS; at++) await source.reply();
    await receiver.until(() => receiver.arrivals.filter(isTheirs).length >= before + ISOLATION_EVENTS * ANSWERING, DEADLINE_MS);
    const tookMs = receiver.arrivals.findLast(isTheirs)!.atMs - startMs;
    await sleep(SETTLE_MS);
    await unlisten();
    return tookMs;
  };
  const aloneMs = await timed(answering);
  // The one that hangs is the oldest, so that it has the first turn.
  const besideHangingMs = await timed([receiver.url(HANGING_PATH), ...answering]);
  return { endpoints: ANSWERING, events: ISOLATION_EVENTS, aloneMs, besideHangingMs };
}

function sumOf(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

interface WebhookResults {
  costs: EventCost[];
  delay: Delay;
  throughput: Throughput;
  isolation: Isolation;
}

/** For how long events are caused as fast as they are taken. */
const THROUGHPUT_SECONDS = 5;

/** What an event costs and how long it takes until its endpoints have it. */
export async function benchWebhooks(directory: string): Promise<Report> {
  return reportOf(await measureWebhooks(await buildService(directory)));
}

/** Events from their cause to a receiver on this machine, through the built worker and its queues. */
async function measureWebhooks(build: Build): Promise<WebhookResults> {
  const secrets = createSecrets();
  const served = await startWorker(build, { ...secrets, ALLOW_PRIVATE_TARGETS: "true" });
  const receiver = await startReceiver();
  try {
    const source = await createEventSource(served.port, secrets.OPERATOR_TOKEN);
    console.error("Costs of an event …");
    const costs = await measureCosts(source, receiver, served);
    console.error("Delay …");
    const delay = await measureDelay(source, receiver);
    console.error("Throughput …");
    const throughput = await measureThroughput(source, receiver, served.port, THROUGHPUT_SECONDS);
    console.error("One that hangs …");
    const isolation = await measureIsolation(source, receiver);
    return { costs, delay, throughput, isolation };
  } finally {
    await receiver.close();
    await served.close();
  }
}

function reportOf(results: WebhookResults): Report {
  const { costs, delay, throughput, isolation } = results;
  const columns = ["endpoints", "D1 trips of the cause", "rows it writes", "D1 trips of delivering", "rows that writes"];
  const rows = costs.map((cost) => [cost.endpoints, cost.causeTrips, cost.causeRowsWritten, cost.deliveryTrips, cost.deliveryRowsWritten]);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  const notes = [
    `From the cause's response to the receiver: p50 ${delay.p50Ms.toFixed(0)} ms, p99 ${delay.p99Ms.toFixed(0)} ms.`,
    `${throughput.deliveries} events caused at ${throughput.causesPerSecond.toFixed(0)}/s, delivered at ${throughput.deliveriesPerSecond.toFixed(0)}/s.`,
    `${isolation.events} events to ${isolation.endpoints} endpoints: ${seconds(isolation.aloneMs)}; beside one that hangs: ${seconds(isolation.besideHangingMs)}.`,
  ];
  return { tables: [{ columns, rows }], notes, data: results };
}
