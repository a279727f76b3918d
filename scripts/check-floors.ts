import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";

/*
 * `npm run check:floors`: draws the folder graph of src/ from its imports, and fails on an import from a folder that is
 * not lower than the importing one, naming the edge.
 */

/** The folders of src/, top floor first. A folder may import from those after it, and from its own subfolders. */
// prettier-ignore
const FLOORS = [
  ".", "surfaces",
  "sweep", "docs", "backup", "console", "operator", "email", "widget", "mcp",
  "administration", "privacy", "analytics", "webhooks",
  "evaluations", "chat",
  "leads", "conversations", "knowledge",
  "agents", "grounded", "extractive", "models", "text",
  "events", "workspaces",
  "platform",
];

/** The floors within a folder that has subfolders, likewise. */
const SUBFOLDERS: Record<string, string[]> = {
  knowledge: ["knowledge", "knowledge/crawl", "knowledge/retrieval", "knowledge/vectors", "knowledge/indexing", "knowledge/extract"],
  text: ["text", "text/languages"],
  platform: ["platform/http", "platform/egress", "platform/crypto", "platform", "platform/db", "platform/telemetry"],
};

interface Edge {
  from: string;
  to: string;
  /** One import of the edge, to show where it is. */
  importer: string;
  imported: string;
}

function edgesOf(file: string): Edge[] {
  const { module } = parseSync(file, readFileSync(file, "utf8"));
  const requests = [...module.staticImports, ...module.staticExports.flatMap(({ entries }) => entries)].map(
    ({ moduleRequest }) => moduleRequest?.value,
  );
  return requests.flatMap((request) => {
    if (!request?.startsWith(".")) return [];
    const imported = join(dirname(file), request);
    return [{ from: folderOf(file), to: folderOf(imported), importer: file, imported }];
  });
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
  return a > b ? "imports upward" : undefined;
}

const edges = globSync("src/**/*.ts").flatMap(edgesOf);
const problems = edges.flatMap((edge) => {
  const problem = problemOf(edge);
  return problem === undefined ? [] : [`${edge.from} -> ${edge.to} ${problem}: ${edge.importer} imports ${edge.imported}`];
});
const folders = new Set(edges.flatMap(({ from, to }) => [from, to]));
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${folders.size} folders, no import goes up a floor.`);
