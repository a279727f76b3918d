/** A word of a text in the form in which it is indexed, and where it stands in the text. */
interface Word {
  term: string;
  start: number;
  end: number;
}

/** What a query looks for: words that follow each other. */
export interface Phrase {
  terms: readonly string[];
  /** Whether the last one may be the beginning of a word. */
  isPrefix: boolean;
}

/** A part of a snippet. */
export interface SnippetPart {
  text: string;
  is_match: boolean;
}

/** Longer texts are found by their beginning. */
const MAX_TEXT_LENGTH = 10_000;
/** Longer words are hashes and keys: their beginning is enough to find them. */
const MAX_TERM_LENGTH = 48;

const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
/** Parts of a word of scripts that put no spaces between words, or join particles to them; and the parts between these. */
const RUN =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+|[^\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
const UNSPACED = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
/** Accents of Latin, Greek and Cyrillic, and the points of Hebrew and Arabic, which most people leave out. */
const MARKS = /[\u0300-\u036f]|[\u0591-\u05c7]|[\u0610-\u061a]|\u0640|[\u064b-\u065f]|\u0670/g;

/** The text as the index holds it: its words in order, separated by spaces. */
export function toIndexText(text: string): string {
  return wordsOf(text.slice(0, MAX_TEXT_LENGTH).normalize("NFC"))
    .map(({ term }) => term)
    .join(" ");
}

/**
 * The phrases of a query, each of which a text must have: what stands between white space, whose last word may be the beginning
 * of a longer one; and what stands in quotation marks, word for word.
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
  // A run of two characters or more ends with the pair that they are; what may follow it is another pair.
  const isWhole = isUnspaced && words.length > 1 && words.at(-2)!.end === last.end;
  const terms = (isWhole ? words.slice(0, -1) : words).map(({ term }) => term);
  return { terms, isPrefix: isUnspaced ? !isWhole : !isQuoted && (last?.term.length ?? 0) > 1 };
}

/** An FTS5 expression for the texts that have every phrase. */
export function toMatch(phrases: readonly Phrase[]): string {
  return phrases.map(({ terms, isPrefix }) => `"${terms.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");
}

/** How many characters a snippet has, and how many of them stand before its first match. */
const SNIPPET_LENGTH = 160;
const LEAD_LENGTH = 40;

/** The part of a text around the first match, with all matches in it marked. */
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

/** The first place after white space between two others, else the first of them. */
function boundary(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s\S/);
  return space < 0 ? from : from + space + 1;
}

/** Where a text has the phrases, from its beginning on; overlapping places are one. */
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
    for (const { 0: run, index: offset } of word.matchAll(RUN)) {
      const start = index + offset;
      if (UNSPACED.test(run)) words.push(...pairsOf(run, start));
      else addWord(words, run, start, start + run.length);
    }
  }
  return words;
}

/** Each pair of neighbouring characters, and the last character by itself: so every part of the run can be found. */
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

/** Without differences in case, width and accents. */
function fold(word: string): string {
  // Upper case first: it maps ß to SS and ς to Σ.
  const lower = word.normalize("NFKC").toUpperCase().toLowerCase();
  return lower
    .normalize("NFD")
    .replace(MARKS, "")
    .normalize("NFC")
    .replaceAll("ς", "σ")
    .replace(/[^\p{L}\p{N}\p{M}_]/gu, "");
}
