import { parseArgs } from "node:util";
import { runMain } from "../scripts/shared/cli.ts";
import { measure } from "./costs/measure.ts";
import { createReport } from "./costs/table.ts";
import { publishReport } from "./report.ts";
import { useTemporaryFolder } from "./service.ts";

/*
 * `npm run costs`: what a question and an event cost on the platform's price list, from what the built service uses here.
 * `-- --json FILE` also writes the measurements to a file. It takes about half a minute.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: "string" } } });
  useTemporaryFolder();
  console.error("Building and measuring …");
  await publishReport(createReport(await measure()), values.json);
}

await runMain(main);
