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
import { LruCache, memoized } from "../platform/lru-cache.ts";
import { languageOf } from "./languages.ts";
import { tokens } from "./terms.ts";

/*
 * The words of languages other than English. Texts of all languages are indexed by one analysis (terms.ts), so that a question in any
 * language can be asked of any index. When a question is asked, its language decides here which terms of the index are forms of its
 * words, and which of its words are function words.
 */

interface WordForms {
  stem?: (word: string) => string;
  stopWords?: readonly string[];
  /** Whether the language joins words to compounds: "Rücksendekosten". */
  isCompounding?: true;
  /** Words that lose their last letter before a vowel and are joined to the next word: "l'" in "l'adresse". */
  elision?: RegExp;
  /** The prefixes that a form of a word may have in the index: an elided word, or the prefix of a participle. */
  prefixes?: readonly string[];
  /** A participle with its prefix. */
  participle?: RegExp;
}

const ROMANCE_ELISION = /(?<![\p{L}\p{M}])(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|(?:a|da|de|ne|que|su)ll|quest)['’](?=\p{L})/giu;
const ELIDED = ["l", "d"];
const PARTICIPLE = /^ge(?=.{4,}(?:t|en|d)$)/;
/** Gives "liefert" and "Lieferung" the stem of "liefern", from which the stemmer distinguishes them. */
const germanStem = (word: string): string => german(withoutEnding(german(word), /e?t$/, 4));
/** Words that start with "ander" are kept, since "ändere" (change) is indexed as "andere" (other). */
const germanFunctionWords = germanStopWords.filter((word) => !word.startsWith("ander"));

/** Also tries the word with a final "s", which the index has removed and by which the stemmer recognises "enviamos". */
const withFinalS =
  (stem: (word: string) => string) =>
  (word: string): string => {
    const [singular, plural] = [stem(word), stem(`${word}s`)];
    return plural.length < singular.length ? plural : singular;
  };

/** Removes the ending "-ing", which the index has removed from "betaling" but not from "betalinger". */
const withoutIng =
  (stem: (word: string) => string) =>
  (word: string): string =>
    withSingleLetter(stem(withSingleLetter(withoutEnding(word, /n?ing(?:en|er|ar|e|s)?$/, 3))));

const withSingleLetter = (word: string): string => word.replace(/(.)\1$/, "$1");

function withoutEnding(word: string, ending: RegExp, minLength: number): string {
  const rest = word.replace(ending, "");
  return rest.length < minLength ? word : rest;
}

/** The forms by language code. Polish, Arabic and Hindi have none: no maintained stemmer for them improves the search. */
const FORMS: Readonly<Record<string, WordForms>> = {
  da: { stem: withoutIng(danish), stopWords: danishStopWords, isCompounding: true },
  de: { stem: germanStem, stopWords: germanFunctionWords, isCompounding: true, prefixes: ["ge"], participle: PARTICIPLE },
  // The package's stop words are left out, because they include words such as "cuenta" (account).
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
  /** The prefixes that a form of a word may have in the index, including the empty one. */
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

  /** Replaces the elided words of a question by spaces. */
  separated(text: string): string {
    return this.forms.elision ? text.replaceAll(this.forms.elision, " ") : text;
  }

  /** A term, and the term without the prefix of a participle if it has one. */
  bases(term: string): string[] {
    const { participle } = this.forms;
    return participle?.test(term) ? [term, term.replace(participle, "")] : [term];
  }

  /** The stem that all forms of a term have in common. */
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

/** The words of a language by its code; undefined for English, whose words terms.ts knows. */
export const wordsOf = memoized((code: string) => (code === "en" ? undefined : new LanguageWords(code)));
