import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type PreparedRequest, send } from "./load.ts";
import { median, type Report } from "./report.ts";
import { operations, seed } from "./seed.ts";
import { type Build, buildService, buildWorker, createSecrets, runWrangler, startWorker, workerdCpuMs } from "./service.ts";

/*
 * What starting costs: the evaluation of what the Worker imports, the whole of a runtime that starts, and the first request of
 * each kind, which loads what it needs. Beside a worker that is the framework alone, in turns.
 */

/** The profiler takes few samples of a start, so one start says little. */
const STARTS = 9;

/** What a runtime took from its start to the first response, in ms. */
interface Start {
  /** Processor time until it listens, of the runtime itself and of the Worker. */
  cpuMs: number;
  /** Processor time of the first request, and how long its response took. */
  requestCpuMs: number;
  requestMs: number;
  /** The same request again. */
  secondMs: number;
}

/** Measures the start of the service and of a bare worker. */
export async function benchStart(directory: string): Promise<Report> {
  const [service, bare] = [await buildService(directory), await buildWorker("bench/workers/hono.toml", "hono.js", join(directory, "hono"))];
  const evaluations = { service: [] as number[], bare: [] as number[] };
  for (let start = 0; start < STARTS; start++) {
    evaluations.bare.push(await startUpMs(bare));
    evaluations.service.push(await startUpMs(service));
  }
  const starts = await measureStarts(service, bare, directory);
  const rows = Object.entries(starts).map(([name, list]) => [name, ...middleOf(list)]);
  const columns = ["the first request", "CPU ms until it listens", "CPU ms of the request", "its ms", "ms of the second"];
  const [ours, theirs] = [median(evaluations.service), median(evaluations.bare)];
  const notes = [
    `The upload: ${await describeUpload(service)}; the bare worker: ${await describeUpload(bare)}.`,
    `Start-up by \`wrangler check startup\`: ${ours.toFixed(1)} ms of CPU, the bare worker's ${theirs.toFixed(1)} ms; ratio ${(ours / theirs).toFixed(2)}.`,
  ];
  return { tables: [{ columns, rows }], notes, data: { evaluations, starts } };
}

/** Starts runtimes on one state, each for one request. */
async function measureStarts(service: Build, bare: Build, directory: string): Promise<Record<string, Start[]>> {
  const [state, bareState] = [join(directory, "state"), join(directory, "bare-state")];
  const secrets = createSecrets();
  const first = await startWorker(service, secrets, state);
  const filled = await seed(first.port, secrets.OPERATOR_TOKEN);
  await first.close();
  const requests = new Map(operations(filled).map(({ name, label, request }) => [name, { label, request }]));
  const starts: Record<string, Start[]> = {};
  for (let start = 0; start < STARTS; start++) {
    const add = (name: string, measured: Start) => (starts[name] ??= []).push(measured);
    add("bare worker, GET /", await measureStart(bare, {}, bareState, { method: "GET", path: "/", status: 200 }));
    add("GET /healthz", await measureStart(service, secrets, state, { method: "GET", path: "/healthz", status: 200 }));
    for (const name of ["me", "agent", "conversation", "search", "ask"]) {
      const { label, request } = requests.get(name)!;
      add(label, await measureStart(service, secrets, state, request));
    }
  }
  return starts;
}

async function measureStart(build: Build, bindings: Record<string, string>, state: string, request: PreparedRequest): Promise<Start> {
  const beforeMs = workerdCpuMs() ?? 0;
  const worker = await startWorker(build, bindings, state);
  try {
    const listensMs = workerdCpuMs() ?? 0;
    const requestMs = await timeOf(() => send(worker.port, request));
    const requestCpuMs = (workerdCpuMs() ?? 0) - listensMs;
    const secondMs = await timeOf(() => send(worker.port, request));
    return { cpuMs: listensMs - beforeMs, requestCpuMs, requestMs, secondMs };
  } finally {
    await worker.close();
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function middleOf(starts: readonly Start[]): string[] {
  const keys = ["cpuMs", "requestCpuMs", "requestMs", "secondMs"] as const;
  return keys.map((key) => median(starts.map((start) => start[key])).toFixed(1));
}

/** The part of a CPU profile that is read here. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string } }[];
  samples: number[];
  timeDeltas: number[];
}

/** CPU time of loading the module, without the runtime's own. */
async function startUpMs(build: Build): Promise<number> {
  const file = join(build.directory, "start.cpuprofile");
  await runWrangler("check", "startup", "--worker", build.upload, "--outfile", file);
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(file, "utf8")) as CpuProfile;
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === "(idle)").map((node) => node.id));
  return samples.reduce((sum, id, at) => sum + (idle.has(id) ? 0 : timeDeltas[at]!), 0) / 1000;
}

/** The modules of a build: how many, and how large. */
async function describeUpload({ directory }: Build): Promise<string> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => /\.(?:js|bin)$/.test(name));
  const files = await Promise.all(names.map((name) => readFile(join(directory, name))));
  const [bytes, gzipBytes] = [Buffer.concat(files).length, gzipSync(Buffer.concat(files)).length];
  return `${kib(bytes)}, ${kib(gzipBytes)} gzipped, in ${names.length} modules`;
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(0)} KiB`;
}
