import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { load, type Prepared, type Round, send } from "./bench/load.ts";
import { type Bundle, describeBundle, type LoggedCost, measureBundle, type Measured, median, type Result, table } from "./bench/report.ts";
import { type Operation, operations, seed } from "./bench/seed.ts";
import { build, type Build, serve, type Served } from "./bench/serve.ts";
import { describeStreams, measureStreams } from "./bench/stream/run.ts";

/*
 * `npm run bench`: each operation of the built worker against its floor, a bare worker that makes the same hops. They
 * run in two processes, so that what one leaves behind (evictions, queued work) does not hold up the other's thread,
 * and take turns, so that whatever else slows the machine slows both.
 */

const CONNECTIONS = 16;
/** Turns of floor and operation: many short ones, so that a burst of other work on the machine spoils few of them. */
const ROUNDS = 9;
/** With nine operations, two sides, builds, warm-up and start-ups about two and a half minutes. */
const DEFAULT_SECONDS = 0.6;
const WARM_UP_SECONDS = 1;
/** A log line comes by pipe, after its response. */
const LOG_DEADLINE_MS = 2000;

interface Options {
  seconds: number;
  only: string[] | undefined;
  json: string | undefined;
  /** Measures streams of a stand-in model, and nothing else. */
  stream: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: String(DEFAULT_SECONDS) },
      only: { type: "string", multiple: true },
      json: { type: "string" },
      stream: { type: "boolean", default: false },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error("--seconds wants a number above zero: the length of one round.");
  return { seconds, only: values.only?.flatMap((names) => names.split(",")), json: values.json, stream: values.stream };
}

async function main(): Promise<void> {
  const options = readOptions();
  const directory = await mkdtemp(join(tmpdir(), "bench-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  process.env["TMPDIR"] = directory;
  console.error("Building …");
  const [ours, floor] = await Promise.all([
    build("wrangler.toml", "index.js", join(directory, "ours")),
    build("scripts/bench/floor.toml", "floor.js", join(directory, "floor")),
  ]);
  if (options.stream) return benchStreams(ours, floor, options);
  const results = await measureAll(ours, floor, options);
  console.error("Starting up …");
  const bundle = await measureBundle(ours);
  await report(results, bundle, options);
}

async function benchStreams(ours: Build, floor: Build, { json }: Options): Promise<void> {
  const results = await measureStreams(ours, floor);
  console.log(`\n${describeStreams(results)}`);
  if (json) await writeFile(json, JSON.stringify({ at: new Date().toISOString(), cores: availableParallelism(), ...results }, null, 2));
}

async function measureAll(ours: Build, floor: Build, { seconds, only }: Options): Promise<Result[]> {
  const secret = () => randomBytes(32).toString("base64");
  const secrets = { OPERATOR_TOKEN: secret(), KEY_SECRET: secret(), ENCRYPTION_KEY: secret() };
  // Where wrangler looks for required secrets: else it warns.
  Object.assign(process.env, secrets, { WRANGLER_LOG: "error" });
  const served = await Promise.all([serve(ours, secrets), serve(floor, {})]);
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
    throw new Error(`No operation ${unknown.join(", ")}. There are: ${all.map((operation) => operation.name).join(", ")}.`);
  }
  return all.filter((operation) => only?.includes(operation.name) ?? true);
}

async function measure(operation: Operation, ours: Served, floor: Served, seconds: number): Promise<Result> {
  const { request } = operation;
  const floorRequest: Prepared = { method: request.method, path: operation.floor, body: request.body, status: 200 };
  await load(floor.port, floorRequest, CONNECTIONS, WARM_UP_SECONDS);
  await load(ours.port, request, CONNECTIONS, WARM_UP_SECONDS);
  const cost = await probe(ours, request);
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
    floor: middle(rounds.map((round) => round.floor)),
    ...middle(rounds.map((round) => round.ours)),
  };
  console.error(`${operation.label}: ${result.requestsPerSecond.toFixed(0)}/s, ${ratio.toFixed(2)} of its floor`);
  return result;
}

function middle(rounds: Round[]): Measured {
  const percentile = (share: number) => median(rounds.map(({ latenciesMs }) => latenciesMs[Math.floor((latenciesMs.length - 1) * share)]!));
  return { requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)), p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

/** What the service logs of one request; undefined when it logs nothing. A late line of the warm-up says the same. */
async function probe(ours: Served, request: Prepared): Promise<LoggedCost | undefined> {
  let cost: LoggedCost | undefined;
  ours.onLog = (line) => {
    if (line.startsWith("{") && line.includes('"event":"request"')) cost = JSON.parse(line) as LoggedCost;
  };
  await send(ours.port, request);
  for (const deadlineMs = Date.now() + LOG_DEADLINE_MS; !cost && Date.now() < deadlineMs;) await sleep(10);
  ours.onLog = undefined;
  return cost;
}

async function report(results: Result[], bundle: Bundle, { seconds, json }: Options): Promise<void> {
  const machine = { cores: availableParallelism(), connections: CONNECTIONS, rounds: ROUNDS, seconds };
  console.log(`\n${table(results)}\n\n${describeBundle(bundle)}`);
  console.log(
    `${CONNECTIONS} connections, ${ROUNDS} rounds of ${seconds} s a side; ${machine.cores} cores, shared with the load generator.`,
  );
  console.log("A floor makes the same hops without framework, checks and query builder. Both sides log one line a request.");
  if (json) await writeFile(json, JSON.stringify({ at: new Date().toISOString(), machine, bundle, results: results.map(plain) }, null, 2));
}

/** A result without the request, which holds a key. */
function plain({ operation: { name, label, floor: path }, floor, ...measured }: Result) {
  return { name, label, ...measured, floor: { path, ...floor } };
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
