import { createServer, type RequestListener } from "node:http";
import { listen } from "../../scripts/shared/ports.ts";

/** Serves HTTP on a free port of this machine. @returns its origin, and a function that closes it with its connections. */
export async function serve(listener: RequestListener): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer(listener);
  const origin = await listen(server);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { origin, close };
}
