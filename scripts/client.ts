import { readFileSync, writeFileSync } from "node:fs";
import { type Document, generateSchemaModule } from "./client/schema.ts";

/* Writes the typed clients' schemas from the OpenAPI documents; with --check, fails where a file is not that. */
const MODULES = {
  "client/schema.ts": "test/openapi.json",
  "client/operator-schema.ts": "test/openapi.operator.json",
  "client/widget-schema.ts": "test/openapi.widget.json",
};

const urlOf = (path: string) => new URL(`../${path}`, import.meta.url);

for (const [module, document] of Object.entries(MODULES)) {
  const text = generateSchemaModule(JSON.parse(readFileSync(urlOf(document), "utf8")) as Document);
  if (!process.argv.includes("--check")) writeFileSync(urlOf(module), text);
  else if (readFileSync(urlOf(module), "utf8") !== text) {
    console.error(`${module} is not what ${document} says. Run: npm run client`);
    process.exitCode = 1;
  }
}
