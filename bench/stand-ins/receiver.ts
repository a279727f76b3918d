import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What came in, and when. */
interface Arrival {
  /** The path, by which endpoints are told apart. */
  path: string;
  eventId: string;
  /** The identifier of the record that the event tells of. */
  recordId: string;
  atMs: number;
}

/** A receiver of webhooks on this machine: it answers 204 at once, but at /hang never. */
export interface Receiver {
  arrivals: Arrival[];
  url(path: string): string;
  /** Waits for something to have come in; fails when it takes too long. */
  until(isThere: () => boolean, deadlineMs: number): Promise<void>;
  close(): Promise<void>;
}

export const HANGING_PATH = "/hang";

const POLL_MS = 5;

export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const note = ({ id, data }: { id: string; data: { id: string } }) => {
      const path = request.url ?? "";
      arrivals.push({ path, eventId: id, recordId: data.id, atMs: performance.now() });
      if (path !== HANGING_PATH) response.writeHead(204).end();
    };
    readJson(request).then(note, () => response.destroy());
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    arrivals,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    until: async (isThere, deadlineMs) => {
      const endMs = performance.now() + deadlineMs;
      while (!isThere()) {
        if (performance.now() > endMs) throw new Error(`Only ${arrivals.length} deliveries came within ${deadlineMs} ms.`);
        await sleep(POLL_MS);
      }
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readJson(request: IncomingMessage): Promise<{ id: string; data: { id: string } }> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text) as { id: string; data: { id: string } };
}
