import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname } from "node:path";
import { runInNewContext } from "node:vm";
import { parseSync } from "oxc-parser";
import { check } from "recheck";

/*
 * `npm run check:regexes`: no regular expression of src/ and client/ may take more than linear time, whatever it is given
 * (ReDoS). Each one is analysed by recheck, those written out and those that a module builds of its own constants.
 */

/** Expressions that recheck warns of although they are fast enough, by their beginning, with the reason. */
const EXCEPTIONS: Record<string, string> = {
  [String.raw`^@\s?(sources?|`]: "a line of the model's answer, 8,000 characters at most",
  "^(sources?|": "a line of the model's answer, 8,000 characters at most",
  [String.raw`\s*\n\s*`]: "a passage, 4,000 characters at most",
  [String.raw`!\[[^\]]*\]`]: "a passage, 4,000 characters at most",
  [String.raw`("(?:[^"\\]|\\.)*")|\s+`]: "only text that JSON.parse accepts: every quote has its end",
  "(?:^|-)(?:cookies?": "a false alarm: linear, but its 150 alternatives take many steps a character",
};

/** Files that compile what a workspace wrote, within a time limit of their own. */
const BUILT_OF_INPUT = new Set(["src/agents/tool-parameters.ts"]);

/** The cost of an attack is counted in steps: a busy machine would measure too much time for a linear expression. */
const OPTIONS = { timeout: 60_000, attackTimeout: null, incubationTimeout: null };
/** Regular expressions that were found linear, so that the next run analyses only new ones. */
const CACHE = "node_modules/.cache/linear-regexes.json";

interface Regex {
  place: string;
  source: string;
  flags: string;
}

/** A node of the syntax tree: the fields that are read here. */
interface Node {
  type: string;
  start: number;
  end: number;
  name?: string;
  body?: Node[];
  declaration?: Node;
  declarations?: { id: Node }[];
  id?: Node;
  callee?: Node;
  regex?: { pattern: string; flags: string };
}

function regexesOf(file: string): Regex[] {
  const text = readFileSync(file, "utf8");
  const program = parseSync(file, text).program as unknown as Node;
  const found: Regex[] = [];
  visit(program, (node) => {
    const place = `${file}:${text.slice(0, node.start).split("\n").length}`;
    if (node.regex) found.push({ place, source: node.regex.pattern, flags: node.regex.flags });
    const isBuilt = node.callee?.name === "RegExp" && !BUILT_OF_INPUT.has(file);
    if (isBuilt) found.push({ place, ...evaluate(node, declarationsOf(program), text, place) });
  });
  return found;
}

function visit(value: unknown, look: (node: Node) => void): void {
  if (typeof value !== "object" || value === null) return;
  if ("type" in value && "start" in value) look(value as Node);
  for (const inner of Object.values(value)) visit(inner, look);
}

/** The top-level declarations of a module, by name. */
function declarationsOf(program: Node): Map<string, Node> {
  const statements = program.body!.map((statement) => statement.declaration ?? statement);
  const named = statements.flatMap((node) =>
    [node.id, ...(node.declarations ?? []).map(({ id }) => id)].map((id) => [id?.name, node] as const),
  );
  return new Map(named.filter((entry): entry is [string, Node] => entry[0] !== undefined));
}

/** Runs `new RegExp(…)` with the constants of its module that it is built of, and nothing else. */
function evaluate(expression: Node, declarations: Map<string, Node>, text: string, place: string): Pick<Regex, "source" | "flags"> {
  const needed = new Set<Node>();
  const collect = (root: Node) =>
    visit(root, ({ type, name }) => {
      const declaration = type === "Identifier" ? declarations.get(name!) : undefined;
      if (!declaration || needed.has(declaration)) return;
      needed.add(declaration);
      collect(declaration);
    });
  collect(expression);
  const textOf = ({ start, end }: Node) => text.slice(start, end);
  const constants = [...needed].toSorted((a, b) => a.start - b.start).map(textOf);
  try {
    const code = stripTypeScriptTypes(`${constants.join("\n")}\nvar built = ${textOf(expression)};`);
    const { source, flags } = runInNewContext(`${code}\nbuilt`) as RegExp;
    return { source, flags };
  } catch (error) {
    throw new Error(`${place}: a regular expression is built of constants of its module alone, so that it can be checked here`, {
      cause: error,
    });
  }
}

/** Whether it contains a repetition without an upper bound: nothing else takes more than linear time. */
function isUnbounded({ source }: Regex): boolean {
  return /[*+]|\{\d+,\}/.test(source.replaceAll(/\\./g, ""));
}

async function problemOf({ place, source, flags }: Regex): Promise<string | undefined> {
  const verdict = await check(source, flags, OPTIONS);
  if (verdict.status === "safe") return undefined;
  const reason = verdict.status === "vulnerable" ? `${verdict.complexity.summary}, on ${verdict.attack.pattern}` : verdict.error.kind;
  return `${place} /${source}/${flags}: ${reason}`;
}

function readCache(): string[] {
  try {
    return JSON.parse(readFileSync(CACHE, "utf8")) as string[];
  } catch {
    return [];
  }
}

const regexes = globSync(["src/**/*.{ts,js}", "client/*.ts"]).flatMap(regexesOf);
const linear = new Set(readCache());
const problems: string[] = [];
const used = new Set<string>();
for (const regex of regexes.filter(isUnbounded)) {
  const exception = Object.keys(EXCEPTIONS).find((start) => regex.source.startsWith(start));
  if (exception !== undefined) used.add(exception);
  const key = `${regex.source}/${regex.flags}`;
  if (exception !== undefined || linear.has(key)) continue;
  const problem = await problemOf(regex);
  if (problem === undefined) linear.add(key);
  else problems.push(problem);
}
mkdirSync(dirname(CACHE), { recursive: true });
writeFileSync(CACHE, JSON.stringify([...linear]));
for (const start of Object.keys(EXCEPTIONS)) if (!used.has(start)) problems.push(`The exception for /${start} is not needed any more.`);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${regexes.length} regular expressions, all of linear time.`);
// recheck would keep this process running.
process.exit(0);
