import { existsSync, readdirSync, readFileSync } from "node:fs";

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Returns the largest value of the lowest `share` of the values, from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!;
}

/** Returns the mean; 0 of no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Does the work, and returns its result with how many milliseconds it took by the clock. */
export async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, ms: performance.now() - startMs };
}

/** Returns how many milliseconds of CPU the workerd processes use while the work is done; NaN where the system has no /proc. */
export async function workerdCpuMs(work: () => Promise<unknown>): Promise<number> {
  // User time and system time.
  const usedMs = () => sumOfWorkerds((fields) => (Number(fields[11]) + Number(fields[12])) * TICK_MS);
  const startMs = usedMs();
  await work();
  return usedMs() - startMs;
}

/** Returns how many megabytes the workerd processes hold now; NaN where the system has no /proc. */
export function workerdMegabytes(): number {
  return Math.round(sumOfWorkerds((fields) => Number(fields[21]) * PAGE_BYTES) / 1e6);
}

/** Returns the most megabytes that the workerd processes hold while the work is done. */
export async function peakMegabytes(work: () => Promise<unknown>): Promise<number> {
  let peak = workerdMegabytes();
  const timer = setInterval(() => (peak = Math.max(peak, workerdMegabytes())), SAMPLE_MS);
  try {
    await work();
    return peak;
  } finally {
    clearInterval(timer);
  }
}

const SAMPLE_MS = 25;
const PAGE_BYTES = 4096;
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** Returns the ids of the workerd processes that this process started; none where the system has no /proc. */
export function workerdPids(): string[] {
  return workerds().map(({ pid }) => pid);
}

/** Adds up a value of each workerd process that this process started, from the fields of /proc/PID/stat that follow the name. */
function sumOfWorkerds(valueOf: (fields: string[]) => number): number {
  return existsSync("/proc") ? workerds().reduce((sum, { fields }) => sum + valueOf(fields), 0) : Number.NaN;
}

function workerds(): { pid: string; fields: string[] }[] {
  if (!existsSync("/proc")) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const [, name, rest = ""] = /\((.*)\) (.*)/s.exec(readStat(pid)) ?? [];
    const fields = rest.split(" ");
    return name === "workerd" && fields[1] === String(process.pid) ? [{ pid, fields }] : [];
  });
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // The process ended after it was listed.
    return "";
  }
}

/** Does the work for each item, some at a time, and returns the results in the order of the items. */
export async function forEach<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item, at: number) => Promise<Result>,
  concurrency = 8,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...items].entries();
  const lane = async (): Promise<void> => {
    for (const [at, item] of waiting) results[at] = await work(item, at);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return results;
}
