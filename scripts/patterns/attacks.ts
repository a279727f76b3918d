import type { Part } from "./grammar.ts";

/** A text that may take long: a beginning, what is repeated, and an end that lets the match fail. */
export interface Attack {
  prefix: string;
  pump: string;
  suffix: string;
}

/** What else than ASCII texts hold: letters with accents, spaces, quotes, other scripts, controls, a pair of surrogates. */
const BEYOND_ASCII = Array.from("é\u00a0\u2028’–•…中и\u0301\u200b\u00ad🔗\ufffd");
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
/** Readable ones stand for their kind where they can. */
const PREFERRED = [" ", "a", "0", "Z"];
/** In which order characters are tried for a class: a class of many stands for something else each time. */
const PREFERENCES = [/[a-z]/i, /[^\w\s]/, /[\s\d]/];
/** So many characters that the pattern tells apart are combined in pairs, and so many stand at an end. */
const MAX_PAIRED = 12;
const MAX_SUFFIXES = 6;
/** A repetition of fewer is taken as a factor. */
const MANY = 10;

/** The texts that a pattern is tried with, made of its own characters and words. */
export function attacksOn(pattern: Part, flags: string): Attack[] {
  const alphabet = new Alphabet(pattern, flags);
  const places = repeatsOf(pattern, [], alphabet);
  const prefixes = new Set(["", ...alphabet.rarest(1), ...places.flatMap(({ before }) => before)]);
  const repeated = [...new Set(places.flatMap(({ item }) => (item.type === "char" ? alphabet.of(item.source) : [])))].slice(0, MAX_PAIRED);
  const pumps = new Set([
    ...alphabet.characters,
    ...places.flatMap(({ item, before }) => [...wordsOf(item, alphabet), ...before]),
    ...places.flatMap(({ item, before }) => before.flatMap((word) => wordsOf(item, alphabet).map((rest) => word + rest))),
    ...repeated.flatMap((first) => repeated.map((second) => first + second)),
  ]);
  pumps.delete("");
  const suffixes = ["", ...alphabet.rarest(MAX_SUFFIXES)];
  return [...prefixes].flatMap((prefix) => [...pumps].flatMap((pump) => suffixes.map((suffix) => ({ prefix, pump, suffix }))));
}

/** The characters that a pattern tells apart: one for each set of its classes. */
class Alphabet {
  readonly characters: string[];
  private readonly members = new Map<string, string[]>();
  private readonly uses = new Map<string, number>();

  constructor(pattern: Part, flags: string) {
    const unicode = flags.replaceAll(/[^iuvs]/g, "");
    // What \b tells apart.
    const sources = [...new Set([...charsIn(pattern), String.raw`\w`])];
    const classes = sources.map((source) => new RegExp(`^${source}$`, unicode));
    const literals = sources.flatMap((source) => Array.from(source));
    const candidates = new Set([...PREFERRED, ...ASCII, ...BEYOND_ASCII, ...literals]);
    const kinds = new Map<string, string>();
    for (const character of candidates) {
      const kind = classes.map((one) => (one.test(character) ? "1" : "0")).join("");
      if (!kinds.has(kind)) kinds.set(kind, character);
    }
    this.characters = [...kinds.values()];
    for (const [at, source] of sources.entries()) {
      this.members.set(
        source,
        [...kinds].filter(([kind]) => kind[at] === "1").map(([, character]) => character),
      );
    }
    for (const [kind, character] of kinds) this.uses.set(character, kind.replaceAll("0", "").length);
  }

  /** Those that a class, an escape or a literal matches. */
  of(source: string): string[] {
    return this.members.get(source) ?? [];
  }

  /** Those that the fewest classes match. */
  rarest(count: number): string[] {
    return this.characters.toSorted((a, b) => this.uses.get(a)! - this.uses.get(b)!).slice(0, count);
  }
}

function charsIn(part: Part): string[] {
  return part.type === "char" ? [part.source] : part.type === "back" ? [] : innerOf(part).flatMap(charsIn);
}

function innerOf(part: Exclude<Part, { type: "char" | "back" }>): readonly Part[] {
  if (part.type === "sequence") return part.items;
  return part.type === "choice" ? part.options : [part.item];
}

/** A repetition, and what leads to it. */
interface Place {
  item: Part;
  before: string[];
}

function repeatsOf(part: Part, path: readonly Part[], alphabet: Alphabet): Place[] {
  switch (part.type) {
    case "char":
    case "back":
      return [];
    case "sequence":
      return part.items.flatMap((item, at) => repeatsOf(item, [...path, ...part.items.slice(0, at)], alphabet));
    case "repeat": {
      const here = part.max >= MANY ? [{ item: part.item, before: wordsOf({ type: "sequence", items: [...path] }, alphabet) }] : [];
      return [...here, ...repeatsOf(part.item, path, alphabet)];
    }
    default:
      return innerOf(part).flatMap((inner) => repeatsOf(inner, path, alphabet));
  }
}

/** Words that a part matches: each of its options, with and without what may be left out, of several characters. */
function wordsOf(part: Part, alphabet: Alphabet): string[] {
  const options = part.type === "choice" ? part.options : [part];
  const words = options.flatMap((option) =>
    PREFERENCES.flatMap((preferred) => [0, 1].map((optional) => wordOf(option, { alphabet, preferred, optional }))),
  );
  return [...new Set(words)];
}

function wordOf(part: Part, how: { alphabet: Alphabet; preferred: RegExp; optional: number }): string {
  switch (part.type) {
    case "char": {
      const characters = how.alphabet.of(part.source);
      return characters.find((character) => how.preferred.test(character)) ?? characters[0] ?? "";
    }
    case "sequence":
      return part.items.map((item) => wordOf(item, how)).join("");
    case "choice":
      return wordOf(part.options[0]!, how);
    case "repeat":
      return wordOf(part.item, how).repeat(Math.max(part.min, Math.min(part.max, how.optional)));
    case "back":
      return wordOf(part.group, how);
    default:
      return "";
  }
}
