import { send } from "./load.ts";
import { timed, mean, median, percentile, workerdCpuMs, workerdMegabytes } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { buildBare, withWorker } from "./service.ts";

/** Numbers of vectors, and their dimensions. */
const SIZES = [
  [1_000, 768],
  [10_000, 768],
  [50_000, 768],
  [50_000, 1_024],
] as const;
const QUESTIONS = 200;
/** How many searches are compared with an exact scan in SQLite, which takes a while. */
const CHECKED = 30;
/** The seeds of the questions are away from those of the vectors. */
const FIRST_SEED = 1_000_000;

/** Measures how long a search of the embedded vectors takes, and which share of an exact scan's results it finds. */
export async function benchVectors(): Promise<Report> {
  return withWorker(await buildBare("vectors"), {}, async ({ port }) => {
    const table: Table = [];
    for (const [count, dimensions] of SIZES) table.push(await measure(port, count, dimensions));
    const note = "Random vectors, 100 of a subject. Times are less the request itself; the first search loads the sketches from SQLite.";
    return { tables: [table], notes: [note] };
  });
}

async function measure(port: number, count: number, dimensions: number): Promise<Table[number]> {
  console.error(`Filling ${count} × ${dimensions} …`);
  const call = <Answer = string[]>(action: string, seed = 0) =>
    send<Answer>(port, { method: "POST", path: `/${count}/${dimensions}/${action}`, body: { seed } });
  for (let filled = 0; filled < count;) filled = await call<number>("fill", filled);
  const run = async (action: string) => {
    const timesMs: number[] = [];
    const cpuMs = await workerdCpuMs(async () => {
      for (let at = 0; at < QUESTIONS; at++) timesMs.push((await timed(() => call(action, FIRST_SEED + at))).ms);
    });
    return { timesMs, cpuMs: cpuMs / QUESTIONS };
  };
  await run("question");
  const floor = await run("question");
  const floorMs = median(floor.timesMs);
  await call("forget");
  const { ms: firstMs } = await timed(() => call("search", FIRST_SEED));
  await run("search");
  const searches = await run("search");
  const exactMs: number[] = [];
  const [ten, fifty]: [number[], number[]] = [[], []];
  for (let at = 0; at < CHECKED; at++) {
    const found = await call("search", FIRST_SEED + at);
    const { result: exact, ms } = await timed(() => call("exact", FIRST_SEED + at));
    exactMs.push(ms);
    ten.push(recall(exact.slice(0, 10), found.slice(0, 10)));
    fifty.push(recall(exact, found));
  }
  return {
    vectors: `${count.toLocaleString("en")} × ${dimensions}`,
    "CPU, ms": (searches.cpuMs - floor.cpuMs).toFixed(1),
    "p50, ms": (median(searches.timesMs) - floorMs).toFixed(1),
    "p95, ms": (percentile(searches.timesMs, 0.95) - floorMs).toFixed(1),
    "exact scan, ms": (median(exactMs) - floorMs).toFixed(0),
    "first search, ms": (firstMs - floorMs).toFixed(0),
    "sketches, MB": ((count * (dimensions / 8 + 8)) / 1e6).toFixed(1),
    "recall@10": mean(ten).toFixed(3),
    "recall@50": mean(fifty).toFixed(3),
    "workerd, MB": workerdMegabytes(),
  };
}

function recall(wanted: readonly string[], found: readonly string[]): number {
  return mean(wanted.map((name) => Number(found.includes(name))));
}
