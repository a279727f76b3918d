import { join } from "node:path";
import { load, readRequestCost, send } from "../load.ts";
import { median, type Report, type Table } from "../report.ts";
import { buildService, createSecrets } from "../service.ts";
import { type Measurement, measurements } from "./requests.ts";
import { checkLoadedRows, type PreparedService, prepareService } from "./workspaces.ts";

/*
 * The same requests to a workspace with few conversations and to one with many, each beside a hundred others in a service
 * of its own, in alternating rounds, so that whatever else slows the machine slows both.
 */

/** What one request cost at one size. */
interface Cost {
  /** The first one ever, with what is cold then. */
  firstMs: number;
  p50Ms: number;
  /** D1's rows, as the service logs them. */
  rowsRead: number | undefined;
}

interface Comparison {
  label: string;
  small: Cost;
  large: Cost;
  /** The middle of the ratios of neighbouring rounds. */
  ratio: number;
}

/** One request at a time: what a caller waits for, without a queue before it. */
const CONNECTIONS = 1;
const ROUNDS = 5;
const WARM_UP_SECONDS = 0.2;

interface ScaleOptions {
  /** How many conversations each of the two workspaces has. */
  small: number;
  large: number;
  /** The length of one round. */
  seconds: number;
}

/** The same requests to a small workspace and to a large one. */
export async function benchScale(directory: string, { small, large, seconds }: ScaleOptions): Promise<Report> {
  const service = await buildService(directory);
  const secrets = createSecrets();
  const prepared: PreparedService[] = [];
  try {
    for (const [name, conversations, mirrored] of [
      ["small", small, true],
      ["large", large, false],
    ] as const) {
      const startedMs = performance.now();
      const one = await prepareService(service, secrets, { state: join(directory, name), conversations, mirrored });
      prepared.push(one);
      if (mirrored) await checkLoadedRows(one);
      console.error(
        `Loaded ${conversations.toLocaleString("en")} conversations in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`,
      );
    }
    const comparisons = await compareAll(prepared[0]!, prepared[1]!, seconds);
    const notes = [`One request at a time, ${ROUNDS} rounds of ${seconds} s a side. Rows read are D1's.`];
    return { tables: [tableOf(comparisons, small, large)], notes, data: { small, large, seconds, rounds: ROUNDS, comparisons } };
  } finally {
    await Promise.all(prepared.map(({ worker }) => worker.close()));
  }
}

async function compareAll(few: PreparedService, many: PreparedService, seconds: number): Promise<Comparison[]> {
  const [ofFew, ofMany] = [await measurements(few.worker.port, few.workspace), await measurements(many.worker.port, many.workspace)];
  const comparisons: Comparison[] = [];
  for (const [at, measurement] of ofFew.entries()) {
    const comparison = await compare([few, measurement], [many, ofMany[at]!], seconds);
    comparisons.push(comparison);
    console.error(`${comparison.label}: ${comparison.large.p50Ms.toFixed(2)} ms, ${comparison.ratio.toFixed(2)} of the small one`);
  }
  return comparisons;
}

type Side = readonly [PreparedService, Measurement];

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

async function first([{ worker }, { request }]: Side): Promise<Pick<Cost, "firstMs" | "rowsRead">> {
  const startedMs = performance.now();
  await send(worker.port, request);
  const firstMs = performance.now() - startedMs;
  return { firstMs, rowsRead: (await readRequestCost(worker, request))?.rows_read };
}

async function p50Of([{ worker }, { label, request }]: Side, seconds: number): Promise<number> {
  const { latenciesMs, failures } = await load(worker.port, request, CONNECTIONS, seconds);
  if (failures > 0) throw new Error(`${failures} responses to "${label}" had another status than expected.`);
  return median(latenciesMs);
}

function tableOf(comparisons: readonly Comparison[], small: number, large: number): Table {
  const sizes = [small, large].map((size) => size.toLocaleString("en"));
  const rows = comparisons.map(({ label, small, large, ratio }) => [
    label,
    ...[small, large].map(({ p50Ms }) => p50Ms.toFixed(2)),
    ratio.toFixed(2),
    ...[small, large].map(({ rowsRead }) => String(rowsRead ?? "?")),
    large.firstMs.toFixed(1),
  ]);
  const columns = ["request", ...sizes.map((size) => `p50 ms, ${size}`), "ratio", ...sizes.map((size) => `rows read, ${size}`)];
  columns.push(`first, ms, ${sizes[1]}`);
  return { columns, rows };
}
