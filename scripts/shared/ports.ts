import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** Below the ports of outgoing connections (on Linux from 32,768, by IANA from 49,152), which may be taken again at once. */
const PORTS = { from: 15_000, to: 32_000 };
const MAX_TRIES = 100;

/** A port that nothing listens on. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer().listen({ host, port });
    try {
      await once(server, "listening");
      server.close();
      await once(server, "close");
      return port;
    } catch (error) {
      if (attempt === MAX_TRIES) throw error;
    }
  }
}

/** Starts a server on a free port of this machine. Returns its URL. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
