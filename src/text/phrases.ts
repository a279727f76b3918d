/*
 * Matching messages against tables of phrases: a message is covered when every word of it belongs to a phrase of the
 * tables, so that one word that says something else is enough for no match.
 */

/** A word; in scripts that are written without spaces each character is one. */
const WORD = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]|(?:(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}])[\p{L}\p{N}\p{M}])+/gu;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
/** An apostrophe that does not separate words, as it does in "l'agent". */
const INNER_APOSTROPHE = /['’`´](?=(?:s|t|d|m|ll|re|ve)(?!\p{L}))/gu;
/** Accents of Latin letters, Arabic vowel signs, the Arabic lengthening stroke and the Devanagari dot: often left out. */
const OPTIONAL_MARKS = /[\u0300-\u036f]|[\u064b-\u0652]|\u0640|\u093c/g;
/** Letters that are typed in other ways, or that are no accented letters to Unicode. */
const SPELLING = /[أإآىةßøæłı]/g;
const USUAL: Readonly<Record<string, string>> = { أ: "ا", إ: "ا", آ: "ا", ى: "ي", ة: "ه", ß: "ss", ø: "o", æ: "ae", ł: "l", ı: "i" };
/** Shorter words have too many neighbours for a misspelling of them to be recognised. */
const MIN_FUZZY_LENGTH = 6;

/** What most phrases are: nothing in them is spelt in other ways. */
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
    .replace(SPELLING, (letter) => USUAL[letter]!);
  return (plain.match(WORD) ?? []).filter((word) => LETTER_OR_DIGIT.test(word));
}

interface Entry {
  words: readonly string[];
  bit: number;
}

/** Phrases of several kinds, looked up by their first word. */
export class PhraseBook<Kind extends string> {
  private readonly entries = new Map<string, Entry[]>();
  private readonly kinds: Kind[];
  private readonly otherWords: readonly string[];
  private vocabulary: Vocabulary | undefined;

  /**
   * @param tables the phrases of each kind; at most 30 kinds.
   * @param otherWords that are never a misspelling of the tables' words.
   */
  constructor(tables: Readonly<Record<Kind, readonly string[]>>, otherWords: readonly string[]) {
    this.otherWords = otherWords;
    this.kinds = Object.keys(tables) as Kind[];
    for (const [at, kind] of this.kinds.entries()) {
      for (const phrase of tables[kind]) this.add(phraseWords(phrase), 1 << at);
    }
  }

  /** The number that a set of kinds is written as in `covers`. */
  maskOf(...kinds: Kind[]): number {
    return kinds.reduce((mask, kind) => mask | (1 << this.kinds.indexOf(kind)), 0);
  }

  /** Whether a phrase of a kind starts with a word. */
  hasStart(word: string, kind: number): boolean {
    return this.entries.get(word)?.some(({ bit }) => bit === kind) ?? false;
  }

  /**
   * The ways to cover words by phrases: after each number of words, the sets of kinds that were used up to there. The
   * last item is about all words; it is empty where they cannot be covered.
   */
  covers(words: readonly string[]): ReadonlySet<number>[] {
    const known: string[] = [];
    // Most messages are no phrases from their first word on, and need no respelling of the others.
    const knownAt = (at: number): string => (known[at] ??= this.respell(words[at] ?? ""));
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

  private add(words: string[], bit: number): void {
    const [first] = words;
    if (first === undefined) return;
    const entries = this.entries.get(first);
    if (entries) entries.push({ words, bit });
    else this.entries.set(first, [{ words, bit }]);
  }

  /** The book's word that a misspelt one is most likely meant for: one letter more, less, changed or swapped. */
  private respell(word: string): string {
    if (word.length < MIN_FUZZY_LENGTH - 1 || this.entries.has(word)) return word;
    const { words, long } = (this.vocabulary ??= vocabularyOf(this.entries.values(), this.otherWords));
    if (words.has(word)) return word;
    const lengths = [word.length, word.length + 1, word.length - 1];
    const near = lengths.flatMap((length) => long.get(`${word[0]}${length}`) ?? []);
    return near.find((known) => isOneEditAway(word, known)) ?? word;
  }
}

/** The words of a book. */
interface Vocabulary {
  words: ReadonlySet<string>;
  /** Those long enough to be recognised misspelt, by first letter and length. */
  long: ReadonlyMap<string, string[]>;
}

function vocabularyOf(phrases: Iterable<Entry[]>, otherWords: readonly string[]): Vocabulary {
  const words = new Set<string>();
  for (const entries of phrases) for (const entry of entries) for (const word of entry.words) words.add(word);
  const long = new Map<string, string[]>();
  for (const word of words) {
    if (word.length < MIN_FUZZY_LENGTH) continue;
    const key = `${word[0]}${word.length}`;
    const known = long.get(key);
    if (known) known.push(word);
    else long.set(key, [word]);
  }
  for (const word of otherWords.flatMap(phraseWords)) words.add(word);
  return { words, long };
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
