import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "./serve.ts";

/** A delivery of an event. */
interface Delivery {
  /** The path of the endpoint. */
  path: string;
  eventId: string;
  /** The id of the record that the event is about. */
  recordId: string;
  atMs: number;
}

/** A receiver of webhooks on this machine: it answers 204 at once, but 500 at FAILING_PATH, after seconds at SLOW_PATH, and never at HANGING_PATH. */
export interface Receiver {
  deliveries: Delivery[];
  url(path: string): string;
  /** Waits until a condition holds; fails when that takes too long. */
  until(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export const HANGING_PATH = "/hang";
export const FAILING_PATH = "/fail";
export const SLOW_PATH = "/slow";
const SLOW_MS = 3_000;

const POLL_MS = 5;
const DEADLINE_MS = 120_000;

export async function startReceiver(): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const { origin, close } = await serve((request, response) => {
    void (async () => {
      const { id, data } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { id: string; data: { id: string } };
      const path = request.url ?? "";
      deliveries.push({ path, eventId: id, recordId: data.id, atMs: performance.now() });
      if (path === SLOW_PATH) await sleep(SLOW_MS);
      if (path !== HANGING_PATH) response.writeHead(path === FAILING_PATH ? 500 : 204).end();
    })().catch(() => response.destroy());
  });
  const until = async (holds: () => boolean) => {
    for (const endMs = performance.now() + DEADLINE_MS; !holds(); await sleep(POLL_MS)) {
      if (performance.now() > endMs) throw new Error(`Only ${deliveries.length} deliveries came within ${DEADLINE_MS} ms.`);
    }
  };
  return { deliveries, url: (path) => origin + path, until, close };
}
