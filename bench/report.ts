import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Operation } from "./seed.ts";
import { type Build, wrangler } from "./serve.ts";

/** What a request cost in round trips, as the service logs it. */
export interface LoggedCost {
  operation: string;
  object_hops: number;
  d1_trips: number;
  rows_read: number;
}

/** The middle of an operation's rounds, or of its floor's. */
export interface Measured {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface Result extends Measured {
  operation: Operation;
  cost: LoggedCost | undefined;
  floor: Measured;
  /** The middle of the ratios of neighbouring rounds. */
  ratio: number;
}

export interface Bundle {
  bytes: number;
  gzipBytes: number;
  /** CPU time of the module's start, without the runtime's own. */
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

export async function measureBundle(build: Build): Promise<Bundle> {
  const script = await readFile(join(build.directory, build.script));
  const starts: number[] = [];
  for (let start = 0; start < STARTS; start++) starts.push(await startUpMs(build));
  return { bytes: script.length, gzipBytes: gzipSync(script).length, startUpMs: median(starts) };
}

async function startUpMs(build: Build): Promise<number> {
  const file = join(build.directory, "start.cpuprofile");
  await wrangler("check", "startup", "--worker", build.upload, "--outfile", file);
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(file, "utf8")) as CpuProfile;
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === "(idle)").map((node) => node.id));
  const activeUs = samples.reduce((sum, id, at) => sum + (idle.has(id) ? 0 : timeDeltas[at]!), 0);
  return activeUs / 1000;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** A Markdown table of what was measured. */
export function table(results: Result[]): string {
  const rows = results.map(({ operation, requestsPerSecond, p50Ms, p99Ms, cost, floor, ratio }) => [
    operation.label,
    requestsPerSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    String(cost?.d1_trips ?? "?"),
    String(cost?.object_hops ?? "?"),
    `${operation.floor} ${floor.requestsPerSecond.toFixed(0)}`,
    ratio.toFixed(2),
  ]);
  const head = ["operation", "requests/s", "p50 ms", "p99 ms", "D1 trips", "object hops", "floor, requests/s", "ratio"];
  return [head, head.map((_, at) => (at === 0 || at === 6 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

export function describeBundle({ bytes, gzipBytes, startUpMs }: Bundle): string {
  const kib = (size: number) => `${(size / 1024).toFixed(0)} KiB`;
  return `Bundle ${kib(bytes)}, ${kib(gzipBytes)} gzipped; start-up ${startUpMs.toFixed(0)} ms of CPU (\`wrangler check startup\`).`;
}
