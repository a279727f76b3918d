import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { runMain } from "../scripts/shared/cli.ts";
import { askAll, type Outcome } from "./answers/ask.ts";
import { readData, readTrades } from "./answers/questions.ts";
import { measureSpeed } from "./answers/speed.ts";
import { notesOf, tableOf } from "./answers/table.ts";
import { publishReport, type Report } from "./report.ts";
import { buildService, useTemporaryFolder, withService } from "./service.ts";
import { createTenant, type Tenant } from "./tenant.ts";

/*
 * `npm run bench:answers`: how good search and answers are. The questions of bench/trades, and of each `-- --data FILE`, go
 * (or, with `-- --trades FOLDER`, of a folder of the same form)
 * through the API of the built service, with the embedded engine and no network. `--json FILE` saves a run; `--compare FILE`
 * shows what changed since a saved one. `-- --speed`: how long a search takes with 1,000 and with 200,000 chunks instead.
 */

async function measureQuality(
  tenant: Tenant,
  data: readonly string[],
  trades: string | undefined,
  compare: string | undefined,
): Promise<Report> {
  const before = compare === undefined ? undefined : (JSON.parse(await readFile(compare, "utf8")) as { outcomes: Outcome[] }).outcomes;
  const outcomes: Outcome[] = [];
  for (const set of [
    ...(await Promise.all(data.map(readData))),
    ...(await readTrades(undefined, trades === undefined ? undefined : pathToFileURL(`${trades}/`))),
  ]) {
    console.error(`Teaching and asking: ${set.name} …`);
    outcomes.push(...(await askAll(tenant, set)));
  }
  return { tables: [tableOf(outcomes, before)], notes: notesOf(before), data: { outcomes } };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", multiple: true, default: [] },
      trades: { type: "string" },
      speed: { type: "boolean", default: false },
      json: { type: "string" },
      compare: { type: "string" },
    },
  });
  useTemporaryFolder();
  console.error("Building …");
  const report = await withService({ ...(await buildService()), hasEncoder: true }, {}, async ({ port, operatorToken }) => {
    const tenant = await createTenant(port, operatorToken, "answers");
    return values.speed ? measureSpeed(tenant) : measureQuality(tenant, values.data, values.trades, values.compare);
  });
  await publishReport(report, values.json);
}

await runMain(main);
