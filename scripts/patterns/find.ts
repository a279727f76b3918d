import { pathToFileURL } from "node:url";
import { parseAst } from "vitest/node";

/** A regular expression of the source, where it stands. */
export interface Pattern {
  file: string;
  line: number;
  source: string;
  flags: string;
}

/** A node of the syntax tree, as far as it is looked at. */
interface Node {
  type: string;
  start: number;
  callee?: { name?: string };
  regex?: { pattern: string; flags: string };
}

/** The regular expressions that a TypeScript or JavaScript file writes out, and the lines where it builds one with `new RegExp`. */
export function findPatterns(file: string, text: string): { literals: Pattern[]; builtAt: number[] } {
  const literals: Pattern[] = [];
  const builtAt: number[] = [];
  visit(parseAst(text, { lang: file.endsWith(".js") ? "js" : "ts" }, file), ({ type, start, callee, regex }) => {
    const line = text.slice(0, start).split("\n").length;
    if (regex) literals.push({ file, line, source: regex.pattern, flags: regex.flags });
    if (type === "NewExpression" && callee?.name === "RegExp") builtAt.push(line);
  });
  return { literals, builtAt };
}

function visit(value: unknown, look: (node: Node) => void): void {
  if (typeof value !== "object" || value === null) return;
  if ("type" in value && "start" in value) look(value as Node);
  for (const inner of Object.values(value)) visit(inner, look);
}

/** The regular expressions that a module builds while it is loaded. It is loaded here, once: it must be one that node can load. */
export async function patternsBuiltBy(file: string, path: string): Promise<Pattern[]> {
  const url = pathToFileURL(path).href;
  const built: Pattern[] = [];
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, [source, flags]: [string, string?]) {
      // What the module imports builds its own.
      const line = Number.parseInt(new Error().stack?.split(`${url}:`)[1] ?? "", 10);
      if (line > 0) built.push({ file, line, source, flags: flags ?? "" });
      return new target(source, flags);
    },
  });
  try {
    await import(url);
  } finally {
    globalThis.RegExp = original;
  }
  return built;
}
