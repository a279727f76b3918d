import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { runMain } from "../scripts/shared/cli.ts";
import { askAll, type Outcome } from "./answers/ask.ts";
import { readData, readTrades, withoutAnswers } from "./answers/questions.ts";
import { measureSpeed } from "./answers/speed.ts";
import { notesOf, tableOf } from "./answers/table.ts";
import { publishReport, type Report } from "./report.ts";
import { buildService, useTemporaryFolder, withService } from "./service.ts";
import { createTenant, type Tenant } from "./tenant.ts";

/*
 * `npm run bench:answers`: how good search and answers are. The questions of bench/trades, or with `-- --trades FOLDER` of a folder of the
 * same form, and of each `--data FILE`, go through the API of the built service, with the embedded engine and no network. With
 * `--without-answers`, the texts of the trades lack half of the answers. `--json FILE` saves a run; `--compare FILE` shows what changed
 * since a saved one. `--speed`: how long a search takes with 1,000 and with 200,000 chunks instead.
 */

async function measureQuality(
  tenant: Tenant,
  data: readonly string[],
  { folder, lacksAnswers, compare }: { folder: string | undefined; lacksAnswers: boolean; compare: string | undefined },
): Promise<Report> {
  const before = compare === undefined ? undefined : (JSON.parse(await readFile(compare, "utf8")) as { outcomes: Outcome[] }).outcomes;
  const outcomes: Outcome[] = [];
  const trades = await readTrades(undefined, folder === undefined ? undefined : pathToFileURL(`${folder}/`));
  for (const set of [...(await Promise.all(data.map(readData))), ...(lacksAnswers ? trades.flatMap(withoutAnswers) : trades)]) {
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
      "without-answers": { type: "boolean", default: false },
      speed: { type: "boolean", default: false },
      json: { type: "string" },
      compare: { type: "string" },
    },
  });
  useTemporaryFolder();
  console.error("Building …");
  const report = await withService({ ...(await buildService()), hasEncoder: true }, {}, async ({ port, operatorToken }) => {
    const tenant = await createTenant(port, operatorToken, "answers");
    const { trades: folder, "without-answers": lacksAnswers, compare } = values;
    return values.speed ? measureSpeed(tenant) : measureQuality(tenant, values.data, { folder, lacksAnswers, compare });
  });
  await publishReport(report, values.json);
}

await runMain(main);
