import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { load, send } from "../load.ts";
import { probe } from "../probe.ts";
import { median } from "../report.ts";
import type { Build } from "../serve.ts";
import { checkMirror } from "./check.ts";
import { type Comparison, comparisonTable, type Cost } from "./report.ts";
import { type Measurement, measurements } from "./requests.ts";
import { prepareStage, type Stage } from "./subject.ts";

/*
 * `npm run bench -- --scale`: the same requests to a workspace with few conversations and to one with many, each beside a
 * hundred others in a service of its own. They take turns, so that whatever else slows the machine slows both.
 */

/** One request at a time: what a caller waits for, without a queue before it. */
const CONNECTIONS = 1;
const ROUNDS = 5;
const WARM_UP_SECONDS = 0.2;

export interface ScaleOptions {
  /** How many conversations each of the two has. */
  small: number;
  large: number;
  /** The length of one round. */
  seconds: number;
  json: string | undefined;
}

/** Measures, prints the table, and keeps it where it is asked for. */
export async function benchScale(build: Build, secrets: Record<string, string>, directory: string, options: ScaleOptions): Promise<void> {
  const { small, large, seconds, json } = options;
  const stages: Stage[] = [];
  try {
    for (const [name, talks, mirrored] of [
      ["small", small, true],
      ["large", large, false],
    ] as const) {
      const startedMs = performance.now();
      const stage = await prepareStage(build, secrets, { state: join(directory, name), talks, mirrored });
      stages.push(stage);
      if (mirrored) await checkMirror(stage);
      console.error(`Loaded ${talks.toLocaleString("en")} conversations in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`);
    }
    const [few, many] = stages as [Stage, Stage];
    const comparisons = await compareAll(few, many, seconds);
    console.log(`\n${comparisonTable(comparisons, small, large)}\n`);
    console.log(`One request at a time, ${ROUNDS} rounds of ${seconds} s a side. Rows read are D1's.`);
    if (json)
      await writeFile(json, JSON.stringify({ at: new Date().toISOString(), small, large, seconds, rounds: ROUNDS, comparisons }, null, 2));
  } finally {
    await Promise.all(stages.map(({ served }) => served.close()));
  }
}

async function compareAll(few: Stage, many: Stage, seconds: number): Promise<Comparison[]> {
  const [ofFew, ofMany] = [await measurements(few.served.port, few.subject), await measurements(many.served.port, many.subject)];
  const comparisons: Comparison[] = [];
  for (const [at, measurement] of ofFew.entries()) {
    const comparison = await compare([few, measurement], [many, ofMany[at]!], seconds);
    comparisons.push(comparison);
    console.error(`${comparison.label}: ${comparison.large.p50Ms.toFixed(2)} ms, ${comparison.ratio.toFixed(2)} of the small one`);
  }
  return comparisons;
}

type Side = readonly [Stage, Measurement];

async function compare(few: Side, many: Side, seconds: number): Promise<Comparison> {
  const sides = [few, many];
  const firsts: Pick<Cost, "firstMs" | "rowsRead">[] = [];
  for (const side of sides) firsts.push(await first(side));
  for (const side of sides) await p50Of(side, WARM_UP_SECONDS);
  const rounds: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push([await p50Of(few, seconds), await p50Of(many, seconds)]);
  const cost = (at: 0 | 1): Cost => ({ ...firsts[at]!, p50Ms: median(rounds.map((round) => round[at])) });
  return { label: few[1].label, small: cost(0), large: cost(1), ratio: median(rounds.map(([small, large]) => large / small)) };
}

async function first([{ served }, { request }]: Side): Promise<Pick<Cost, "firstMs" | "rowsRead">> {
  const startedMs = performance.now();
  await send(served.port, request);
  const firstMs = performance.now() - startedMs;
  return { firstMs, rowsRead: (await probe(served, request))?.rows_read };
}

async function p50Of([{ served }, { label, request }]: Side, seconds: number): Promise<number> {
  const { latenciesMs, failures } = await load(served.port, request, CONNECTIONS, seconds);
  if (failures > 0) throw new Error(`${failures} responses to "${label}" had another status than expected.`);
  return median(latenciesMs);
}
