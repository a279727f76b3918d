import { stemmer as danish } from "@orama/stemmers/danish";
import { stemmer as dutch } from "@orama/stemmers/dutch";
import { stemmer as french } from "@orama/stemmers/french";
import { stemmer as german } from "@orama/stemmers/german";
import { stemmer as italian } from "@orama/stemmers/italian";
import { stemmer as norwegian } from "@orama/stemmers/norwegian";
import { stemmer as portuguese } from "@orama/stemmers/portuguese";
import { stemmer as spanish } from "@orama/stemmers/spanish";
import { stemmer as swedish } from "@orama/stemmers/swedish";
import { stemmer as turkish } from "@orama/stemmers/turkish";
import { stopwords as chineseStopWords } from "@orama/stopwords/mandarin";
import { stopwords as danishStopWords } from "@orama/stopwords/danish";
import { stopwords as dutchStopWords } from "@orama/stopwords/dutch";
import { stopwords as frenchStopWords } from "@orama/stopwords/french";
import { stopwords as germanStopWords } from "@orama/stopwords/german";
import { stopwords as italianStopWords } from "@orama/stopwords/italian";
import { stopwords as japaneseStopWords } from "@orama/stopwords/japanese";
import { stopwords as norwegianStopWords } from "@orama/stopwords/norwegian";
import { stopwords as portugueseStopWords } from "@orama/stopwords/portuguese";
import { stopwords as swedishStopWords } from "@orama/stopwords/swedish";
import { stopwords as turkishStopWords } from "@orama/stopwords/turkish";
import { LruCache } from "../platform/lru-cache.ts";
import { languageOf } from "./languages.ts";
import { tokens } from "./terms.ts";

/*
 * The words of languages other than English. Texts of all languages are indexed by one analysis (terms.ts), so that a
 * question in any language can be asked of any index; which terms of the index are forms of a question's word, and which of
 * its words only hold the sentence together, is decided here when the question is asked, by its language.
 */

interface WordForms {
  stem?: (word: string) => string;
  stopWords?: readonly string[];
  /** Whether words are joined to one: "Rücksendekosten". */
  isCompounding?: true;
  /** Words that lose their last letter before a vowel, and are joined to the next word: "l'adresse". */
  elision?: RegExp;
  /** What may stand before a form of a word in the index: an elided word, or the beginning of a participle. */
  prefixes?: readonly string[];
  /** A participle with such a beginning. */
  participle?: RegExp;
}

const ROMANCE_ELISION = /(?<![\p{L}\p{M}])(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|(?:a|da|de|ne|que|su)ll|quest)['’](?=\p{L})/giu;
const ELIDED = ["l", "d"];
const PARTICIPLE = /^ge(?=.{4,}(?:t|en|d)$)/;
/** Also "liefert" and "Lieferung" as "liefern", which the stemmer leaves apart. */
const germanStem = (word: string): string => german(withoutEnding(german(word), /e?t$/, 4));
/** Without diacritics "ändere" is "andere", and not to be dropped. */
const germanFunctionWords = germanStopWords.filter((word) => !word.startsWith("ander"));

/** In an index the words have lost a final "s", and with it what "enviamos" is recognised by. */
const withFinalS =
  (stem: (word: string) => string) =>
  (word: string): string => {
    const [singular, plural] = [stem(word), stem(`${word}s`)];
    return plural.length < singular.length ? plural : singular;
  };

/** In an index "betaling" has lost its ending, while "betalinger" has not. */
const withoutIng =
  (stem: (word: string) => string) =>
  (word: string): string =>
    withSingleLetter(stem(withSingleLetter(withoutEnding(word, /n?ing(?:en|er|ar|e|s)?$/, 3))));

const withSingleLetter = (word: string): string => word.replace(/(.)\1$/, "$1");

function withoutEnding(word: string, ending: RegExp, minLength: number): string {
  const rest = word.replace(ending, "");
  return rest.length < minLength ? word : rest;
}

/** By code. Polish, Arabic and Hindi have no entry: no maintained stemmer for them is good enough to help. */
const FORMS: Readonly<Record<string, WordForms>> = {
  da: { stem: withoutIng(danish), stopWords: danishStopWords, isCompounding: true },
  de: { stem: germanStem, stopWords: germanFunctionWords, isCompounding: true, prefixes: ["ge"], participle: PARTICIPLE },
  // The package's list has words such as "cuenta" (account), which a question may be about.
  es: { stem: withFinalS(spanish) },
  fr: { stem: french, stopWords: frenchStopWords, elision: ROMANCE_ELISION, prefixes: ELIDED },
  it: { stem: italian, stopWords: italianStopWords, elision: ROMANCE_ELISION, prefixes: ELIDED },
  ja: { stopWords: japaneseStopWords },
  nl: { stem: withoutIng(dutch), stopWords: dutchStopWords, isCompounding: true, prefixes: ["ge"], participle: PARTICIPLE },
  no: { stem: withoutIng(norwegian), stopWords: norwegianStopWords, isCompounding: true },
  pt: { stem: withFinalS(portuguese), stopWords: portugueseStopWords },
  sv: { stem: withoutIng(swedish), stopWords: swedishStopWords, isCompounding: true },
  tr: { stem: turkish, stopWords: turkishStopWords },
  zh: { stopWords: chineseStopWords },
};
const CACHED_STEMS = 10_000;

/** The words of one language, for the questions that are asked in it. */
export class LanguageWords {
  readonly isCompounding: boolean;
  /** What may stand before a word of the index that is a form of this one. */
  readonly prefixes: readonly string[];
  private readonly forms: WordForms;
  private readonly stopTerms: ReadonlySet<string>;
  private readonly weakTerms: ReadonlySet<string>;
  private readonly stems = new LruCache<string, string>(CACHED_STEMS);

  constructor(code: string) {
    const { function_words: functionWords, weak_words: weakWords } = languageOf(code);
    this.forms = FORMS[code] ?? {};
    this.isCompounding = this.forms.isCompounding ?? false;
    this.prefixes = ["", ...(this.forms.prefixes ?? [])];
    this.stopTerms = termSet([...(this.forms.stopWords ?? []), functionWords]);
    this.weakTerms = termSet([weakWords]);
  }

  kindOf(term: string): "content" | "weak" | "stop" {
    if (this.stopTerms.has(term)) return "stop";
    return this.weakTerms.has(term) ? "weak" : "content";
  }

  /** A question with elided words set apart. */
  separated(text: string): string {
    return this.forms.elision ? text.replaceAll(this.forms.elision, " ") : text;
  }

  /** A term, and the same without the beginning of a participle. */
  bases(term: string): string[] {
    const { participle } = this.forms;
    return participle?.test(term) ? [term, term.replace(participle, "")] : [term];
  }

  /** What all forms of a term have in common. */
  stem(term: string): string {
    const { stem } = this.forms;
    if (!stem) return term;
    const known = this.stems.get(term);
    if (known !== undefined) return known;
    const found = stem(term);
    this.stems.set(term, found);
    return found;
  }
}

function termSet(words: readonly string[]): Set<string> {
  return new Set(tokens(words.join(" ")).map(({ term }) => term));
}

const made = new Map<string, LanguageWords>();

/** The words of a language by its code; undefined for English, which the analysis itself knows. */
export function wordsOf(code: string): LanguageWords | undefined {
  if (code === "en") return undefined;
  const known = made.get(code) ?? new LanguageWords(code);
  made.set(code, known);
  return known;
}
