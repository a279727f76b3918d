import { expect, test } from "vitest";
import dashboardText from "../../../docs/grafana-dashboard.json?raw";
import operateGuide from "../../../docs/operate.md?raw";
import watchGuide from "../../../docs/watch.md?raw";
import { COLUMNS, type Job } from "../../../src/platform/telemetry/report.ts";
import wrangler from "../../../wrangler.toml?raw";

interface Target {
  query: string;
  dateTimeColDataType: string;
  datasource: { type: string };
}

const dashboard: {
  templating: { list: { name: string; query: string }[] };
  panels: { id: number; title: string; targets: Target[] }[];
} = JSON.parse(dashboardText);
const targets = dashboard.panels.flatMap((panel) => panel.targets);
const dataset = /^dataset = "(\w+)"$/m.exec(wrangler)![1]!;

/** The queries of the dashboard and of the guides, by where they stand. */
const QUERIES: [name: string, sql: string][] = [
  ...dashboard.panels.flatMap(({ title, targets: own }) => own.map(({ query }): [string, string] => [title, query])),
  ...Object.entries({ operateGuide, watchGuide }).flatMap(([guide, text]) =>
    [...text.matchAll(/^query "([^"]+)"/gm)].map(([, sql], at): [string, string] => [`${guide} ${at + 1}`, sql!]),
  ),
];

/** What Analytics Engine has by itself, what the plugin of Grafana replaces, and the dataset. */
const PLATFORM = ["timestamp", "_sample_interval", "$timeSeries", "$timeFilter", "$dataset", dataset];
const FUNCTIONS = ["SUM", "IF", "NOW", "quantileExactWeighted"];
const KEYWORDS = "SELECT FROM WHERE AND AS GROUP BY ORDER DESC LIMIT LIKE INTERVAL MINUTE HOUR DAY".split(" ");
/** The jobs that queries name. A new name of a job is an error of its type here. */
const JOBS = ["sweep", "turn", "webhook_attempt"] as const satisfies readonly Job[];

const STRING = /'[^']*'/g;

test.each(QUERIES)("the query %s names only columns that the service writes", (_, sql) => {
  const names = sql.replaceAll(STRING, "").match(/\$?[A-Za-z_]\w*/g)!;
  const aliases = [...sql.matchAll(/ AS (\w+)/g)].map(([, alias]) => alias!);
  const known = new Set([...Object.values(COLUMNS), ...PLATFORM, ...FUNCTIONS, ...KEYWORDS, ...aliases]);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test.each(QUERIES)("the query %s counts sampled points, of requests or of jobs that exist", (_, sql) => {
  expect(sql).toContain("_sample_interval");
  const valuesOf = (column: string) => [...sql.matchAll(new RegExp(`\\b${column} (?:=|LIKE) '([^']*)'`, "g"))].map(([, value]) => value!);
  const [event, ...others] = valuesOf(COLUMNS["event"]!);
  expect([["request", "job"].includes(event!), others]).toEqual([true, []]);
  for (const name of valuesOf(COLUMNS["name"]!)) expect([...JOBS, "%-dlq"]).toContain(name);
});

test("the dashboard reads the dataset of the configuration, by the time of its points", () => {
  expect(targets).toHaveLength(dashboard.panels.length);
  for (const { query, dateTimeColDataType } of targets) {
    expect(dateTimeColDataType).toBe("timestamp");
    expect(query).toMatch(/ FROM \$dataset WHERE (\$timeFilter|timestamp >) /);
  }
  expect(dashboard.templating.list.find(({ name }) => name === "dataset")?.query).toBe(dataset);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});
