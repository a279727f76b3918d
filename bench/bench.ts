import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText, UserError } from "../scripts/shared/cli.ts";
import { benchCrawl } from "./crawl.ts";
import { temporaryDirectory } from "./directory.ts";
import { load, type Prepared, type Round, send } from "./load.ts";
import { probe } from "./probe.ts";
import { type Bundle, describeBundle, measureBundle, type Measured, median, type Result, table } from "./report.ts";
import { benchScale, type ScaleOptions } from "./scale/scale.ts";
import { makeSecrets } from "./secrets.ts";
import { type Operation, operations, seed } from "./seed.ts";
import { build, type Build, serve, type Served } from "./serve.ts";
import { describeStreams, measureStreams } from "./stream/run.ts";
import { describeWebhooks, measureWebhooks } from "./webhooks/run.ts";

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
/** The two sizes of `--scale`, in conversations, and the length of its rounds: with its loading about ten minutes. */
const SCALE = { small: "1000", large: "1000000", seconds: 0.3 };
/** Fewer have no page in their middle, and no person with a hundred of them. */
const MIN_SCALE = 200;

interface Options {
  crawl: boolean;
  seconds: number;
  only: string[] | undefined;
  json: string | undefined;
  /** Measures events and their deliveries, and nothing else. */
  webhooks: boolean;
  scale: ScaleOptions | undefined;
  /** Measures streams of a stand-in model, and nothing else. */
  stream: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string" },
      only: { type: "string", multiple: true },
      json: { type: "string" },
      webhooks: { type: "boolean", default: false },
      scale: { type: "boolean", default: false },
      small: { type: "string", default: SCALE.small },
      large: { type: "string", default: SCALE.large },
      crawl: { type: "boolean", default: false },
      stream: { type: "boolean", default: false },
    },
  });
  const { scale: isScale, json } = values;
  const seconds = Number(values.seconds ?? (isScale ? SCALE.seconds : DEFAULT_SECONDS));
  if (!(seconds > 0)) throw new UserError("--seconds wants a number above zero: the length of one round.");
  const [small, large] = [Number(values.small), Number(values.large)];
  if (![small, large].every((size) => Number.isInteger(size) && size >= MIN_SCALE)) {
    throw new UserError(`--small and --large want a number of conversations, ${MIN_SCALE} at least.`);
  }
  const scale = isScale ? { small, large, seconds, json } : undefined;
  return {
    seconds,
    only: values.only?.flatMap((names) => names.split(",")),
    json,
    webhooks: values.webhooks,
    crawl: values.crawl,
    stream: values.stream,
    scale,
  };
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options.crawl) return benchCrawl();
  const directory = await temporaryDirectory("bench-");
  console.error("Building …");
  if (options.webhooks) return benchWebhooks(directory, options);
  if (options.scale) {
    const built = await build("wrangler.toml", "index.js", join(directory, "ours"));
    return benchScale(built, makeSecrets(), directory, options.scale);
  }
  const [ours, floor] = await Promise.all([
    build("wrangler.toml", "index.js", join(directory, "ours")),
    build("bench/workers/floor.toml", "floor.js", join(directory, "floor")),
  ]);
  if (options.stream) return benchStreams(ours, floor, options);
  const results = await measureAll(ours, floor, options);
  console.error("Starting up …");
  const bundle = await measureBundle(ours);
  await report(results, bundle, options);
}

async function benchWebhooks(directory: string, { json }: Options): Promise<void> {
  const results = await measureWebhooks(await build("wrangler.toml", "index.js", join(directory, "ours")));
  console.log(`\n${describeWebhooks(results)}`);
  if (json) await writeFile(json, JSON.stringify({ at: new Date().toISOString(), cores: availableParallelism(), ...results }, null, 2));
}

async function benchStreams(ours: Build, floor: Build, { json }: Options): Promise<void> {
  const results = await measureStreams(ours, floor);
  console.log(`\n${describeStreams(results)}`);
  if (json) await writeFile(json, JSON.stringify({ at: new Date().toISOString(), cores: availableParallelism(), ...results }, null, 2));
}

async function measureAll(ours: Build, floor: Build, { seconds, only }: Options): Promise<Result[]> {
  const secrets = makeSecrets();
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
    throw new UserError(`No operation ${unknown.join(", ")}. There are: ${all.map((operation) => operation.name).join(", ")}.`);
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
  console.error(errorText(error));
  process.exit(1);
});
