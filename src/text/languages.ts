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
import { phraseWords } from "./phrases.ts";

/*
 * What the service knows of each language (`languages/*.json`): phrases that it recognises, and sentences that it says.
 * - common: words by which the language is recognised;
 * - function_words, weak_words: words of its questions that say nothing, or little, about their subject, beyond the lists
 *   of word-forms.ts; English has its own in terms.ts;
 * - handoff: a message asks for a human where it consists of fillers and of `contact` with a `person`, of `want` with a
 *   `sure` one, of a `sure` one alone, or of one of the `phrases`. Anything may follow `then`, anything may precede `before`;
 * - talk: what small talk of each kind consists of; `extras` may be added to each;
 * - replies, handoff_messages: what a visitor reads.
 */
export type Language = typeof en;

/** In the order in which a phrase that several of them have is looked up. */
export const LANGUAGES: Readonly<Record<string, Language>> = { en, de, fr, es, pt, it, nl, no, sv, da, pl, tr, ar, hi, zh, ja };

/** Bokmål, Nynorsk: the codes of one language. */
const OTHER_CODES: Readonly<Record<string, string>> = { nb: "no", nn: "no" };
export const DEFAULT_LANGUAGE = "en";

/** The code under which a language, given as a BCP 47 tag, is known here; English for an unknown one. */
export function languageCode(tag: string): string {
  const base = tag.toLowerCase().split(/[-_]/)[0]!;
  const code = OTHER_CODES[base] ?? base;
  return Object.hasOwn(LANGUAGES, code) ? code : DEFAULT_LANGUAGE;
}

export function languageOf(tag: string): Language {
  return LANGUAGES[languageCode(tag)]!;
}

interface Script {
  letters: RegExp;
  /** The languages written in it, the likely one first. */
  codes: readonly string[];
}

/** Hindi is often typed in Latin letters. */
const HINDI = "hi";
const SCRIPTS: readonly Script[] = [
  { letters: /[\p{Script=Hiragana}\p{Script=Katakana}]/u, codes: ["ja"] },
  { letters: /\p{Script=Han}/u, codes: ["zh", "ja"] },
  { letters: /\p{Script=Arabic}/u, codes: ["ar"] },
  { letters: /\p{Script=Devanagari}/u, codes: [HINDI] },
];
const OTHER_SCRIPTS = new Set(SCRIPTS.flatMap(({ codes }) => codes));
const LATIN = Object.keys(LANGUAGES).filter((code) => code === HINDI || !OTHER_SCRIPTS.has(code));
const LATIN_LETTER = /\p{Script=Latin}/u;

const MAX_DETECTED_LENGTH = 500;
/** With so many common words of a language, languages that have less than half of them are not meant. */
const MANY_COMMON_WORDS = 3;

const commonWords = new Map<string, ReadonlySet<string>>();

function commonWordsOf(code: string): ReadonlySet<string> {
  const known = commonWords.get(code);
  if (known) return known;
  const made = new Set(LANGUAGES[code]!.common.flatMap(phraseWords));
  commonWords.set(code, made);
  return made;
}

/**
 * The language that a text is written in, by its script or its common words.
 * @param expected the language, as a BCP 47 tag, that is the likely one where several are.
 * @param among the codes of the languages that it may be; all by default.
 * @returns undefined where the text does not tell.
 */
export function detectLanguage(text: string, expected: string, among?: readonly string[]): string | undefined {
  const start = text.slice(0, MAX_DETECTED_LENGTH);
  const isPossible = (code: string): boolean => among === undefined || among.includes(code);
  for (const { letters, codes } of SCRIPTS) {
    const code = codes.find(isPossible);
    if (code !== undefined && letters.test(start)) return code;
  }
  const best = byCommonWords(start, expected).find(({ code }) => isPossible(code));
  return best && best.count > 0 ? best.code : undefined;
}

/** The codes of the languages that a text may be written in, the likely ones first. */
export function possibleLanguages(text: string, expected: string): string[] {
  const start = text.slice(0, MAX_DETECTED_LENGTH);
  const inScripts = SCRIPTS.filter(({ letters }) => letters.test(start)).flatMap(({ codes }) => codes);
  if (!LATIN_LETTER.test(text)) return [...new Set(inScripts)];
  const counted = byCommonWords(start, expected);
  const most = counted[0]!.count;
  const possible = most < MANY_COMMON_WORDS ? counted : counted.filter(({ count }) => count >= most / 2);
  return [...new Set([...inScripts, ...possible.map(({ code }) => code)])];
}

/** The languages in Latin letters, by how many words of a text are common ones of theirs; the expected one first among equals. */
function byCommonWords(text: string, expected: string): { code: string; count: number }[] {
  const words = phraseWords(text);
  const first = languageCode(expected);
  const codes = LATIN.includes(first) ? [first, ...LATIN.filter((code) => code !== first)] : LATIN;
  const counted = codes.map((code) => {
    const common = commonWordsOf(code);
    return { code, count: words.filter((word) => common.has(word)).length };
  });
  return counted.sort((one, other) => other.count - one.count);
}
