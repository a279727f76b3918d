import { makeSecrets } from "../secrets.ts";
import { type Build, serve } from "../serve.ts";
import { openDesk } from "./desk.ts";
import {
  type Delay,
  type EventCost,
  type Isolation,
  measureCosts,
  measureDelay,
  measureIsolation,
  measureThroughput,
  type Throughput,
} from "./measure.ts";
import { openReceiver } from "./receiver.ts";

export interface WebhookResults {
  costs: EventCost[];
  delay: Delay;
  throughput: Throughput;
  isolation: Isolation;
}

/** For how long events are caused as fast as they are taken. */
const THROUGHPUT_SECONDS = 5;

/** Events from their cause to a receiver on this machine, through the built worker and its queues. */
export async function measureWebhooks(build: Build): Promise<WebhookResults> {
  const secrets = makeSecrets();
  const served = await serve(build, { ...secrets, ALLOW_PRIVATE_TARGETS: "true" });
  const receiver = await openReceiver();
  try {
    const desk = await openDesk(served.port, secrets.OPERATOR_TOKEN);
    console.error("Costs of an event …");
    const costs = await measureCosts(desk, receiver, served);
    console.error("Delay …");
    const delay = await measureDelay(desk, receiver);
    console.error("Throughput …");
    const throughput = await measureThroughput(desk, receiver, served.port, THROUGHPUT_SECONDS);
    console.error("One that hangs …");
    const isolation = await measureIsolation(desk, receiver);
    return { costs, delay, throughput, isolation };
  } finally {
    await receiver.close();
    await served.close();
  }
}

/** The results as text. */
export function describeWebhooks({ costs, delay, throughput, isolation }: WebhookResults): string {
  const rows = costs.map(
    ({ endpoints, causeTrips, causeRowsWritten, deliveryTrips, deliveryRowsWritten }) =>
      `| ${endpoints} | ${causeTrips} | ${causeRowsWritten} | ${deliveryTrips} | ${deliveryRowsWritten} |`,
  );
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  return [
    "| endpoints | D1 trips of the cause | rows it writes | D1 trips of delivering | rows that writes |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
    `From the cause's response to the receiver: p50 ${delay.p50Ms.toFixed(0)} ms, p99 ${delay.p99Ms.toFixed(0)} ms.`,
    `${throughput.deliveries} events caused at ${throughput.causesPerSecond.toFixed(0)}/s, delivered at ${throughput.deliveriesPerSecond.toFixed(0)}/s.`,
    `${isolation.events} events to ${isolation.endpoints} endpoints: ${seconds(isolation.aloneMs)}; beside one that hangs: ${seconds(isolation.besideHangingMs)}.`,
  ].join("\n");
}
