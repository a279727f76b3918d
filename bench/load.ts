import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunningWorker } from "./service.ts";

/*
 * A load generator that costs little, for it shares the cores with what it measures: prepared HTTP/1.1 requests over
 * kept connections, one request at a time on each, and no more of the response parsed than its status and its end.
 */

/** One request, ready to be sent. */
export interface PreparedRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** The status that its response must have. */
  status: number;
}

/** What one round measured. */
export interface Round {
  requestsPerSecond: number;
  /** Rising. */
  latenciesMs: number[];
  /** How many responses had another status than expected. */
  failures: number;
}

/** What a request cost in round trips, as the service logs it. */
export interface LoggedCost {
  operation: string;
  object_hops: number;
  d1_trips: number;
  rows_read: number;
}

const HEADER_END = "\r\n\r\n";
const CHUNKS_END = "\r\n0\r\n\r\n";
const LENGTH_HEADER = /\r\ncontent-length: *(\d+)/i;
/** The start of a status line is `HTTP/1.1 200`. */
const STATUS_AT = 9;
/** How much of an unexpected response is shown. */
const SHOWN_CHARACTERS = 600;

/** Sends the request again and again over so many connections, for so long. */
export async function load(port: number, request: PreparedRequest, connections: number, seconds: number): Promise<Round> {
  const text = encode(port, request);
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const round: Round = { requestsPerSecond: 0, latenciesMs: [], failures: 0 };
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  await Promise.all(sockets.map((socket) => repeat(socket, text, request.status, endMs, round)));
  round.requestsPerSecond = (round.latenciesMs.length * 1000) / (performance.now() - startMs);
  round.latenciesMs.sort((a, b) => a - b);
  return round;
}

/** Sends one request and gives the body of its response. */
export async function send(port: number, request: PreparedRequest): Promise<unknown> {
  const { method, path, headers = {}, body } = request;
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const all = { "Content-Type": "application/json", ...headers };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: all, ...init });
  const text = await response.text();
  if (response.status !== request.status) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

function encode(port: number, { method, path, headers = {}, body }: PreparedRequest): string {
  const content = body === undefined ? "" : JSON.stringify(body);
  const all: Record<string, string> = { Host: `127.0.0.1:${port}`, ...headers };
  if (body !== undefined) Object.assign(all, { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(content)) });
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${content}`;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  // One character a byte: lengths in bytes are lengths in characters, and no Buffer is searched.
  socket.setEncoding("latin1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
}

/** Repeats one request on one connection until `endMs`, and adds what it saw to the round. */
function repeat(socket: Socket, text: string, status: number, endMs: number, round: Round): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = performance.now();
    let received = "";
    const onClose = () => reject(new Error(`The worker closed a connection. Its last words: ${received.slice(0, SHOWN_CHARACTERS)}`));
    socket.on("data", (chunk: string) => {
      received += chunk;
      if (!isWhole(received)) return;
      const nowMs = performance.now();
      round.latenciesMs.push(nowMs - sentMs);
      if (statusOf(received) !== status && round.failures++ === 0) console.error(received.slice(0, SHOWN_CHARACTERS));
      if (nowMs >= endMs) {
        socket.off("close", onClose).destroy();
        return resolve();
      }
      received = "";
      sentMs = nowMs;
      socket.write(text);
    });
    socket.once("error", reject).once("close", onClose);
    socket.write(text);
  });
}

/** Whether the response has ended. Only one is ever under way on a connection, so nothing follows its end. */
function isWhole(response: string): boolean {
  const headersEnd = response.indexOf(HEADER_END);
  if (headersEnd < 0) return false;
  const length = LENGTH_HEADER.exec(response)?.[1];
  if (length !== undefined) return response.length >= headersEnd + HEADER_END.length + Number(length);
  return statusOf(response) === 204 || response.endsWith(CHUNKS_END);
}

function statusOf(response: string): number {
  return Number(response.slice(STATUS_AT, STATUS_AT + 3));
}

/** A log line comes by pipe, after its response. */
const LOG_DEADLINE_MS = 2000;

/** What the service logs of one request; undefined when it logs nothing. A late line of the warm-up says the same. */
export async function readRequestCost(served: RunningWorker, request: PreparedRequest): Promise<LoggedCost | undefined> {
  let cost: LoggedCost | undefined;
  served.onLog = (line) => {
    if (line.startsWith("{") && line.includes('"event":"request"')) cost = JSON.parse(line) as LoggedCost;
  };
  await send(served.port, request);
  for (const deadlineMs = Date.now() + LOG_DEADLINE_MS; !cost && Date.now() < deadlineMs;) await sleep(10);
  served.onLog = undefined;
  return cost;
}
