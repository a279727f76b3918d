import { send } from "./load.ts";
import { median, percentile, type Report } from "./report.ts";
import { bundle, startWorker, workerdCpuMs, workerdMegabytes } from "./service.ts";

/** Vectors of an agent, and their dimensions. */
const SIZES = [
  [1_000, 768],
  [10_000, 768],
  [50_000, 768],
  [50_000, 1_024],
] as const;
const QUESTIONS = 200;
/** An exact scan in SQLite takes a while. */
const CHECKED = 30;
/** Away from the seeds of the vectors. */
const FIRST_SEED = 1_000_000;

/** How long a search of the embedded vectors takes, and what it finds of what an exact scan finds. */
export async function benchVectors(directory: string): Promise<Report> {
  const served = await startWorker(await bundle("bench/workers/vectors.toml", "vectors.js", directory), {});
  try {
    const rows: (string | number)[][] = [];
    for (const [count, dimensions] of SIZES) rows.push(await measure(served.port, count, dimensions));
    const columns = [
      "vectors",
      "CPU, ms",
      "p50, ms",
      "p95, ms",
      "exact scan, ms",
      "first search, ms",
      "sketches, MB",
      "recall@10",
      "recall@50",
      "workerd, MB",
    ];
    const notes = ["Random vectors, 100 of a subject. Times are less the request itself; the first search loads the sketches from SQLite."];
    return { tables: [{ columns, rows }], notes, data: { rows } };
  } finally {
    await served.close();
  }
}

async function measure(port: number, count: number, dimensions: number): Promise<(string | number)[]> {
  console.error(`Filling ${count} × ${dimensions} …`);
  const call = async (action: string, seed = 0) =>
    (await send(port, { method: "POST", path: `/${count}/${dimensions}/${action}`, body: { seed }, status: 200 })) as string[];
  const time = async (action: string, seed: number) => {
    const startedAtMs = performance.now();
    const names = await call(action, seed);
    return { ms: performance.now() - startedAtMs, names };
  };
  for (let filled = 0; filled < count;) filled = Number(await call("fill", filled));
  const run = async (action: string) => {
    const times: number[] = [];
    const cpuMs = workerdCpuMs() ?? Number.NaN;
    for (let at = 0; at < QUESTIONS; at++) times.push((await time(action, FIRST_SEED + at)).ms);
    return { times, cpuMs: ((workerdCpuMs() ?? Number.NaN) - cpuMs) / QUESTIONS };
  };
  await run("question");
  const floor = await run("question");
  const floorMs = median(floor.times);
  await call("forget");
  const first = (await time("search", FIRST_SEED)).ms - floorMs;
  await run("search");
  const searches = await run("search");
  const exact: number[] = [];
  const recalls: { ten: number; fifty: number }[] = [];
  for (let at = 0; at < CHECKED; at++) {
    const names = await call("search", FIRST_SEED + at);
    const truth = await time("exact", FIRST_SEED + at);
    exact.push(truth.ms - floorMs);
    recalls.push({ ten: share(truth.names.slice(0, 10), names.slice(0, 10)), fifty: share(truth.names, names) });
  }
  const mean = (of: (recall: { ten: number; fifty: number }) => number) =>
    recalls.reduce((sum, recall) => sum + of(recall), 0) / recalls.length;
  return [
    `${count.toLocaleString("en")} × ${dimensions}`,
    (searches.cpuMs - floor.cpuMs).toFixed(1),
    (median(searches.times) - floorMs).toFixed(1),
    (percentile(searches.times, 0.95) - floorMs).toFixed(1),
    median(exact).toFixed(0),
    first.toFixed(0),
    ((count * (dimensions / 8 + 8)) / 1e6).toFixed(1),
    mean(({ ten }) => ten).toFixed(3),
    mean(({ fifty }) => fifty).toFixed(3),
    workerdMegabytes() ?? "–",
  ];
}

function share(wanted: readonly string[], found: readonly string[]): number {
  const names = new Set(found);
  return wanted.filter((name) => names.has(name)).length / wanted.length;
}
