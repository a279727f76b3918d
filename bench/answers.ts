import { parseArgs } from "node:util";
import { errorText, UserError } from "../scripts/shared/cli.ts";
import { measureCurated } from "./answers/curated.ts";
import { readData } from "./answers/data.ts";
import { type Service, withService } from "./answers/service.ts";
import { measureSpeed } from "./answers/speed.ts";
import { measureSupport } from "./answers/support.ts";

/*
 * `npm run bench:answers -- --data FILE`: how good search and answers are. A file of questions goes through the built
 * service as a caller would put it: taught by its ingestion, searched and asked by its operations, with the embedded
 * engine and no network. `-- --speed`: how long a search takes beside 1,000 and 200,000 chunks.
 */

type Measure = (service: Service) => Promise<[string, number | string][]>;

async function chooseMeasure(): Promise<{ name: string; measure: Measure }> {
  const { values } = parseArgs({ options: { data: { type: "string" }, speed: { type: "boolean", default: false } } });
  if (values.speed) return { name: "Search", measure: measureSpeed };
  if (!values.data) throw new UserError("--data wants a file of measuring data; --speed wants none.");
  const data = await readData(values.data);
  const measure: Measure = (service) => (data.kind === "support" ? measureSupport(service, data) : measureCurated(service, data));
  return { name: data.name, measure };
}

async function main(): Promise<void> {
  const { name, measure } = await chooseMeasure();
  console.error("Building, teaching and asking …");
  const startMs = performance.now();
  const rows = await withService(measure);
  console.log(`\n| ${name} | |\n| --- | ---: |`);
  for (const [measured, value] of rows) console.log(`| ${measured} | ${typeof value === "number" ? value.toFixed(3) : value} |`);
  console.error(`\n${((performance.now() - startMs) / 1000).toFixed(0)} s`);
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
