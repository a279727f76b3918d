/*
 * Matches messages against tables of phrases. A message matches only if every word of it belongs to a phrase of the tables, so a single
 * other word prevents the match.
 */

/** A word. In scripts that are written without spaces, each character is a word. */
const WORD = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]|(?:(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}])[\p{L}\p{N}\p{M}])+/gu;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
/** An apostrophe inside a word, as in "it's". In "l'agent" it separates two words. */
const INNER_APOSTROPHE = /['’`´](?=(?:s|t|d|m|ll|re|ve)(?!\p{L}))/gu;
/** Marks that people often leave out: accents of Latin letters, Arabic vowel signs, the Arabic tatweel and the Devanagari nukta. */
const OPTIONAL_MARKS = /[\u0300-\u036f]|[\u064b-\u0652]|\u0640|\u093c/g;
/** Letters that people also type in another way, and that removing accents does not change. */
const VARIANT_LETTER = /[أإآىةßøæłı]/g;
const USUAL_LETTERS: Readonly<Record<string, string>> = {
  أ: "ا",
  إ: "ا",
  آ: "ا",
  ى: "ي",
  ة: "ه",
  ß: "ss",
  ø: "o",
  æ: "ae",
  ł: "l",
  ı: "i",
};
/** Misspellings of shorter words are not corrected, since many other words are one edit away. */
const MIN_FUZZY_LENGTH = 6;

/** Most phrases match this, and need no normalization. */
const PLAIN_WORDS = /^[a-z0-9]+(?: [a-z0-9]+)*$/;

/** The words of a text in lower case, without punctuation, apostrophes and optional marks. */
export function phraseWords(text: string): string[] {
  if (PLAIN_WORDS.test(text)) return text.split(" ");
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(INNER_APOSTROPHE, "")
    .normalize("NFD")
    .replace(OPTIONAL_MARKS, "")
    .normalize("NFC")
    .replace(VARIANT_LETTER, (letter) => USUAL_LETTERS[letter]!);
  return (plain.match(WORD) ?? []).filter((word) => LETTER_OR_DIGIT.test(word));
}

/**
 * Returns whether a text has one of these words or phrases, as whole words. Case, accents and punctuation do not matter.
 */
export function hasPhrase(text: string, phrases: readonly string[]): boolean {
  if (phrases.length === 0) return false;
  const written = ` ${phraseWords(text).join(" ")} `;
  return phrases.some((phrase) => written.includes(` ${phraseWords(phrase).join(" ")} `));
}

interface Entry {
  words: readonly string[];
  bit: number;
}

/** Phrases of several kinds, looked up by their first word. */
export class PhraseBook<Kind extends string> {
  private readonly entries: Map<string, Entry[]>;
  private readonly kinds: Kind[];
  private readonly otherWords: readonly string[];
  private vocabulary: Vocabulary | undefined;

  /**
   * @param tables the phrases of each kind; at most 30 kinds.
   * @param otherWords words that are never taken for a misspelling of a word in the tables.
   */
  constructor(tables: Readonly<Record<Kind, readonly string[]>>, otherWords: readonly string[]) {
    this.otherWords = otherWords;
    this.kinds = Object.keys(tables) as Kind[];
    const entries = this.kinds.flatMap((kind, at) => tables[kind].map((phrase): Entry => ({ words: phraseWords(phrase), bit: 1 << at })));
    this.entries = Map.groupBy(
      entries.filter(({ words }) => words.length > 0),
      ({ words }) => words[0]!,
    );
  }

  /** The bit mask of a set of kinds, as in the result of `covers`. */
  maskOf(...kinds: Kind[]): number {
    return kinds.reduce((mask, kind) => mask | (1 << this.kinds.indexOf(kind)), 0);
  }

  /** Whether a phrase starts with this word. @param kind the mask of the phrase's kind. */
  hasStart(word: string, kind: number): boolean {
    return this.entries.get(word)?.some(({ bit }) => bit === kind) ?? false;
  }

  /**
   * Finds the ways to cover words by phrases. Item n of the result is about the first n words: the masks of the kinds that can cover
   * them. It is empty if they cannot be covered.
   */
  covers(words: readonly string[]): ReadonlySet<number>[] {
    const known: string[] = [];
    // Words are corrected only when they are reached, since most messages already fail at the first word.
    const knownAt = (at: number): string => (known[at] ??= this.corrected(words[at] ?? ""));
    const masks: Set<number>[] = [new Set([0]), ...words.map(() => new Set<number>())];
    for (const [at, from] of masks.entries()) {
      if (from.size === 0) continue;
      for (const { words: phrase, bit } of this.entries.get(knownAt(at)) ?? []) {
        if (!phrase.every((word, offset) => knownAt(at + offset) === word)) continue;
        for (const mask of from) masks[at + phrase.length]!.add(mask | bit);
      }
    }
    return masks;
  }

  /** The word of the book from which a word differs by one edit: a letter added, left out, changed or swapped; or the word itself. */
  private corrected(word: string): string {
    if (word.length < MIN_FUZZY_LENGTH - 1 || this.entries.has(word)) return word;
    const { words, long } = (this.vocabulary ??= vocabularyOf(this.entries.values(), this.otherWords));
    if (words.has(word)) return word;
    const lengths = [word.length, word.length + 1, word.length - 1];
    const near = lengths.flatMap((length) => long.get(`${word[0]}${length}`) ?? []);
    return near.find((known) => isOneEditAway(word, known)) ?? word;
  }
}

/** The words of a phrase book. */
interface Vocabulary {
  words: ReadonlySet<string>;
  /** The words whose misspellings are corrected, by first letter and length. */
  long: ReadonlyMap<string, string[]>;
}

function vocabularyOf(phrases: Iterable<Entry[]>, otherWords: readonly string[]): Vocabulary {
  const words = new Set([...phrases].flat().flatMap((entry) => entry.words));
  const long = [...words].filter((word) => word.length >= MIN_FUZZY_LENGTH);
  return {
    words: new Set([...words, ...otherWords.flatMap(phraseWords)]),
    long: Map.groupBy(long, (word) => `${word[0]}${word.length}`),
  };
}

function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const restA = a.slice(start);
  const restB = b.slice(start);
  if (a.length !== b.length) return restA.slice(a.length > b.length ? 1 : 0) === restB.slice(b.length > a.length ? 1 : 0);
  const swapped = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
  return swapped || restA.slice(1) === restB.slice(1);
}
