import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";
import { objectClasses } from "./shared/object-classes.ts";

/*
 * `npm run check:floors`: draws the folder graph of src/ from its imports and from its calls of Durable Objects, and fails on
 * an import from a folder, or a call of an object whose class is in a folder, that is not lower, naming the edge.
 */

/** The folders of src/, top floor first. A folder may import from those after it, and from its own subfolders. */
// prettier-ignore
const FLOORS = [
  ".", "surfaces",
  "sweep", "docs", "backup", "shard-moves", "console", "operator", "email", "widget", "mcp",
  "members",
  "applications",
  "administration", "privacy", "analytics", "webhooks",
  "evaluations", "chat",
  "leads", "conversations", "knowledge",
  "attachments", "routing",
  "agents", "grounded", "extractive", "models", "text",
  "events", "workspaces", "redaction",
  "platform",
];

/** The floors within a folder that has subfolders, likewise. */
const SUBFOLDERS: Record<string, string[]> = {
  knowledge: [
    "knowledge",
    "knowledge/crawl",
    "knowledge/retrieval",
    "knowledge/vectors",
    "knowledge/indexing",
    "knowledge/extract",
    "knowledge/pdf",
  ],
  models: ["models", "models/encoder"],
  text: ["text", "text/languages"],
  platform: ["platform/http", "platform/egress", "platform/crypto", "platform", "platform/db", "platform/telemetry"],
};

interface Edge {
  from: string;
  to: string;
  /** One import or call of the edge, to show where it is. */
  importer: string;
  imported: string;
}

/** The files of the Durable Objects' classes, by the names of their bindings. */
const CLASS_FILES = new Map(objectClasses().map(({ binding, file }) => [binding, file]));

/** The calls of objects through `env.<binding>`. */
function callsOf(file: string, source: string): Edge[] {
  const bindings = [...source.matchAll(/\benv\.([A-Z][A-Z_0-9]*)\b/g)].map(([, name]) => name!);
  return bindings.flatMap((name) => {
    const called = CLASS_FILES.get(name);
    return called ? [{ from: folderOf(file), to: folderOf(called), importer: file, imported: `${called} (env.${name})` }] : [];
  });
}

function edgesOf(file: string): Edge[] {
  const source = readFileSync(file, "utf8");
  const { module } = parseSync(file, source);
  const requests = [...module.staticImports, ...module.staticExports.flatMap(({ entries }) => entries)].map(
    ({ moduleRequest }) => moduleRequest?.value,
  );
  const imports = requests.flatMap((request) => {
    if (!request?.startsWith(".")) return [];
    const imported = join(dirname(file), request);
    return [{ from: folderOf(file), to: folderOf(imported), importer: file, imported }];
  });
  return [...imports, ...callsOf(file, source)];
}

function folderOf(file: string): string {
  return relative("src", dirname(file)) || ".";
}

/** Why an import may not be, or undefined. */
function problemOf({ from, to }: Edge): string | undefined {
  const [above, below] = [from.split("/")[0]!, to.split("/")[0]!];
  const floors = above === below ? (SUBFOLDERS[above] ?? [above]) : FLOORS;
  const [a, b] = above === below ? [floors.indexOf(from), floors.indexOf(to)] : [floors.indexOf(above), floors.indexOf(below)];
  if (a < 0 || b < 0) return `has no floor: add it to scripts/check-floors.ts`;
  return a > b ? "goes up a floor" : undefined;
}

const edges = globSync("src/**/*.ts").flatMap(edgesOf);
const problems = edges.flatMap((edge) => {
  const problem = problemOf(edge);
  return problem === undefined ? [] : [`${edge.from} -> ${edge.to} ${problem}: ${edge.importer} uses ${edge.imported}`];
});
const folders = new Set(edges.flatMap(({ from, to }) => [from, to]));
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${folders.size} folders, no import and no call of an object goes up a floor.`);
