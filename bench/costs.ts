import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText } from "../scripts/shared/cli.ts";
import { measure } from "./costs/measure.ts";
import { createReport } from "./costs/table.ts";
import { publishReport } from "./report.ts";
import { temporaryDirectory } from "./service.ts";

/*
 * `npm run costs`: what a question and an event cost on the platform's price list, from what the built service uses here.
 * `-- --json FILE` also writes the measurements to a file. It takes about half a minute.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: "string" } } });
  const directory = await temporaryDirectory("costs-");
  console.error("Building and measuring …");
  await publishReport(createReport(await measure(join(directory, "worker"))), values.json);
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
