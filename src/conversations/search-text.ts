/** A word of a text in the form in which it is indexed, and its offsets in the text. */
interface Word {
  term: string;
  start: number;
  end: number;
}

/** A part of a query: words that must follow each other. */
interface Phrase {
  terms: readonly string[];
  /** Whether the last term also matches the beginning of a word. */
  isPrefix: boolean;
}

/** A part of a snippet. */
export interface SnippetPart {
  text: string;
  is_match: boolean;
}

/** Only the beginning of a longer text is indexed. */
const MAX_TEXT_LENGTH = 10_000;
/** Longer words are hashes and keys, of which the beginning is enough. */
const MAX_TERM_LENGTH = 48;

/** Matches the words that are indexed as they are: neither `RUN` splits them nor `fold` changes them. */
const ASCII = /^\w+$/;
const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
/** Splits a word into runs of scripts that put no spaces between words or join particles to them, and runs of other scripts. */
const RUN =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+|[^\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
const UNSPACED = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
/** Accents of Latin, Greek and Cyrillic, and points of Hebrew and Arabic, which most people leave out. */
const MARKS = /[\u0300-\u036f]|[\u0591-\u05c7]|[\u0610-\u061a]|\u0640|[\u064b-\u065f]|\u0670/g;

/** Returns a text in the form in which it is indexed: its words in order, separated by spaces. */
export function toIndexText(text: string): string {
  return wordsOf(text.slice(0, MAX_TEXT_LENGTH).normalize("NFC"))
    .map(({ term }) => term)
    .join(" ");
}

/**
 * Returns the phrases of a query, all of which a text must contain. Text in quotation marks is one phrase, which must match word for word.
 * Otherwise each part between white space is a phrase, whose last word may be the beginning of a longer word.
 */
export function toPhrases(query: string): Phrase[] {
  const phrases = [...query.normalize("NFC").matchAll(/"([^"]*)"?|[^\s"]+/g)].map(([chunk, quoted]) =>
    toPhrase(quoted ?? chunk, quoted !== undefined),
  );
  return phrases.filter(({ terms }) => terms.length > 0);
}

function toPhrase(chunk: string, isQuoted: boolean): Phrase {
  const words = wordsOf(chunk);
  const last = words.at(-1);
  const isUnspaced = last !== undefined && UNSPACED.test(last.term);
  // In scripts without spaces, a run of several characters is indexed as pairs and a last single character, which a query leaves out.
  const isWhole = isUnspaced && words.length > 1 && words.at(-2)!.end === last.end;
  const terms = (isWhole ? words.slice(0, -1) : words).map(({ term }) => term);
  return { terms, isPrefix: isUnspaced ? !isWhole : !isQuoted && (last?.term.length ?? 0) > 1 };
}

/** Returns an FTS5 expression that matches the texts that contain every phrase. */
export function toMatch(phrases: readonly Phrase[]): string {
  return phrases.map(({ terms, isPrefix }) => `"${terms.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");
}

/** The characters of a snippet, and how many of them come before the first match. */
const SNIPPET_LENGTH = 160;
const LEAD_LENGTH = 40;

/** Returns the part of a text around the first match, with all matches in it marked. */
export function snippetOf(text: string, phrases: readonly Phrase[]): SnippetPart[] {
  const plain = text.slice(0, MAX_TEXT_LENGTH).normalize("NFC");
  const marks = rangesOf(wordsOf(plain), phrases);
  const first = marks[0]?.start ?? 0;
  const start = first <= LEAD_LENGTH ? 0 : boundary(plain, first - LEAD_LENGTH, first);
  const end = Math.max(marks[0]?.end ?? 0, start + SNIPPET_LENGTH);
  const parts: SnippetPart[] = [];
  const add = (part: string, isMatch: boolean) => {
    if (part !== "") parts.push({ text: part.toWellFormed(), is_match: isMatch });
  };
  let at = start;
  for (const mark of marks.filter((range) => range.end <= end)) {
    add(plain.slice(at, mark.start), false);
    add(plain.slice(mark.start, mark.end), true);
    at = mark.end;
  }
  add(plain.slice(at, end), false);
  if (start > 0) parts.unshift({ text: "…", is_match: false });
  if (end < plain.length) parts.push({ text: "…", is_match: false });
  return parts;
}

/** The start of the first word between two offsets, otherwise the first offset. */
function boundary(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s\S/);
  return space < 0 ? from : from + space + 1;
}

/** The ranges of a text that match a phrase, in order. Overlapping ranges are merged. */
function rangesOf(words: readonly Word[], phrases: readonly Phrase[]): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const [at, word] of words.entries()) {
    for (const phrase of phrases) {
      if (!startsAt(words, at, phrase)) continue;
      const end = words[at + phrase.terms.length - 1]!.end;
      const before = found.at(-1);
      if (before && word.start <= before.end) before.end = Math.max(before.end, end);
      else found.push({ start: word.start, end });
    }
  }
  return found;
}

function startsAt(words: readonly Word[], at: number, { terms, isPrefix }: Phrase): boolean {
  return terms.every((term, offset) => {
    const word = words[at + offset]?.term;
    return word === term || (isPrefix && offset === terms.length - 1 && word !== undefined && word.startsWith(term));
  });
}

function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (ASCII.test(word)) {
      words.push({ term: word.slice(0, MAX_TERM_LENGTH).toLowerCase(), start: index, end: index + word.length });
      continue;
    }
    for (const { 0: run, index: offset } of word.matchAll(RUN)) {
      const start = index + offset;
      if (UNSPACED.test(run)) words.push(...pairsOf(run, start));
      else addWord(words, run, start, start + run.length);
    }
  }
  return words;
}

/** Each pair of adjacent characters, and the last character alone, so that every part of the run can be found. */
function pairsOf(run: string, start: number): Word[] {
  const words: Word[] = [];
  const characters = Array.from(run);
  let at = start;
  for (const [place, character] of characters.entries()) {
    const pair = character + (characters[place + 1] ?? "");
    addWord(words, pair, at, at + pair.length);
    at += character.length;
  }
  return words;
}

function addWord(words: Word[], word: string, start: number, end: number): void {
  const term = fold(word).slice(0, MAX_TERM_LENGTH).toWellFormed();
  if (term !== "") words.push({ term, start, end });
}

/** Removes differences in case, width and accents. */
function fold(word: string): string {
  // Upper case comes first, since it maps ß to SS and ς to Σ.
  const lower = word.normalize("NFKC").toUpperCase().toLowerCase();
  return lower
    .normalize("NFD")
    .replace(MARKS, "")
    .normalize("NFC")
    .replaceAll("ς", "σ")
    .replace(/[^\p{L}\p{N}\p{M}_]/gu, "");
}
