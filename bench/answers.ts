import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { errorText } from "../scripts/shared/cli.ts";
import { askAll, type Outcome } from "./answers/ask.ts";
import { readData, readTrades } from "./answers/questions.ts";
import { type Service, withService } from "./answers/service.ts";
import { measureSpeed } from "./answers/speed.ts";
import { tableOf } from "./answers/table.ts";
import { publishReport, type Report } from "./report.ts";

/*
 * `npm run bench:answers`: how good search and answers are. The questions of bench/trades, and of each `-- --data FILE`, go
 * through the API of the built service, with the embedded engine and no network. `--json FILE` saves a run; `--compare FILE`
 * shows what changed since a saved one. `-- --speed`: how long a search takes with 1,000 and with 200,000 chunks instead.
 */

interface Run {
  outcomes: Outcome[];
}

async function measureQuality(service: Service, data: readonly string[], compare: string | undefined): Promise<Report> {
  const before = compare === undefined ? undefined : (JSON.parse(await readFile(compare, "utf8")) as Run).outcomes;
  const outcomes: Outcome[] = [];
  for (const set of [...(await Promise.all(data.map(readData))), ...(await readTrades())]) {
    console.error(`Teaching and asking: ${set.name} …`);
    outcomes.push(...(await askAll(service, set)));
  }
  const { table, notes } = tableOf(outcomes, before);
  return { tables: [table], notes, data: { outcomes } satisfies Run };
}

async function reportSpeed(service: Service): Promise<Report> {
  const rows = await measureSpeed(service);
  return { tables: [{ columns: ["Search", ""], rows }], notes: [], data: { results: Object.fromEntries(rows) } };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", multiple: true, default: [] },
      speed: { type: "boolean", default: false },
      json: { type: "string" },
      compare: { type: "string" },
    },
  });
  console.error("Building …");
  const report = await withService((service) =>
    values.speed ? reportSpeed(service) : measureQuality(service, values.data, values.compare),
  );
  await publishReport(report, values.json);
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
