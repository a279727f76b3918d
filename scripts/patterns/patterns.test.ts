import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../dev/project.ts";
import { findPatterns, type Pattern, patternsBuiltBy } from "./find.ts";
import { slowInputOf, slowInputWithin } from "./growth.ts";

/** Patterns that are slow on texts much longer than they are ever given: with how long those are at most, in characters. */
const GIVEN_LITTLE: { file: string; begins: string; maxChars: number }[] = [
  // The lists in its own file, and a clause.
  { file: "src/models/intent.ts", begins: String.raw`\s*\n\s*`, maxChars: 1_000 },
  { file: "src/models/intent.ts", begins: "^(?:(?:(?:hi|hello|", maxChars: 160 },
  // A passage, and a piece of one.
  { file: "src/models/units.ts", begins: String.raw`!\[[^\]]*\]`, maxChars: 4_000 },
  { file: "src/models/units.ts", begins: String.raw`\s*\n\s*`, maxChars: 4_000 },
  // An answer.
  { file: "src/models/header.ts", begins: "<think>.*?", maxChars: 8_000 },
];
/** Those whose text is a workspace's: they are only compiled here, to see whether they can be. */
const BUILT_OF_INPUT = new Set(["src/agents/tools/parameters.ts"]);

void test("no pattern of the source takes more than linear time, whatever it is given", async () => {
  const patterns = await allPatterns();
  assert.ok(patterns.length > 300, `only ${patterns.length} patterns are found`);
  const slow = patterns.flatMap((pattern) => {
    const { file, line, source, flags } = pattern;
    const little = GIVEN_LITTLE.find((given) => given.file === file && source.startsWith(given.begins));
    const input = little ? slowInputWithin(pattern, little.maxChars) : slowInputOf(pattern);
    return input === undefined ? [] : [`${file}:${line} /${source}/${flags} on ${input}`];
  });
  assert.deepEqual(slow, []);
});

/** Of src/ and client/, those written out and those built. */
async function allPatterns(): Promise<Pattern[]> {
  const patterns: Pattern[] = [];
  for (const file of globSync(["src/**/*.{ts,js}", "client/**/*.ts"], { cwd: ROOT })) {
    const path = join(ROOT, file);
    const { literals, builtAt } = findPatterns(file, readFileSync(path, "utf8"));
    patterns.push(...literals);
    if (builtAt.length === 0 || BUILT_OF_INPUT.has(file)) continue;
    const built = await patternsBuiltBy(file, path);
    assert.deepEqual(new Set(built.map(({ line }) => line)), new Set(builtAt), `${file} builds patterns when it is loaded, of constants`);
    patterns.push(...built);
  }
  return patterns;
}

const SLOW = {
  "the end of a run of blanks": /[ \t]+$/,
  "the end of a comment that there is none of": /<!--[^]*?-->/g,
  "blanks that two parts take": /^\(\s*<?\s*\)/,
  "words with hyphens, several": /^what is(?:\W+[\p{L}'-]+){1,6}\W*$/iu,
  "an option that another one takes too": /^\[(?:[^[\]\n]|\[[^[\]\n]*\](?:\([^()\n]*\))?)*\]/,
  "what looks ahead": /^(?=(?:x|y|xy)*z)/,
  "the same twice": /^(a*)b?\1c$/,
};
const FAST = [
  /(?<![ \t])[ \t]+$/,
  /<!--[^]*?(?:-->|$)/g,
  /^\(\s*(?:<\s*)?\)/,
  /^(?:a|b)+(?:c|d{1,3}e){0,200}$/i,
  /(?<year>\d{4})-\k<year>/,
];
const SHORT_LIMIT_MS = 300;

for (const [name, { source, flags }] of Object.entries(SLOW)) {
  void test(`slow: ${name}`, () => assert.ok(slowInputOf({ source, flags }, SHORT_LIMIT_MS)));
}

void test("linear ones pass", () => {
  for (const { source, flags } of FAST) assert.equal(slowInputOf({ source, flags }), undefined, source);
});

void test("a slow one may be given little, if that is little enough", () => {
  assert.equal(slowInputWithin({ source: "a+a+$", flags: "" }, 100), undefined);
  assert.ok(slowInputWithin({ source: "a+a+$", flags: "" }, 800));
});
