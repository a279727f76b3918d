import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText } from "../scripts/shared/cli.ts";
import { measure } from "./costs/measure.ts";
import { describe } from "./costs/table.ts";
import { temporaryDirectory } from "./directory.ts";

/*
 * `npm run costs`: what a question and an event cost on the platform's price list, from what the built service uses here.
 * `-- --json <file>` keeps the measurements. It takes about half a minute.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: "string" } } });
  const directory = await temporaryDirectory("costs-");
  console.error("Building and measuring …");
  const measurements = await measure(join(directory, "worker"));
  console.log(describe(measurements));
  if (values.json) await writeFile(values.json, JSON.stringify(measurements, null, 2));
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
