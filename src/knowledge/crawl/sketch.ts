import { decoded } from "../extract/links.ts";
import { FNV_BASIS, fnv1a } from "../../platform/text.ts";
import { hasDate, shapeOf, variablesOf } from "./variables.ts";

/** The largest number of shingles of a page that are compared. A longer text is compared by a half of its shingles, or a quarter, and so on. */
const MAX_SHINGLES = 32;
const WORDS_PER_SHINGLE = 4;
const MAX_CHARS = 100_000;

const WORD = /[\p{L}\p{N}]+/gu;
const NUMBER = /^\d{1,4}(?:st|nd|rd|th|er|º|ª)?$/;
const DIGITS = /^\d+$/;
const DATE_OR_TIME = /\b(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?)\b/g;
const IDENTIFIER = /^(?=.*\d)(?=.*\p{L})[\p{L}\p{N}]{6,}$/u;
/** Replaces words that differ between pages with the same text. */
const ANY = "#";

/** A sample of a text: hashes of some of its shingles, which are up to four words in a row within a line. */
export interface TextSketch {
  shingles: string[];
  /** The sampling rate: the sketch has one out of this many shingles. */
  oneOf: number;
}

/**
 * Samples a page's text, so that it can be compared with other pages of its site whose paths have the same shape. Dates, times and
 * words of the URL count as equal on all pages, so that the days of a calendar have the same text.
 */
export function textSketchOf(url: string, text: string): TextSketch {
  const echoed = echoedFrom(url);
  const seed = hashOf([shapeOf(url)], 0, FNV_BASIS);
  const hashes = new Set<number>();
  for (const line of text.slice(0, MAX_CHARS).toLowerCase().split("\n")) {
    const words = wordsOf(line, echoed);
    const last = Math.max(0, words.length - WORDS_PER_SHINGLE);
    for (let at = 0; words.length > 0 && at <= last; at++) hashes.add(mixed(hashOf(words, at, seed)));
  }
  let oneOf = 1;
  let sampled = [...hashes];
  while (sampled.length > MAX_SHINGLES) {
    oneOf *= 2;
    sampled = sampled.filter((hash) => hash % oneOf === 0);
  }
  return { shingles: sampled.map((hash) => hash.toString(36)), oneOf };
}

function wordsOf(line: string, echoed: Echoed): string[] {
  const words = line.replaceAll(DATE_OR_TIME, ANY).match(/[\p{L}\p{N}]+|#/gu) ?? [];
  const isDate = words.map((word) => dateWords().has(word));
  return words.map((word, at) => {
    // "Saturday, 21 November 2026"
    const isInDate = isDate[at] || (NUMBER.test(word) && (isDate[at - 1] || isDate[at + 1]));
    return isInDate || echoed.words.has(word) || (echoed.anyNumber && NUMBER.test(word)) ? ANY : word;
  });
}

/** The words of a page's URL that its text may repeat. */
interface Echoed {
  words: ReadonlySet<string>;
  anyNumber: boolean;
}

/**
 * Finds values of parameters and identifiers in the path, such as those of sessions. A number counts only if it is part of a date or
 * the number of a list's page, because the number of an item distinguishes the item from others.
 */
function echoedFrom(url: string): Echoed {
  const { pathname, searchParams } = new URL(url);
  const inPath = decoded(pathname).toLowerCase().match(WORD) ?? [];
  const inParameters = [...searchParams].flat().flatMap((text) => text.toLowerCase().match(WORD) ?? []);
  const words = [...inPath.filter((word) => IDENTIFIER.test(word)), ...inParameters.filter((word) => !DIGITS.test(word))];
  const numbers = variablesOf(url).some(({ isPageNumber }) => isPageNumber)
    ? [...inPath, ...inParameters].filter((word) => DIGITS.test(word)).flatMap((word) => [-1, 0, 1].map((by) => String(Number(word) + by)))
    : [];
  return { words: new Set([...words, ...numbers]), anyNumber: hasDate(url) };
}

const DATE_LANGUAGES = ["en", "de", "fr", "es", "pt", "it", "nl", "no", "sv", "da", "pl", "tr", "ar", "hi"];
let knownDateWords: ReadonlySet<string> | undefined;

/** The names of months and of days of the week, long and short. */
function dateWords(): ReadonlySet<string> {
  if (knownDateWords) return knownDateWords;
  const names = DATE_LANGUAGES.flatMap((language) =>
    (["long", "short"] as const).flatMap((style) => {
      const format = new Intl.DateTimeFormat(language, { day: "numeric", month: style, weekday: style, timeZone: "UTC" });
      const days = Array.from({ length: 12 }, (_, at) => [Date.UTC(2026, at), Date.UTC(2026, 0, at)]).flat();
      return days.flatMap((day) => format.formatToParts(day)).filter(({ type }) => type === "month" || type === "weekday");
    }),
  );
  const words = names.flatMap(({ value }) => value.toLowerCase().match(WORD) ?? []);
  // The shortest names of days are other words too, such as "do" in Dutch and "so" in German.
  return (knownDateWords = new Set(words.filter((word) => word.length > 2)));
}

function hashOf(words: readonly string[], from: number, seed: number): number {
  let hash = seed;
  for (const word of words.slice(from, from + WORDS_PER_SHINGLE)) {
    hash = fnv1a(" ", fnv1a(word, hash));
  }
  return hash;
}

/** Mixes the high bits into the low ones, which choose the sample. */
function mixed(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}
