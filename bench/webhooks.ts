import { load, type PreparedRequest } from "./load.ts";
import { percentile, timed } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { buildService, linesDuring, type RunningService, type RunningWorker, withService } from "./service.ts";
import { HANGING_PATH, type Receiver, startReceiver } from "./stand-ins/receiver.ts";
import { createTenant } from "./tenant.ts";

/** A workspace whose replies cause one event each. */
export interface EventSource {
  /** Adds endpoints for replies; returns a function that removes them. */
  listen(urls: string[]): Promise<() => Promise<void>>;
  /** Causes one event; returns the id of its record. */
  reply(): Promise<string>;
  replyRequest: PreparedRequest;
}

export async function createEventSource({ port, operatorToken }: RunningService): Promise<EventSource> {
  const { agentId, call, request } = await createTenant(port, operatorToken, "events");
  const { conversation_id: id } = await call<{ conversation_id: string }>("POST", `/agents/${agentId}/messages`, { message: "Hello?" });
  const reply = ["POST", `/conversations/${id}/messages`, { content: "We will look into it." }] as const;
  return {
    listen: async (urls) => {
      const ids: string[] = [];
      for (const url of urls) ids.push((await call<{ id: string }>("POST", "/webhooks", { url, events: ["message.human_replied"] })).id);
      return async () => {
        for (const webhookId of ids) await call("DELETE", `/webhooks/${webhookId}`);
      };
    },
    reply: async () => (await call<{ id: string }>(...reply)).id,
    replyRequest: request(...reply),
  };
}

const ENDPOINT_COUNTS = [0, 1, 10, 100];
const CONNECTIONS = 16;
const DELAY_EVENTS = 50;
const THROUGHPUT_SECONDS = 5;
const ANSWERING = 50;
const ISOLATION_EVENTS = 10;

/** The jobs that deliver an event to its endpoints. */
const DELIVERING: ReadonlySet<string> = new Set(["deliveries", "slow-deliveries", "webhook_attempt"]);

/** Measures what an event costs, and how long it takes until its endpoints have it, through the built worker and its queues. */
export async function benchWebhooks(): Promise<Report> {
  return withService(await buildService(), { ALLOW_PRIVATE_TARGETS: "true" }, async (service) => {
    const receiver = await startReceiver();
    try {
      const source = await createEventSource(service);
      console.error("Costs of an event …");
      const table: Table = [];
      // The first reply also takes over the conversation; the later ones are alike.
      await source.reply();
      for (const endpoints of ENDPOINT_COUNTS) table.push(await measureCosts(endpoints, source, receiver, service));
      console.error("Delay …");
      const notes = [await measureDelay(source, receiver)];
      console.error("Throughput …");
      notes.push(await measureThroughput(source, receiver, service.port));
      console.error("Isolation …");
      notes.push(await measureIsolation(source, receiver));
      return { tables: [table], notes };
    } finally {
      await receiver.close();
    }
  });
}

/** Measures what one event costs with so many endpoints. */
async function measureCosts(endpoints: number, source: EventSource, receiver: Receiver, served: RunningWorker): Promise<Table[number]> {
  const unlisten = await source.listen(Array.from({ length: endpoints }, (_, at) => receiver.url(`/cost/${at}`)));
  const before = receiver.deliveries.length;
  const lines = await linesDuring(served, async () => {
    await source.reply();
    await receiver.until(() => receiver.deliveries.length >= before + endpoints);
  });
  await unlisten();
  const cause = lines.find(({ event }) => event === "request")!;
  const delivering = lines.filter(({ job = "" }) => DELIVERING.has(job));
  return {
    endpoints,
    "D1 trips of the cause": cause.d1_trips!,
    "rows it writes": cause.rows_written!,
    "D1 trips of delivering": delivering.reduce((sum, { d1_trips: trips = 0 }) => sum + trips, 0),
    "rows that writes": delivering.reduce((sum, { rows_written: rows = 0 }) => sum + rows, 0),
  };
}

/** Causes one event after the other, each when the one before has arrived. */
async function measureDelay(source: EventSource, receiver: Receiver): Promise<string> {
  const unlisten = await source.listen([receiver.url("/delay")]);
  const delaysMs: number[] = [];
  for (let at = 0; at < DELAY_EVENTS; at++) {
    const recordId = await source.reply();
    const respondedMs = performance.now();
    const delivery = () => receiver.deliveries.find((one) => one.recordId === recordId);
    await receiver.until(() => delivery() !== undefined);
    delaysMs.push(delivery()!.atMs - respondedMs);
  }
  await unlisten();
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(delaysMs, share).toFixed(0));
  return `From the cause's response to the receiver: p50 ${p50} ms, p99 ${p99} ms.`;
}

/** Causes events for some seconds as fast as the service takes them, and waits until all have arrived. */
async function measureThroughput(source: EventSource, receiver: Receiver, port: number): Promise<string> {
  const unlisten = await source.listen([receiver.url("/throughput")]);
  const before = receiver.deliveries.length;
  const startMs = performance.now();
  const { requestsPerSecond, latenciesMs } = await load(port, source.replyRequest, CONNECTIONS, THROUGHPUT_SECONDS);
  const caused = latenciesMs.length;
  await receiver.until(() => receiver.deliveries.length >= before + caused);
  const deliveredPerSecond = (caused * 1000) / (receiver.deliveries.at(-1)!.atMs - startMs);
  await unlisten();
  return `${caused} events caused at ${requestsPerSecond.toFixed(0)}/s, delivered at ${deliveredPerSecond.toFixed(0)}/s.`;
}

/** Sends some events to fifty endpoints that answer, without and with one more that never does. */
async function measureIsolation(source: EventSource, receiver: Receiver): Promise<string> {
  const answering = Array.from({ length: ANSWERING }, (_, at) => receiver.url(`/isolation/${at}`));
  const seconds = async (urls: string[]) => {
    const unlisten = await source.listen(urls);
    const delivered = () => receiver.deliveries.filter(({ path }) => path.startsWith("/isolation/")).length;
    const before = delivered();
    const { ms } = await timed(async () => {
      for (let at = 0; at < ISOLATION_EVENTS; at++) await source.reply();
      await receiver.until(() => delivered() >= before + ISOLATION_EVENTS * ANSWERING);
    });
    await unlisten();
    return `${(ms / 1000).toFixed(2)} s`;
  };
  const alone = await seconds(answering);
  // The endpoint that hangs is the oldest, so that it has the first turn.
  const beside = await seconds([receiver.url(HANGING_PATH), ...answering]);
  return `${ISOLATION_EVENTS} events to ${ANSWERING} endpoints: ${alone}; beside one that hangs: ${beside}.`;
}
