import { format, type Schema, Validator } from "@cfworker/json-schema";
import type { RE2JS } from "re2js";
import type { Tool } from "../models/model.ts";
import { isShallow } from "../platform/json.ts";
import { compilePattern } from "../platform/linear-pattern.ts";

const MAX_SCHEMA_ERRORS_SHOWN = 5;
/** The levels of an input. Functions that walk it are recursive. */
const MAX_INPUT_DEPTH = 64;
/** The most instructions of a compiled pattern. One for an order number has about ten. */
const MAX_INSTRUCTIONS = 1_000;
/** The most steps that the patterns of a schema take for one input. They take up to 0.1 s. */
const MAX_STEPS = 2_000_000;

/** Returns why an input does not fit the tool, so that the model can correct it; undefined if it fits. */
export async function inputProblem(
  { parameters, checksInput = false }: Pick<Tool, "parameters" | "checksInput">,
  input: unknown,
): Promise<string | undefined> {
  if (input === undefined) return "The input is not JSON. Nothing was done.";
  if (!isShallow(input, MAX_INPUT_DEPTH)) return `The input is nested more than ${MAX_INPUT_DEPTH} deep. Nothing was done.`;
  if (checksInput) return typeof input === "object" && input !== null && !Array.isArray(input) ? undefined : "The input is no object.";
  const locations = await failedLocations(parameters, input);
  if (locations.length === 0) return undefined;
  return `The input breaks the tool's schema at ${locations.slice(0, MAX_SCHEMA_ERRORS_SHOWN).join(", ")}. Nothing was done.`;
}

/** Returns the paths of the patterns in a schema that cannot be matched, because RE2 does not know their syntax or they are too long. */
export async function unusablePatterns(parameters: object): Promise<Path[]> {
  const patterns = patternsIn(parameters);
  const matchers = await compile(patterns);
  return patterns.filter(({ pattern }) => !matchers.get(pattern)).map(({ path }) => path);
}

/*
 * RE2 matches the patterns of a schema. The validator only uses JavaScript's, but its formats can be extended: while it runs, each
 * pattern is a format.
 */

/** The locations of the rules of a schema that an input breaks. */
async function failedLocations(schema: Schema, input: unknown): Promise<string[]> {
  const patterns = patternsIn(schema);
  if (patterns.length === 0) return validate(schema, input).map(({ keywordLocation }) => keywordLocation);
  const matchers = await compile(patterns);
  const written = new Map<string, string>();
  let stepsLeft = MAX_STEPS;
  const asFormat = ({ pattern, ...node }: PatternNode, path: Path): Schema => {
    const location = ["#", ...path].join("/");
    const matcher = matchers.get(pattern);
    const own = format[node.format ?? ""];
    const name = `pattern at ${location}`;
    written.set(`${location}/format`, `${location}/pattern`);
    format[name] = (text) => {
      if (!matcher || (stepsLeft -= matcher.programSize() * (text.length + 1)) < 0) return false;
      return matcher.test(text) && (own?.(text) ?? true);
    };
    return { ...node, format: name };
  };
  const changed = changePatterns(schema, asFormat);
  try {
    return validate(changed, input).map(({ keywordLocation: location }) => written.get(location) ?? location);
  } finally {
    for (const name of Object.keys(format)) if (name.startsWith("pattern at ")) delete format[name];
  }
}

function validate(schema: Schema, input: unknown) {
  return new Validator(schema, "2020-12", false).validate(input).errors;
}

type Path = (string | number)[];
type PatternNode = Schema & { pattern: string };

function patternsIn(schema: Schema): { pattern: string; path: Path }[] {
  const found: { pattern: string; path: Path }[] = [];
  changePatterns(schema, (node, path) => {
    found.push({ pattern: node.pattern, path });
    return node;
  });
  return found;
}

/** Returns a copy of a schema in which `change` has replaced each schema that has a pattern. */
function changePatterns(schema: Schema, change: (node: PatternNode, path: Path) => Schema, path: Path = []): Schema {
  const within = (child: unknown, ...further: Path) =>
    typeof child === "object" && child !== null ? changePatterns(child, change, [...path, ...further]) : child;
  const copy: Schema = { ...schema };
  for (const key of ["items", "additionalProperties"]) if (key in schema) copy[key] = within(schema[key], key);
  for (const key of ["anyOf", "oneOf", "allOf"] as const) {
    if (schema[key]) copy[key] = schema[key].map((one, at) => within(one, key, at) as Schema);
  }
  if (schema.properties) {
    const entries = Object.entries(schema.properties).map(([name, one]) => [name, within(one, "properties", name)] as const);
    copy.properties = Object.fromEntries(entries) as NonNullable<Schema["properties"]>;
  }
  return typeof schema.pattern === "string" ? change(copy as PatternNode, path) : copy;
}

/** Compiles patterns. One that cannot be used is undefined. */
async function compile(patterns: readonly { pattern: string }[]): Promise<Map<string, RE2JS | undefined>> {
  const compiled = patterns.map(async ({ pattern }) => [pattern, await compilePattern(pattern, MAX_INSTRUCTIONS)] as const);
  return new Map(await Promise.all(compiled));
}
