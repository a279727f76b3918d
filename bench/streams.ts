import { Agent, request as sendRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { load, type PreparedRequest, send } from "./load.ts";
import { median, type Report } from "./report.ts";
import { operations, type Seed, seed } from "./seed.ts";
import { type Build, buildFloor, buildService, createSecrets, type RunningWorker, startWorker, workerdCpuMs } from "./service.ts";
import { FIRST_SENTENCE_END, INSTANT, PACED, TOKEN_MS, TOKENS } from "./stand-ins/paced-model.ts";

/** What a reader saw of one stream, since it asked for it. */
interface Read {
  /** Until any of the response's body. */
  firstByteMs: number;
  /** Until the end of the answer's first sentence. */
  firstSentenceMs: number;
  totalMs: number;
}

/** What the first sentence's end and the end of a whole stream look like. */
interface Marks {
  sentence: string;
  end: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true });

/** Asks for a stream and reads it to its end. */
function read(port: number, { method, path, headers, body }: PreparedRequest, marks: Marks): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const startMs = performance.now();
  const seen: Partial<Read> = {};
  const text = JSON.stringify(body);
  const all = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), ...headers };
  const asked = sendRequest({ host: "127.0.0.1", port, method, path, headers: all, agent }, (response) => {
    let received = "";
    response.setEncoding("latin1").on("data", (data: string) => {
      const sinceMs = performance.now() - startMs;
      seen.firstByteMs ??= sinceMs;
      received += data;
      if (seen.firstSentenceMs === undefined && received.includes(marks.sentence)) seen.firstSentenceMs = sinceMs;
    });
    response.on("end", () => {
      const isWhole = response.statusCode === 200 && seen.firstSentenceMs !== undefined && received.includes(marks.end);
      if (isWhole) resolve({ ...seen, totalMs: performance.now() - startMs } as Read);
      else reject(new Error(`A stream is not whole: ${response.statusCode} ${received.slice(-300)}`));
    });
    response.on("error", reject);
  });
  asked.on("error", reject);
  asked.end(text);
  return promise;
}

/** How many streams run at once, and how many follow one another in the place of each: few streams say little. */
const LEVELS = [
  { streams: 1, rounds: 8 },
  { streams: 16, rounds: 3 },
  { streams: 64, rounds: 2 },
];
const CONNECTIONS = 16;
const TURN_ROUNDS = 7;
const TURN_SECONDS = 1;

/** Who is read. */
interface Side {
  port: number;
  request: PreparedRequest;
  marks: Marks;
}

/** What streaming through the service costs over reading the model, at so many streams at once; the middle of all. */
interface Level {
  streams: number;
  direct: Read;
  ours: Read;
  /** What one answer costs of a processor, in ms: ours, and the model's and the reader's, which run beside it. */
  cpuMs: { ours: number; beside: number };
}

interface StreamResults {
  levels: Level[];
  /** Streamed answers of a model that writes all at once. */
  turns: { perSecond: number; floorPerSecond: number; ratio: number };
}

/** What streaming an answer through the service costs over reading the model directly. */
export async function benchStreams(directory: string): Promise<Report> {
  const [service, floor] = await Promise.all([buildService(directory), buildFloor(directory)]);
  return reportOf(await measureStreams(service, floor));
}

/** Streams of a stand-in model, read directly and through the built worker, in turns. */
async function measureStreams(ours: Build, floor: Build): Promise<StreamResults> {
  const secrets = createSecrets();
  const model = new Worker(new URL("stand-ins/paced-model.ts", import.meta.url));
  const modelPort = await new Promise<number>((resolve, reject) => model.once("message", resolve).once("error", reject));
  const url = `http://127.0.0.1:${modelPort}/v1`;
  const served = await Promise.all([
    startWorker(ours, { ...secrets, OPENAI_BASE_URL: url, OPENAI_MODEL: INSTANT }),
    startWorker(floor, { MODEL_URL: `${url}/chat/completions`, MODEL: INSTANT }),
  ]);
  try {
    const [service, bare] = served;
    const filled = await seed(service.port, secrets.OPERATOR_TOKEN);
    await send(bare.port, { method: "POST", path: "/seed", status: 200 });
    const turns = await measureTurns(askOf(filled), service, bare);
    await paceAgent(service, secrets.OPERATOR_TOKEN, filled);
    const request: PreparedRequest = { method: "POST", path: "/v1/chat/completions", body: { model: PACED, stream: true }, status: 200 };
    const direct: Side = { port: modelPort, request, marks: { sentence: FIRST_SENTENCE_END, end: "[DONE]" } };
    const through: Side = { port: service.port, request: askOf(filled), marks: { sentence: FIRST_SENTENCE_END, end: "event: done" } };
    const levels: Level[] = [];
    for (const level of LEVELS) levels.push(await measureLevel(level, direct, through));
    return { levels, turns };
  } finally {
    await Promise.all(served.map((worker) => worker.close()));
    await model.terminate();
  }
}

/** The question of the other benches, streamed. */
function askOf(filled: Seed): PreparedRequest {
  const { request } = operations(filled).find(({ name }) => name === "ask")!;
  return { ...request, body: { ...(request.body as object), stream: true } };
}

/** Has the agent answer by the paced model. */
async function paceAgent({ port }: RunningWorker, operatorToken: string, { agentId, authorization }: Seed): Promise<void> {
  const me = (await send(port, { method: "GET", path: "/api/v1/me", headers: authorization, status: 200 })) as {
    workspace: { id: string };
  };
  const path = `/operator/v1/workspaces/${me.workspace.id}/agents/${agentId}`;
  const headers = { Authorization: `Bearer ${operatorToken}` };
  await send(port, { method: "PATCH", path, headers, body: { model: PACED }, status: 200 });
}

async function measureLevel(level: (typeof LEVELS)[number], model: Side, service: Side): Promise<Level> {
  console.error(`${level.streams} at once …`);
  const direct = middle(await readLanes(model, level));
  const [ourCpuMs, cpu] = [workerdCpuMs() ?? Number.NaN, process.cpuUsage()];
  const ours = middle(await readLanes(service, level));
  const { user, system } = process.cpuUsage(cpu);
  const answers = level.streams * (level.rounds + 1);
  const cpuMs = { ours: ((workerdCpuMs() ?? Number.NaN) - ourCpuMs) / answers, beside: (user + system) / 1_000 / answers };
  return { streams: level.streams, direct, ours, cpuMs };
}

/** Keeps so many streams running. They begin one after another, as callers do: all at the same moment would measure a queue. */
async function readLanes({ port, request, marks }: Side, { streams, rounds }: (typeof LEVELS)[number]): Promise<Read[]> {
  const lanes = Array.from({ length: streams }, async (_, lane) => {
    await sleep((lane / streams) * TOKENS * TOKEN_MS);
    const reads: Read[] = [];
    // The first one of a lane runs while not all are there yet.
    for (let at = 0; at <= rounds; at++) reads.push(await read(port, request, marks));
    return reads.slice(1);
  });
  return (await Promise.all(lanes)).flat();
}

function middle(reads: Read[]): Read {
  const of = (name: keyof Read) => median(reads.map((one) => one[name]));
  return { firstByteMs: of("firstByteMs"), firstSentenceMs: of("firstSentenceMs"), totalMs: of("totalMs") };
}

async function measureTurns(ask: PreparedRequest, service: RunningWorker, bare: RunningWorker): Promise<StreamResults["turns"]> {
  console.error("Turns …");
  const floorAsk: PreparedRequest = { method: "POST", path: "/ask-model", body: ask.body, status: 200 };
  const rounds: { ours: number; floor: number }[] = [];
  // The first of each warms up.
  for (let at = 0; at <= TURN_ROUNDS; at++) {
    const [floor, ours] = [
      await load(bare.port, floorAsk, CONNECTIONS, TURN_SECONDS),
      await load(service.port, ask, CONNECTIONS, TURN_SECONDS),
    ];
    if (floor.failures + ours.failures > 0) throw new Error("A turn had another status than expected.");
    if (at > 0) rounds.push({ ours: ours.requestsPerSecond, floor: floor.requestsPerSecond });
  }
  return {
    perSecond: median(rounds.map(({ ours }) => ours)),
    floorPerSecond: median(rounds.map(({ floor }) => floor)),
    ratio: median(rounds.map(({ ours, floor }) => ours / floor)),
  };
}

function reportOf(results: StreamResults): Report {
  const { levels, turns } = results;
  const columns = [
    "streams at once",
    "first event, ms",
    "first sentence of the model, ms",
    "ours, ms",
    "later by, ms",
    "whole answer of the model, ms",
    "ours, ms",
    "longer by",
    "CPU ms an answer, ours",
    "of model and reader",
  ];
  const rows = levels.map(({ streams, direct, ours, cpuMs }) => {
    const laterMs = ours.firstSentenceMs - direct.firstSentenceMs;
    const times = [ours.firstByteMs, direct.firstSentenceMs, ours.firstSentenceMs, laterMs, direct.totalMs, ours.totalMs].map((ms) =>
      ms.toFixed(0),
    );
    const longer = `${((ours.totalMs / direct.totalMs - 1) * 100).toFixed(1)} %`;
    return [streams, ...times, longer, cpuMs.ours.toFixed(0), cpuMs.beside.toFixed(0)];
  });
  const notes = [
    `Medians, of a model that writes ${TOKENS} tokens at ${1000 / TOKEN_MS} a second.`,
    `${turns.perSecond.toFixed(0)} streamed turns/s of a model that writes at once, ${turns.ratio.toFixed(2)} of the floor's ${turns.floorPerSecond.toFixed(0)}/s; ${CONNECTIONS} connections.`,
  ];
  return { tables: [{ columns, rows }], notes, data: results };
}
