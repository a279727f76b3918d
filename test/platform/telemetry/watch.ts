import { env } from "cloudflare:workers";
import { vi } from "vitest";

const LEVELS = ["log", "error", "warn", "info", "debug", "trace"] as const;

/** The telemetry of the service while something ran. */
export interface Watched {
  /** Every line, as it was written. */
  texts: string[];
  /** The same lines, parsed. Each must be a JSON object. */
  lines: Record<string, any>[];
  points: AnalyticsEngineDataPoint[];
}

/** Runs something, and records every line of the log and every data point, of requests, jobs and objects. */
export async function watch(work: () => Promise<unknown>): Promise<Watched> {
  const texts: string[] = [];
  const points: AnalyticsEngineDataPoint[] = [];
  const spies = LEVELS.map((level) =>
    vi.spyOn(console, level).mockImplementation((...said) => void texts.push(said.map(String).join(" "))),
  );
  // A deployment may have no metrics in production; the tests have them.
  const { METRICS } = env as Required<Pick<Env, "METRICS">>;
  const metrics = vi.spyOn(METRICS, "writeDataPoint").mockImplementation((point) => void points.push(point!));
  try {
    await work();
  } finally {
    for (const spy of [...spies, metrics]) spy.mockRestore();
  }
  return { texts, points, lines: texts.map((text) => JSON.parse(text) as Record<string, any>) };
}

/**
 * Returns the only line of a job.
 * @param workspaceId only lines of this workspace count, because messages from other files may be delivered meanwhile.
 */
export function jobIn({ lines }: Watched, job: string, workspaceId?: string): Record<string, any> {
  const found = lines.filter((line) => line["job"] === job && (workspaceId === undefined || line["workspace_id"] === workspaceId));
  if (found.length !== 1) throw new Error(`${found.length} lines of ${job}`);
  return found[0]!;
}
