import { parseArgs } from "node:util";
import { errorText, UserError } from "../scripts/shared/cli.ts";
import { measureCurated } from "./answers/curated.ts";
import { readData } from "./answers/metrics.ts";
import { type Service, withService } from "./answers/service.ts";
import { measureSpeed } from "./answers/speed.ts";
import { measureSupport } from "./answers/support.ts";
import { publishReport, type Table } from "./report.ts";

/*
 * `npm run bench:answers -- --data FILE`: how good search and answers are. The questions of a file go through the API of
 * the built service, with the embedded engine and no network. `-- --speed`: how long a search takes with 1,000 and with
 * 200,000 chunks. `-- --json FILE` also writes the figures to a file.
 */

type Measure = (service: Service) => Promise<Table["rows"]>;

async function chooseMeasure(data: string | undefined, isSpeed: boolean): Promise<{ name: string; measure: Measure }> {
  if (isSpeed) return { name: "Search", measure: measureSpeed };
  if (data === undefined) throw new UserError("--data takes a file of questions; --speed needs none.");
  const read = await readData(data);
  const measure: Measure = (service) => (read.kind === "support" ? measureSupport(service, read) : measureCurated(service, read));
  return { name: read.name, measure };
}

async function main(): Promise<void> {
  const options = { data: { type: "string" }, speed: { type: "boolean", default: false }, json: { type: "string" } } as const;
  const { values } = parseArgs({ options });
  const { name, measure } = await chooseMeasure(values.data, values.speed);
  console.error("Building, teaching and asking …");
  const startMs = performance.now();
  const measured = await withService(measure);
  const rows = measured.map(([label, value]) => [label!, typeof value === "number" ? value.toFixed(3) : value!]);
  const notes = [`${((performance.now() - startMs) / 1000).toFixed(0)} s`];
  await publishReport(
    { tables: [{ columns: [name, ""], rows }], notes, data: { name, results: Object.fromEntries(measured) } },
    values.json,
  );
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
