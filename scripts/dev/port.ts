import { rmSync } from "node:fs";
import { connect, createServer, type ListenOptions } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { UserError } from "../shared/cli.ts";
import { freePort } from "../shared/ports.ts";

const WILDCARDS = new Set(["*", "0.0.0.0", "::"]);
const CONNECT_MS = 1_000;

/** The host under which this machine reaches a server that listens on an address. */
export function reachableHost(ip: string): string {
  return WILDCARDS.has(ip) ? "localhost" : ip;
}

/**
 * Takes a port for this session, or a free one for port 0.
 * @throws UserError when it is taken, by another session that is still starting too.
 */
export async function claimPort(wanted: number, host: string): Promise<number> {
  const port = wanted === 0 ? await freePort(host) : wanted;
  if (!(await holdLock(port)) || (await answers({ host, port }))) {
    throw new UserError(`Port ${port} is taken. Stop what runs there, or choose another one: npm run dev -- --port ${port + 1}`);
  }
  return port;
}

/**
 * Holds a lock for as long as this process lives: the port itself is free for seconds while a session starts.
 * @returns whether nobody else holds it.
 */
async function holdLock(port: number): Promise<boolean> {
  const path = join(tmpdir(), `support-agent-service-${userInfo().uid}-${port}.sock`);
  let held = await listens({ path });
  if (!held && !(await answers({ path }))) {
    // A session that was killed left the file behind.
    rmSync(path, { force: true });
    held = await listens({ path });
  }
  if (held) process.once("exit", () => rmSync(path, { force: true }));
  return held;
}

async function listens(options: ListenOptions): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer((socket) => socket.end());
  server.once("error", () => resolve(false));
  server.listen(options, () => resolve(true));
  server.unref();
  return await promise;
}

async function answers(target: { path: string } | { host: string; port: number }): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(target);
  socket.setTimeout(CONNECT_MS, () => resolve(false));
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  const answered = await promise;
  socket.destroy();
  return answered;
}
