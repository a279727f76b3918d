import { readFileSync, writeFileSync } from "node:fs";
import { type Document, generateSchemaModule } from "./client/schema.ts";

/* Writes the typed client's schema from the OpenAPI document; with --check, fails where the file is not that. */
const DOCUMENT = new URL("../test/openapi.json", import.meta.url);
const MODULE = new URL("../client/schema.ts", import.meta.url);

const text = generateSchemaModule(JSON.parse(readFileSync(DOCUMENT, "utf8")) as Document);
if (!process.argv.includes("--check")) writeFileSync(MODULE, text);
else if (readFileSync(MODULE, "utf8") !== text) {
  console.error("client/schema.ts is not what test/openapi.json says. Run: npm run client");
  process.exitCode = 1;
}
