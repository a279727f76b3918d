import ar from "./languages/ar.json" with { type: "json" };
import da from "./languages/da.json" with { type: "json" };
import de from "./languages/de.json" with { type: "json" };
import en from "./languages/en.json" with { type: "json" };
import es from "./languages/es.json" with { type: "json" };
import fr from "./languages/fr.json" with { type: "json" };
import hi from "./languages/hi.json" with { type: "json" };
import it from "./languages/it.json" with { type: "json" };
import ja from "./languages/ja.json" with { type: "json" };
import nl from "./languages/nl.json" with { type: "json" };
import no from "./languages/no.json" with { type: "json" };
import pl from "./languages/pl.json" with { type: "json" };
import pt from "./languages/pt.json" with { type: "json" };
import sv from "./languages/sv.json" with { type: "json" };
import tr from "./languages/tr.json" with { type: "json" };
import zh from "./languages/zh.json" with { type: "json" };
import { memoized } from "../platform/lru-cache.ts";
import { phraseWords } from "./phrases.ts";

/*
 * The tables of each language (`languages/*.json`): phrases that the service recognises, and sentences that visitors read.
 * - common: words by which the language is recognised;
 * - function_words, weak_words: words that say nothing, or little, about the subject of a question, in addition to the lists of
 *   word-forms.ts. The words of English are in terms.ts;
 * - fillers, handoff: a message asks for a human if it consists of fillers and one of: `contact` with `person`, `want` with `sure`,
 *   `sure` alone, or one of the `phrases`. Anything may follow a phrase of `then`, and anything may come before one of `before`;
 * - talk: the phrases of each kind of small talk. `extras` may be added to every kind;
 * - replies, handoff_messages: the sentences that visitors read.
 */
export type Language = typeof en;

/** The languages by code. A phrase that several languages have counts for the first one. */
export const LANGUAGES: Readonly<Record<string, Language>> = { en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja };

/** Other codes of a language: Bokmål and Nynorsk are Norwegian here. */
const OTHER_CODES: Readonly<Record<string, string>> = { nb: "no", nn: "no" };
export const DEFAULT_LANGUAGE = "en";

/** The key in `LANGUAGES` of a language given as a BCP 47 tag; English for an unknown language. */
export function languageCode(tag: string): string {
  const base = tag.toLowerCase().split(/[-_]/)[0]!;
  const code = OTHER_CODES[base] ?? base;
  return Object.hasOwn(LANGUAGES, code) ? code : DEFAULT_LANGUAGE;
}

/** Returns the tables of a language given as a BCP 47 tag; those of English for an unknown language. */
export function languageOf(tag: string): Language {
  return LANGUAGES[languageCode(tag)]!;
}

interface Script {
  /** Matches each word, or each character of a script that has no spaces between words. */
  words: RegExp;
  /** A sentence in another script may contain this many of them, as a name. */
  name: number;
  /** The languages that are written in this script, the most likely one first. */
  codes: readonly string[];
}

/** Hindi is also among the languages in Latin letters, since it is often typed in them. */
const HINDI = "hi";
const SCRIPTS: readonly Script[] = [
  { words: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, name: 1, codes: ["ja"] },
  { words: /\p{Script=Han}/gu, name: 4, codes: ["zh", "ja"] },
  { words: /\p{Script=Arabic}+/gu, name: 1, codes: ["ar"] },
  { words: /\p{Script=Devanagari}+/gu, name: 1, codes: [HINDI] },
];
const OTHER_SCRIPTS = new Set(SCRIPTS.flatMap(({ codes }) => codes));
const LATIN = Object.keys(LANGUAGES).filter((code) => code === HINDI || !OTHER_SCRIPTS.has(code));
const LATIN_LETTER = /\p{Script=Latin}/u;

const MAX_DETECTED_LENGTH = 500;
/** If a text has this many common words of one language, languages with less than half of that number are ruled out. */
const MANY_COMMON_WORDS = 3;

const commonWordsOf = memoized((code: string) => new Set(LANGUAGES[code]!.common.flatMap(phraseWords)));

/**
 * Detects the language of a text by its script or its common words.
 * @param expected the language that is preferred if several are possible, as a BCP 47 tag.
 * @param among the codes of the languages that are possible; all by default.
 * @returns the code of the language; undefined if the text does not show it.
 */
export function detectLanguage(text: string, expected: string, among?: readonly string[]): string | undefined {
  const start = text.slice(0, MAX_DETECTED_LENGTH);
  const isPossible = (code: string): boolean => among === undefined || among.includes(code);
  const best = byCommonWords(start, expected).find(({ code }) => isPossible(code));
  const count = best?.count ?? 0;
  for (const { words, name, codes } of SCRIPTS) {
    const code = codes.find(isPossible);
    const found = countOf(words, start);
    // A sentence that names a word of another script, such as "How do I switch to 中文?", is in its own language.
    if (code !== undefined && found > (count < MANY_COMMON_WORDS ? 0 : name)) return code;
  }
  return count >= 1 ? best!.code : undefined;
}

/** The codes of the languages in which a text may be written, most likely first. */
export function possibleLanguages(text: string, expected: string): string[] {
  const start = text.slice(0, MAX_DETECTED_LENGTH);
  const inScripts = SCRIPTS.filter(({ words }) => countOf(words, start) > 0).flatMap(({ codes }) => codes);
  if (!LATIN_LETTER.test(text)) return [...new Set(inScripts)];
  const counted = byCommonWords(start, expected);
  const most = counted[0]!.count;
  const possible = most < MANY_COMMON_WORDS ? counted : counted.filter(({ count }) => count >= most / 2);
  return [...new Set([...inScripts, ...possible.map(({ code }) => code)])];
}

function countOf(words: RegExp, text: string): number {
  return text.match(words)?.length ?? 0;
}

/**
 * The languages in Latin letters, sorted by how many of their common words a text has. Among equals, the expected language is first. A
 * single letter counts half, since it is often an abbreviation.
 */
function byCommonWords(text: string, expected: string): { code: string; count: number }[] {
  const words = phraseWords(text);
  const first = languageCode(expected);
  const codes = LATIN.includes(first) ? [first, ...LATIN.filter((code) => code !== first)] : LATIN;
  const counted = codes.map((code) => {
    const common = commonWordsOf(code);
    return { code, count: words.reduce((sum, word) => sum + (common.has(word) ? (word.length === 1 ? 0.5 : 1) : 0), 0) };
  });
  return counted.sort((one, other) => other.count - one.count);
}
