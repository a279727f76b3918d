import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { UserError } from "../scripts/shared/cli.ts";
import { load, type LoggedCost, type PreparedRequest, readRequestCost, type Round, send } from "./load.ts";
import { median, percentile, type Report } from "./report.ts";
import { type Operation, operations, seed } from "./seed.ts";
import { type Build, buildFloor, buildService, createSecrets, type RunningWorker, runWrangler, startWorker } from "./service.ts";

/*
 * Each operation of the built worker against its floor, a bare worker that makes the same hops. They run in two
 * processes, so that what one leaves behind (evictions, queued work) does not hold up the other's thread, and in
 * alternating rounds, so that whatever else slows the machine slows both.
 */

const CONNECTIONS = 16;
/** Many short rounds, so that a burst of other work on the machine spoils few of them. */
const ROUNDS = 9;
const WARM_UP_SECONDS = 1;

/** The middle of an operation's rounds, or of its floor's. */
interface Measured {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

interface Result extends Measured {
  operation: Operation;
  cost: LoggedCost | undefined;
  floor: Measured;
  /** The median of the ratios of neighbouring rounds. */
  ratio: number;
}

/** Measures all operations, or those named in `only`, in rounds of so many seconds. */
export async function benchOperations(
  directory: string,
  { seconds, only }: { seconds: number; only: string[] | undefined },
): Promise<Report> {
  const [service, floor] = await Promise.all([buildService(directory), buildFloor(directory)]);
  const results = await measureAll(service, floor, seconds, only);
  console.error("Starting up …");
  return reportOf(results, await measureBundle(service), seconds);
}

async function measureAll(ours: Build, floor: Build, seconds: number, only: string[] | undefined): Promise<Result[]> {
  const secrets = createSecrets();
  const served = await Promise.all([startWorker(ours, secrets), startWorker(floor, {})]);
  try {
    console.error("Seeding …");
    const [filled] = await Promise.all([seed(served[0].port, secrets.OPERATOR_TOKEN), fillFloor(served[1].port)]);
    const results: Result[] = [];
    for (const operation of choose(operations(filled), only)) results.push(await measure(operation, served[0], served[1], seconds));
    return results;
  } finally {
    await Promise.all(served.map((worker) => worker.close()));
  }
}

function fillFloor(port: number): Promise<unknown> {
  return send(port, { method: "POST", path: "/seed", status: 200 });
}

function choose(all: Operation[], only: string[] | undefined): Operation[] {
  const unknown = only?.filter((name) => !all.some((operation) => operation.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new UserError(`No operation ${unknown.join(", ")}. There are: ${all.map((operation) => operation.name).join(", ")}.`);
  }
  return all.filter((operation) => only?.includes(operation.name) ?? true);
}

async function measure(operation: Operation, ours: RunningWorker, floor: RunningWorker, seconds: number): Promise<Result> {
  const { request } = operation;
  const floorRequest: PreparedRequest = { method: request.method, path: operation.floor, body: request.body, status: 200 };
  await load(floor.port, floorRequest, CONNECTIONS, WARM_UP_SECONDS);
  await load(ours.port, request, CONNECTIONS, WARM_UP_SECONDS);
  const cost = await readRequestCost(ours, request);
  const rounds: { floor: Round; ours: Round }[] = [];
  for (let at = 0; at < ROUNDS; at++) {
    rounds.push({
      floor: await load(floor.port, floorRequest, CONNECTIONS, seconds),
      ours: await load(ours.port, request, CONNECTIONS, seconds),
    });
  }
  const failures = rounds.reduce((sum, round) => sum + round.floor.failures + round.ours.failures, 0);
  if (failures > 0) throw new Error(`${failures} responses to ${operation.label} or to its floor had another status than expected.`);
  const ratio = median(rounds.map((round) => round.ours.requestsPerSecond / round.floor.requestsPerSecond));
  const result = {
    operation,
    cost,
    ratio,
    floor: middleOf(rounds.map((round) => round.floor)),
    ...middleOf(rounds.map((round) => round.ours)),
  };
  console.error(`${operation.label}: ${result.requestsPerSecond.toFixed(0)}/s, ${ratio.toFixed(2)} of its floor`);
  return result;
}

function middleOf(rounds: Round[]): Measured {
  const latencyMs = (share: number) => median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, share)));
  return { requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)), p50Ms: latencyMs(0.5), p99Ms: latencyMs(0.99) };
}

function reportOf(results: Result[], bundle: Bundle, seconds: number): Report {
  const machine = { connections: CONNECTIONS, rounds: ROUNDS, seconds };
  const rows = results.map(({ operation, requestsPerSecond, p50Ms, p99Ms, cost, floor, ratio }) => [
    operation.label,
    requestsPerSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    cost?.d1_trips ?? "?",
    cost?.object_hops ?? "?",
    `${operation.floor} ${floor.requestsPerSecond.toFixed(0)}`,
    ratio.toFixed(2),
  ]);
  const columns = ["operation", "requests/s", "p50 ms", "p99 ms", "D1 trips", "object hops", "floor, requests/s", "ratio"];
  const notes = [
    describeBundle(bundle),
    `${CONNECTIONS} connections, ${ROUNDS} rounds of ${seconds} s a side; the load generator shares the machine.`,
    "A floor makes the same hops without framework, checks and query builder. Both sides log one line a request.",
  ];
  return { tables: [{ columns, rows }], notes, data: { machine, bundle, results: results.map(withoutRequest) } };
}

/** The request holds a key. */
function withoutRequest({ operation: { name, label, floor: path }, floor, ...measured }: Result) {
  return { name, label, ...measured, floor: { path, ...floor } };
}

interface Bundle {
  bytes: number;
  gzipBytes: number;
  /** CPU time of loading the module, without the runtime's own. */
  startUpMs: number;
}

/** The profiler takes few samples of a start, so one start says little. */
const STARTS = 5;

/** The part of a CPU profile that is read here. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string } }[];
  samples: number[];
  timeDeltas: number[];
}

async function measureBundle(build: Build): Promise<Bundle> {
  const files = (await readdir(build.directory, { recursive: true })).filter((file) => /\.(?:js|bin)$/.test(file));
  const upload = Buffer.concat(await Promise.all(files.map((file) => readFile(join(build.directory, file)))));
  const starts: number[] = [];
  for (let start = 0; start < STARTS; start++) starts.push(await startUpMs(build));
  return { bytes: upload.length, gzipBytes: gzipSync(upload).length, startUpMs: median(starts) };
}

async function startUpMs(build: Build): Promise<number> {
  const file = join(build.directory, "start.cpuprofile");
  await runWrangler("check", "startup", "--worker", build.upload, "--outfile", file);
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(file, "utf8")) as CpuProfile;
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === "(idle)").map((node) => node.id));
  const activeUs = samples.reduce((sum, id, at) => sum + (idle.has(id) ? 0 : timeDeltas[at]!), 0);
  return activeUs / 1000;
}

function describeBundle({ bytes, gzipBytes, startUpMs }: Bundle): string {
  const kib = (size: number) => `${(size / 1024).toFixed(0)} KiB`;
  return `Modules of ${kib(bytes)}, ${kib(gzipBytes)} gzipped; start-up ${startUpMs.toFixed(0)} ms of CPU (\`wrangler check startup\`).`;
}
