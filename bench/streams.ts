import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request as sendRequest } from "undici";
import { initOf, load, type PreparedRequest, send } from "./load.ts";
import { forEach, median, workerdCpuMs } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { seed } from "./seed.ts";
import { buildBare, buildService, type RunningWorker, withService, withWorker } from "./service.ts";
import { FIRST_SENTENCE_END, INSTANT, PACED, startPacedModel, TOKEN_MS, TOKENS } from "./stand-ins/paced-model.ts";

/** How many streams run at once, and how many follow one another in the place of each: few streams say little. */
const LEVELS = [
  { streams: 1, rounds: 8 },
  { streams: 16, rounds: 3 },
  { streams: 64, rounds: 2 },
];
const CONNECTIONS = 16;
const TURN_ROUNDS = 7;
const TURN_SECONDS = 1;

/** A server that streams, and the text with which its streams end. */
interface Side {
  port: number;
  request: PreparedRequest;
  end: string;
}

/** Measures what streaming an answer through the service costs over reading the model directly. */
export async function benchStreams(): Promise<Report> {
  const [build, floor] = await Promise.all([buildService(), buildBare("floor")]);
  const model = await startPacedModel();
  const url = `${model.origin}/v1`;
  try {
    return await withService(build, { OPENAI_BASE_URL: url, OPENAI_MODEL: INSTANT }, (service) =>
      withWorker(floor, { MODEL_URL: `${url}/chat/completions`, MODEL: INSTANT }, async (bare) => {
        const { agentId, workspaceId, ask, operate } = await seed(service);
        await send(bare.port, { method: "POST", path: "/seed" });
        const request = { ...ask, body: { ...(ask.body as object), stream: true } };
        const notes = [
          `Medians, of a model that writes ${TOKENS} tokens at ${1000 / TOKEN_MS} a second.`,
          await measureTurns(request, service, bare),
        ];
        await operate("PATCH", `/workspaces/${workspaceId}/agents/${agentId}`, { model: PACED });
        const asModel = { method: "POST", path: "/v1/chat/completions", body: { model: PACED, stream: true } };
        const direct = { port: Number(new URL(url).port), request: asModel, end: "[DONE]" };
        const table: Table = [];
        for (const level of LEVELS) table.push(await measureLevel(level, direct, { port: service.port, request, end: "event: done" }));
        return { tables: [table], notes };
      }),
    );
  } finally {
    await model.close();
  }
}

/** Compares streamed answers of a model that writes all at once with those of the floor. */
async function measureTurns(ask: PreparedRequest, service: RunningWorker, bare: RunningWorker): Promise<string> {
  console.error("Turns …");
  const floorAsk: PreparedRequest = { method: "POST", path: "/ask-model", body: ask.body };
  const round = async () => ({
    floor: (await load(bare.port, floorAsk, CONNECTIONS, TURN_SECONDS)).requestsPerSecond,
    ours: (await load(service.port, ask, CONNECTIONS, TURN_SECONDS)).requestsPerSecond,
  });
  // The first round warms up.
  const rounds = (await forEach(Array(TURN_ROUNDS + 1), round, 1)).slice(1);
  const middle = (of: (one: (typeof rounds)[0]) => number, digits: number) => median(rounds.map(of)).toFixed(digits);
  const [ours, floor, ratio] = [middle((one) => one.ours, 0), middle((one) => one.floor, 0), middle((one) => one.ours / one.floor, 2)];
  return `${ours} streamed turns/s of a model that writes at once, ${ratio} of the floor's ${floor}/s; ${CONNECTIONS} connections.`;
}

async function measureLevel(level: (typeof LEVELS)[0], model: Side, service: Side): Promise<Table[number]> {
  console.error(`${level.streams} at once …`);
  const direct = await readLanes(model, level);
  let ours = direct;
  const cpu = process.cpuUsage();
  const cpuMs = await workerdCpuMs(async () => (ours = await readLanes(service, level)));
  const { user, system } = process.cpuUsage(cpu);
  const middle = (reads: Read[], of: keyof Read) => median(reads.map((read) => read[of]));
  const [modelMs, oursMs] = [middle(direct, "firstSentenceMs"), middle(ours, "firstSentenceMs")];
  const [modelTotalMs, totalMs] = [middle(direct, "totalMs"), middle(ours, "totalMs")];
  const answers = level.streams * (level.rounds + 1);
  return {
    "streams at once": level.streams,
    "first event, ms": middle(ours, "firstByteMs").toFixed(0),
    "first sentence of the model, ms": modelMs.toFixed(0),
    "ours, ms": oursMs.toFixed(0),
    "later by, ms": (oursMs - modelMs).toFixed(0),
    "whole answer of the model, ms": modelTotalMs.toFixed(0),
    "our whole answer, ms": totalMs.toFixed(0),
    "longer by": `${((totalMs / modelTotalMs - 1) * 100).toFixed(1)} %`,
    "CPU ms an answer, ours": (cpuMs / answers).toFixed(0),
    "of model and reader": ((user + system) / 1_000 / answers).toFixed(0),
  };
}

/** Keeps so many streams running. They begin one after another, as callers do: all at the same moment would measure a queue. */
async function readLanes(side: Side, { streams, rounds }: (typeof LEVELS)[0]): Promise<Read[]> {
  const lanes = Array.from({ length: streams }, async (_, lane) => {
    await sleep((lane / streams) * TOKENS * TOKEN_MS);
    const reads: Read[] = [];
    for (let at = 0; at <= rounds; at++) reads.push(await read(side));
    // The first stream of a lane begins before all lanes run.
    return reads.slice(1);
  });
  return (await Promise.all(lanes)).flat();
}

/** The times at which a reader received parts of a stream, since it asked for it. */
interface Read {
  firstByteMs: number;
  /** The end of the answer's first sentence. */
  firstSentenceMs: number;
  totalMs: number;
}

const dispatcher = new Agent();

/** Asks for a stream and reads it to its end. */
async function read({ port, request, end }: Side): Promise<Read> {
  const startMs = performance.now();
  let [firstByteMs, firstSentenceMs, received] = [0, 0, ""];
  const { statusCode, body } = await sendRequest(`http://127.0.0.1:${port}${request.path}`, { ...initOf(request), dispatcher });
  for await (const text of body.setEncoding("latin1") as AsyncIterable<string>) {
    const sinceMs = performance.now() - startMs;
    firstByteMs ||= sinceMs;
    received += text;
    if (firstSentenceMs === 0 && received.includes(FIRST_SENTENCE_END)) firstSentenceMs = sinceMs;
  }
  const isWhole = statusCode === 200 && firstSentenceMs > 0 && received.includes(end);
  if (!isWhole) throw new Error(`A stream is not whole: ${statusCode} ${received.slice(-300)}`);
  return { firstByteMs, firstSentenceMs, totalMs: performance.now() - startMs };
}
