import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Expectation, Point, Series } from "./growth.ts";
import type { World } from "./setup.ts";

/*
 * What is measured while the service runs: memory and the work that waits every few seconds, tables and files at the end of each
 * day, when all work is done.
 */

/** Tables that grow with time by design. */
const GROWING: Record<string, string> = {
  analytics_days: "a row for each day and agent",
  analytics_spans: "a row for each 16 days",
  audit_log: "erasures of persons are kept",
  conversation_spans: "rows for each day",
  feedback_days: "a row for each day",
  lead_days: "a row for each day",
  operator_audit: "kept for 400 days",
  unanswered_question_days: "rows for each day",
  usage_periods: "a row for each month",
};
const MEGABYTE = 1e6;
/** A killed process does not always close its connections, so that a request to it may never end. */
const HEALTH_LIMIT_MS = 60_000;
/** Growth up to these numbers of rows, megabytes of storage and megabytes of memory is no fault. */
const SLACK_ROWS = 40;
const SLACK_STORAGE = 2;
const SLACK_MEMORY = 50;
/** The process that is not killed has half of its life until then, a sixth of the run, to fill its caches and its heap. */
const FILLED_FROM = 1 / 2;

export class Samples {
  private readonly series = new Map<string, Series & { points: Point[] }>();
  private readonly startMs = Date.now();

  /** The hours since the start. */
  get hour(): number {
    return (Date.now() - this.startMs) / 3_600_000;
  }

  get all(): Series[] {
    return [...this.series.values()];
  }

  /** How much work waited when it was measured last. */
  get waiting(): number {
    const last = this.all.filter(({ expectation }) => expectation === "zero").map(({ points }) => points.at(-1)!.value);
    return last.reduce((sum, value) => sum + value, 0);
  }

  add(name: string, value: number, expectation: Expectation, slack = 0, more: Pick<Series, "reason" | "judgedFrom"> = {}): void {
    const series = this.series.get(name) ?? { name, expectation, slack, points: [], ...more };
    this.series.set(name, series);
    series.points.push({ hour: this.hour, value });
  }

  /** Measures the memory and the work that waits. @param isUndisturbed whether the process lives longer than the others. */
  async takeOften({ service, operatorToken }: World, isUndisturbed: boolean): Promise<void> {
    const sample = await service.sample();
    const [name, more] = isUndisturbed ? ["memory of workerd, not killed, MB", { judgedFrom: FILLED_FROM }] : ["memory of workerd, MB"];
    if (sample) this.add(name, sample.megabytes, "flat", SLACK_MEMORY, more);
    const waiting = await readWaiting(await service.port, operatorToken);
    for (const [kind, count] of waiting) this.add(`waiting ${kind}`, count, "zero");
  }

  /** Measures the tables and files at the end of a day. */
  async takeDaily({ service }: World, state: string): Promise<void> {
    const sample = await service.sample();
    for (const [table, count] of Object.entries(sample?.rows ?? {})) {
      const reason = GROWING[table];
      this.add(`rows of ${table}`, count, reason === undefined ? "flat" : "grows", SLACK_ROWS, reason === undefined ? {} : { reason });
    }
    for (const [folder, { files, bytes }] of await readFolders(state)) {
      this.add(`databases of ${folder}`, files, "flat", SLACK_ROWS);
      this.add(`storage of ${folder}, MB`, bytes / MEGABYTE, "flat", SLACK_STORAGE);
    }
  }
}

/** Returns the numbers of due work by kind, from the health; none while the service is down or does not answer. */
async function readWaiting(port: number, operatorToken: string): Promise<[string, number][]> {
  try {
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const signal = AbortSignal.timeout(HEALTH_LIMIT_MS);
    const response = await fetch(`http://127.0.0.1:${port}/operator/v1/health`, { headers, signal });
    const { work } = (await response.json()) as { work: { kind: string; waiting: number }[] };
    return work.map(({ kind, waiting }) => [kind, waiting]);
  } catch {
    return [];
  }
}

/** The size of a database without tables, as an object whose storage was deleted leaves it on a laptop. */
const EMPTY_BYTES = 4_096;

/**
 * The databases with content in each folder of the storage, which holds those of one class. Their write-ahead logs are left out: SQLite
 * bounds them, and their sizes depend on when it last emptied them.
 */
async function readFolders(state: string): Promise<Map<string, { files: number; bytes: number }>> {
  const folders = new Map<string, { files: number; bytes: number }>();
  for (const name of await readdir(state, { recursive: true })) {
    if (!name.endsWith(".sqlite")) continue;
    const bytes = await sizeOf(join(state, name));
    const folder = basename(dirname(name)).replace(/^(hastened|miniflare)-/, "");
    const own = folders.get(folder) ?? { files: 0, bytes: 0 };
    folders.set(folder, bytes > EMPTY_BYTES ? { files: own.files + 1, bytes: own.bytes + bytes } : own);
  }
  return folders;
}

/** The bytes of a file; 0 where there is none. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}
