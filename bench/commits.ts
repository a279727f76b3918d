import { load } from "./load.ts";
import { forEach, percentile } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { seed } from "./seed.ts";
import { type Build, buildVariant, withService } from "./service.ts";

const COMMITS_MS = [10, 30];
const CALLERS = [1, 64];
const ROUND_SECONDS = 5;
/** By the second setting no database is ever taken for busy. */
const SETTINGS = { gathered: "", "each by itself": "60000" };

/** Measures how many questions of one workspace are answered while the commits of its database take long and follow one another. */
export async function benchCommits(): Promise<Report> {
  const build = await buildVariant("commits");
  const table: Table = [];
  for (const commitMs of COMMITS_MS) {
    const measured = Object.fromEntries(
      await forEach(Object.entries(SETTINGS), async ([name, setting]) => [name, await measure(build, commitMs, setting)] as const, 1),
    );
    for (const callers of CALLERS) {
      const [gathered, alone] = [measured["gathered"]!.get(callers)!, measured["each by itself"]!.get(callers)!];
      table.push({
        "a commit takes": `${commitMs} ms`,
        callers,
        "asks/s, each by itself": alone.perSecond.toFixed(0),
        "asks/s, gathered": gathered.perSecond.toFixed(0),
        ratio: (gathered.perSecond / alone.perSecond).toFixed(1),
        "p50 ms, each / gathered": `${alone.p50.toFixed(0)} / ${gathered.p50.toFixed(0)}`,
        "p99 ms, each / gathered": `${alone.p99.toFixed(0)} / ${gathered.p99.toFixed(0)}`,
      });
    }
  }
  return {
    tables: [table],
    notes: ["Whole questions of one workspace, each of a new conversation, whose database commits one batch after the other."],
  };
}

async function measure(build: Build, commitMs: number, setting: string) {
  const bindings = { COMMIT_MS: String(commitMs), GROUP_COMMIT_AFTER_MS: setting };
  return withService(build, bindings, async (service) => {
    const { ask } = await seed(service);
    const rounds = await forEach(CALLERS, async (callers) => [callers, await load(service.port, ask, callers, ROUND_SECONDS)] as const, 1);
    return new Map(
      rounds.map(([callers, { requestsPerSecond: perSecond, latenciesMs }]) => {
        return [callers, { perSecond, p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) }];
      }),
    );
  });
}
