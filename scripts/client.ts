import { readFileSync, writeFileSync } from "node:fs";
import { generateOperationsPage } from "./client/operations-page.ts";
import { type Document, generateSchemaModule } from "./client/schema.ts";

/* Writes the typed clients' schemas and the list of operations from the OpenAPI documents; with --check, fails if a file differs. */
const urlOf = (path: string) => new URL(`../${path}`, import.meta.url);
const read = (path: string) => readFileSync(urlOf(path), "utf8");
const readDocument = (path: string) => JSON.parse(read(path)) as Document;

const api = readDocument("test/openapi.json");
const operator = readDocument("test/openapi.operator.json");
const visitors = readDocument("test/openapi.widget.json");
const FILES = {
  "client/schema.ts": generateSchemaModule(api),
  "client/operator-schema.ts": generateSchemaModule(operator),
  "client/widget-schema.ts": generateSchemaModule(visitors),
  "docs/operations.md": generateOperationsPage({ api, visitors, operator }),
};

for (const [path, text] of Object.entries(FILES)) {
  if (!process.argv.includes("--check")) writeFileSync(urlOf(path), text);
  else if (read(path) !== text) {
    console.error(`${path} is not what the OpenAPI documents say. Run: npm run client`);
    process.exitCode = 1;
  }
}
