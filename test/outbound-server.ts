import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { createGzip } from "node:zlib";
import { CONTROL_HOST, type Behaviour, type Received } from "./outbound-protocol.ts";
import { answerMcp } from "./stand-ins/mcp.ts";
import { SITEVERIFY_PLACE, verifyToken } from "./stand-ins/siteverify.ts";

const behavioursByPlace = new Map<string, Behaviour[]>();
const receivedByHost = new Map<string, Received[]>();
/** Lets the answers go on that wait for another behaviour of their host. */
const releasesByHost = new Map<string, (() => void)[]>();

/**
 * Stands in for other hosts: answers the requests of the service over real connections. An address is a host,
 * a host with path, or a host with path and query; the most specific one counts, and connections to unknown ones break.
 */
export async function answerOutbound(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { host = "" } = request.headers;
  const url = new URL(request.url ?? "/", `http://${host}`);
  const body = await buffer(request);
  if (host === CONTROL_HOST) return control(url, body, response);
  const path = host + url.pathname;
  receivedOf(host).push({
    method: request.method ?? "",
    place: path + url.search,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body: body.toString("base64"),
  });
  const isSiteverify = path === SITEVERIFY_PLACE;
  const behaviour = isSiteverify ? verifyToken(request.headers["content-type"] ?? "", body.toString()) : undefined;
  const next = behaviour ?? nextBehaviour([path + url.search, path, host]);
  if (next.waits) await new Promise<void>((resolve) => releasesByHost.set(host, [...(releasesByHost.get(host) ?? []), resolve]));
  if (!next.mcp) return behave(next, response);
  const { status, headers, body: answer } = await answerMcp(next.mcp, requestOf(request, url, body), body.toString());
  response.writeHead(status, Object.fromEntries(headers));
  response.end(answer && (await new Response(answer).text()));
}

function requestOf({ method = "GET", headers }: IncomingMessage, url: URL, body: Buffer): Request {
  const given = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  return new Request(url, { method, headers: given, ...(body.length > 0 && { body: body.toString() }) });
}

function control({ pathname, searchParams }: URL, body: Buffer, response: ServerResponse): void {
  const at = searchParams.get("at") ?? "";
  if (pathname === "/behaviours") {
    behavioursByPlace.set(at, JSON.parse(body.toString()) as Behaviour[]);
    for (const release of releasesByHost.get(at) ?? []) release();
    releasesByHost.delete(at);
  }
  response.end(JSON.stringify(receivedOf(at)));
}

function receivedOf(host: string): Received[] {
  const received = receivedByHost.get(host) ?? [];
  receivedByHost.set(host, received);
  return received;
}

/** Each request gets the next behaviour; the last one is repeated. */
function nextBehaviour(places: string[]): Behaviour {
  const behaviours = places.map((place) => behavioursByPlace.get(place)).find((found) => found !== undefined) ?? [];
  return (behaviours.length > 1 ? behaviours.shift() : behaviours[0]) ?? { fails: "reset" };
}

async function behave(behaviour: Behaviour, response: ServerResponse): Promise<void> {
  if (behaviour.fails === "silent") return;
  if (behaviour.fails === "reset") {
    response.destroy();
    return;
  }
  response.writeHead(behaviour.status ?? 200, { ...behaviour.headers, ...(behaviour.gzip && { "Content-Encoding": "gzip" }) });
  response.flushHeaders();
  const parts = Readable.from(partsOf(behaviour));
  // When the client closes the connection, the body is no longer generated.
  await (behaviour.gzip ? pipeline(parts, createGzip(), response) : pipeline(parts, response)).catch(() => response.destroy());
}

async function* partsOf({ body = "", bytes, times = 1, everyMs = 0, fails }: Behaviour): AsyncGenerator<Buffer> {
  const part = bytes === undefined ? Buffer.from(body) : Buffer.from(bytes, "base64");
  for (let sent = 0; sent < times; sent++) {
    yield part;
    if (everyMs > 0) await delay(everyMs);
  }
  if (fails === "reset_in_body") throw new Error("The connection breaks off");
}
