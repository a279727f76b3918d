import { setTimeout as sleep } from "node:timers/promises";
import { load } from "../load.ts";
import type { Served } from "../serve.ts";
import type { Desk } from "./desk.ts";
import { HANGING_PATH, type Receiver } from "./receiver.ts";

/** What one event costs with so many endpoints. */
export interface EventCost {
  endpoints: number;
  /** Of the request that causes it. */
  causeTrips: number;
  causeRowsWritten: number;
  /** Of delivering it: claims and records together. */
  deliveryTrips: number;
  deliveryRowsWritten: number;
}

/** How many events a second reach one receiver while causes come as fast as they are taken. */
export interface Throughput {
  causesPerSecond: number;
  deliveriesPerSecond: number;
  deliveries: number;
}

/** How long, one after the other, an event takes from its cause's response to its acceptance. */
export interface Delay {
  p50Ms: number;
  p99Ms: number;
}

/** How long it takes until everyone who answers has everything. */
export interface Isolation {
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
export async function measureCosts(desk: Desk, receiver: Receiver, served: Served): Promise<EventCost[]> {
  const costs: EventCost[] = [];
  // The first reply also takes the conversation over; the later ones are alike.
  await desk.reply();
  for (const endpoints of ENDPOINT_COUNTS) {
    const unlisten = await desk.listen(Array.from({ length: endpoints }, (_, at) => receiver.url(`/cost/${at}`)));
    const lines: Line[] = [];
    const before = receiver.arrivals.length;
    served.onLog = (line) => void (line.startsWith("{") && lines.push(JSON.parse(line) as Line));
    await desk.reply();
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
export async function measureThroughput(desk: Desk, receiver: Receiver, port: number, seconds: number): Promise<Throughput> {
  const unlisten = await desk.listen([receiver.url("/throughput")]);
  const before = receiver.arrivals.length;
  const startMs = performance.now();
  const round = await load(port, desk.replyRequest, CONNECTIONS, seconds);
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
export async function measureDelay(desk: Desk, receiver: Receiver): Promise<Delay> {
  const unlisten = await desk.listen([receiver.url("/delay")]);
  const delaysMs: number[] = [];
  for (let at = 0; at < DELAY_EVENTS; at++) {
    const recordId = await desk.reply();
    const respondedMs = performance.now();
    await receiver.until(() => receiver.arrivals.some((arrival) => arrival.recordId === recordId), DEADLINE_MS);
    delaysMs.push(receiver.arrivals.find((arrival) => arrival.recordId === recordId)!.atMs - respondedMs);
  }
  await unlisten();
  delaysMs.sort((a, b) => a - b);
  const percentile = (share: number) => delaysMs[Math.floor((delaysMs.length - 1) * share)]!;
  return { p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

/** Some events to fifty endpoints that answer, without and with one more that never does. */
export async function measureIsolation(desk: Desk, receiver: Receiver): Promise<Isolation> {
  const answering = Array.from({ length: ANSWERING }, (_, at) => receiver.url(`/isolation/${at}`));
  const timed = async (urls: string[]) => {
    const unlisten = await desk.listen(urls);
    const isTheirs = ({ path }: { path: string }) => path.startsWith("/isolation/");
    const before = receiver.arrivals.filter(isTheirs).length;
    const startMs = performance.now();
    for (let at = 0; at < ISOLATION_EVENTS; at++) await desk.reply();
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
