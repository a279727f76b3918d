import { parseArgs } from "node:util";
import { measureCurated } from "./answers/curated.ts";
import { readData } from "./answers/data.ts";
import { withService } from "./answers/service.ts";
import { measureSupport } from "./answers/support.ts";

/*
 * `npm run bench:answers -- --data FILE`: how good search and answers are. A file of questions goes through the built
 * service as a caller would put it: taught by its ingestion, searched and asked by its operations, with the embedded
 * engine and no network.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { data: { type: "string" } } });
  if (!values.data) throw new Error("--data wants a file of measuring data.");
  const data = await readData(values.data);
  console.error(`${data.name}: building, teaching and asking …`);
  const startMs = performance.now();
  const rows = await withService((service) => (data.kind === "support" ? measureSupport(service, data) : measureCurated(service, data)));
  console.log(`\n${data.name}\n`);
  for (const [name, value] of rows) console.log(`| ${name} | ${typeof value === "number" ? value.toFixed(3) : value} |`);
  console.error(`\n${((performance.now() - startMs) / 1000).toFixed(0)} s`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
