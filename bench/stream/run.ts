import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { load, type Prepared, send } from "../load.ts";
import { workerdCpuMs } from "../memory.ts";
import { median } from "../report.ts";
import { makeSecrets } from "../secrets.ts";
import { operations, type Seed, seed } from "../seed.ts";
import { type Build, serve, type Served } from "../serve.ts";
import { type Marks, read, type Read } from "./read.ts";
import { FIRST_WORD, INSTANT, PACED, TOKEN_MS, TOKENS } from "./terms.ts";

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
  request: Prepared;
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

export interface StreamResults {
  levels: Level[];
  /** Streamed answers of a model that writes all at once. */
  turns: { perSecond: number; floorPerSecond: number; ratio: number };
}

/** Streams of a stand-in model, read directly and through the built worker, in turns. */
export async function measureStreams(ours: Build, floor: Build): Promise<StreamResults> {
  const secrets = makeSecrets();
  const model = new Worker(new URL("model.ts", import.meta.url));
  const modelPort = await new Promise<number>((resolve, reject) => model.once("message", resolve).once("error", reject));
  const url = `http://127.0.0.1:${modelPort}/v1`;
  const served = await Promise.all([
    serve(ours, { ...secrets, OPENAI_BASE_URL: url, OPENAI_MODEL: INSTANT }),
    serve(floor, { MODEL_URL: `${url}/chat/completions`, MODEL: INSTANT }),
  ]);
  try {
    const [service, bare] = served;
    const filled = await seed(service.port, secrets.OPERATOR_TOKEN);
    await send(bare.port, { method: "POST", path: "/seed", status: 200 });
    const turns = await measureTurns(askOf(filled), service, bare);
    await paceAgent(service, secrets.OPERATOR_TOKEN, filled);
    const request: Prepared = { method: "POST", path: "/v1/chat/completions", body: { model: PACED, stream: true }, status: 200 };
    const direct: Side = { port: modelPort, request, marks: { word: FIRST_WORD, end: "[DONE]" } };
    const through: Side = { port: service.port, request: askOf(filled), marks: { word: FIRST_WORD, end: "event: done" } };
    const levels: Level[] = [];
    for (const level of LEVELS) levels.push(await measureLevel(level, direct, through));
    return { levels, turns };
  } finally {
    await Promise.all(served.map((worker) => worker.close()));
    await model.terminate();
  }
}

/** The question of the other benches, streamed. */
function askOf(filled: Seed): Prepared {
  const { request } = operations(filled).find(({ name }) => name === "ask")!;
  return { ...request, body: { ...(request.body as object), stream: true } };
}

/** Has the agent answer by the paced model. */
async function paceAgent({ port }: Served, operatorToken: string, { agentId, authorization }: Seed): Promise<void> {
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
  return { firstByteMs: of("firstByteMs"), firstWordMs: of("firstWordMs"), totalMs: of("totalMs") };
}

async function measureTurns(ask: Prepared, service: Served, bare: Served): Promise<StreamResults["turns"]> {
  console.error("Turns …");
  const floorAsk: Prepared = { method: "POST", path: "/ask-model", body: ask.body, status: 200 };
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

/** The results as text. */
export function describeStreams({ levels, turns }: StreamResults): string {
  const rows = levels.map(({ streams, direct, ours, cpuMs }) => {
    const later = ours.firstWordMs - direct.firstWordMs;
    const longer = (ours.totalMs / direct.totalMs - 1) * 100;
    const times = [ours.firstByteMs, direct.firstWordMs, ours.firstWordMs, later, direct.totalMs, ours.totalMs].map((ms) => ms.toFixed(0));
    const cpu = `${cpuMs.ours.toFixed(0)} | ${cpuMs.beside.toFixed(0)}`;
    return `| ${streams} | ${times.join(" | ")} | ${longer.toFixed(1)} % | ${cpu} |`;
  });
  return [
    "| streams at once | first event, ms | first word of the model, ms | ours, ms | later by, ms | whole answer of the model, ms | ours, ms | longer by | CPU ms an answer, ours | of model and reader |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
    `Medians, of a model that writes ${TOKENS} tokens at ${1000 / TOKEN_MS} a second.`,
    `${turns.perSecond.toFixed(0)} streamed turns/s of a model that writes at once, ${turns.ratio.toFixed(2)} of the floor's ${turns.floorPerSecond.toFixed(0)}/s; ${CONNECTIONS} connections.`,
  ].join("\n");
}
