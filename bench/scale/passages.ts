import { readFileSync } from "node:fs";
import { normal, randomNumbers } from "../random.ts";

/*
 * The texts of a large help centre, as a function of a document's number: words as unevenly common as those of English, with
 * a subject for each document, one document of ten in German. Questions are in the words of a passage.
 */

/** A query, and the document that answers it. */
export interface Question {
  query: string;
  url: string;
}

export const CHUNKS_PER_DOCUMENT = 10;
/** The share of the documents that are in German. */
const GERMAN_SHARE = 0.1;
const SUBJECTS = 2_000;
const WORDS_PER_SUBJECT = 20;
/** The share of a passage's words that are those of its subject. */
const SUBJECT_SHARE = 0.25;
/** The rank of the most common word of a subject, as an exponent of the size of the vocabulary. */
const MOST_COMMON_OF_SUBJECT = 0.35;
/** Words that all of the texts are about, such as "contract" and "phone": the first is in most passages, the last in one of twenty. */
const FIELD_WORDS = 40;
const FIELD_SHARE = 0.1;
/** The lengths of passages are as uneven as those that people write: a few words, or a page of them. */
const MEDIAN_WORDS = 80;
const DEVIATION_OF_LENGTHS = 0.5;
const MAX_WORDS = 350;
/** Shorter words are mostly function words. */
const LONG_WORD = 6;
const WORDS_PER_SENTENCE = 12;

/** Real words, the most common first, and names made of two of them, which are most of the different words of a large text. */
class Vocabulary {
  private readonly words: readonly string[];
  private readonly size: number;

  constructor(words: readonly string[], size: number) {
    this.words = words;
    this.size = size;
  }

  word(rank: number): string {
    const real = this.words[rank];
    if (real !== undefined) return real;
    const { length } = this.words;
    return this.words[rank % length]! + this.words[(rank + Math.floor(rank / length) * 7_919) % length]!;
  }

  /** By Zipf's law: the tenth most common word comes a tenth as often as the first. */
  rank(random: () => number, from = 0): number {
    return Math.floor(this.size ** (from + (1 - from) * random())) - 1;
  }
}

const english = new Vocabulary(englishWords(), 200_000);
const german = new Vocabulary(germanWords(), 30_000);
const fields = new Map([english, german].map((vocabulary) => [vocabulary, fieldOf(vocabulary)]));

/** The stems of src/text/word-vectors.bin, most frequent first. */
function englishWords(): string[] {
  const file = readFileSync("src/text/word-vectors.bin");
  return file
    .subarray(8, 8 + file.readUInt32LE(0))
    .toString()
    .split("\n")
    .filter((word) => /^[a-z]+$/.test(word));
}

function germanWords(): string[] {
  const text = readFileSync("bench/trades/rathaus.de.md", "utf8").toLowerCase();
  const found = Map.groupBy(text.match(/\p{L}+/gu)!, (word) => word);
  return [...found].toSorted(([, a], [, b]) => b.length - a.length).map(([word]) => word);
}

/** Returns the document with this number, with the vocabulary of its words and the ranks of those of each passage. */
export function documentAt(number: number) {
  const random = randomNumbers(number + 1);
  const vocabulary = random() < GERMAN_SHARE ? german : english;
  const subject = subjectAt(Math.floor(random() * SUBJECTS), vocabulary);
  const field = fields.get(vocabulary)!;
  const ofField = () => field[Math.floor(field.length ** random()) - 1]!;
  const ofSubject = () => subject[Math.floor(subject.length * random() ** 2)]!;
  const words = (ranks: number[]) => ranks.map((rank) => vocabulary.word(rank)).join(" ");
  const name = (count: number) => words(Array.from({ length: count }, ofSubject));
  const ranks = Array.from({ length: CHUNKS_PER_DOCUMENT }, () => {
    const length = Math.min(MAX_WORDS, Math.ceil(MEDIAN_WORDS * Math.exp(DEVIATION_OF_LENGTHS * normal(random))));
    return Array.from({ length }, () => {
      const about = random();
      return about < FIELD_SHARE ? ofField() : about < FIELD_SHARE + SUBJECT_SHARE ? ofSubject() : vocabulary.rank(random);
    });
  });
  const chunks = ranks.map((ofChunk) => ({ heading: name(2), content: sentences(ofChunk, words) }));
  return { vocabulary, ranks, title: name(3), url: `https://help.example.com/${number}`, chunks };
}

function subjectAt(number: number, vocabulary: Vocabulary): number[] {
  const random = randomNumbers(1_000_000_007 + number);
  return Array.from({ length: WORDS_PER_SUBJECT }, () => vocabulary.rank(random, MOST_COMMON_OF_SUBJECT));
}

function fieldOf(vocabulary: Vocabulary): number[] {
  const random = randomNumbers(4_000_000_007);
  return [...new Set(Array.from({ length: 4 * FIELD_WORDS }, () => vocabulary.rank(random, 0.4)))]
    .filter((rank) => vocabulary.word(rank).length >= LONG_WORD)
    .slice(0, FIELD_WORDS);
}

function sentences(ranks: number[], words: (ranks: number[]) => string): string {
  const count = Math.ceil(ranks.length / WORDS_PER_SENTENCE);
  const parts = Array.from({ length: count }, (_, at) => words(ranks.slice(at * WORDS_PER_SENTENCE, (at + 1) * WORDS_PER_SENTENCE)));
  return parts.map((part) => `${part[0]!.toUpperCase()}${part.slice(1)}.`).join(" ");
}

// --- Questions ---

/** Ranks of words: about one passage of 20, of 500 and of 10,000 has such a word. */
const COMMON = [100, 1_000] as const;
const MIDDLE = [1_000, 5_000] as const;
const RARE = [5_000, 200_000] as const;

type Pick = (range: readonly [number, number], count: number) => string[];

/** The kinds of questions, by the words that they choose. */
export const KINDS: Record<string, { isGerman?: boolean; words: (pick: Pick, field: string[]) => string[] }> = {
  rare: { words: (pick) => pick(RARE, 2) },
  common: { words: (pick) => pick(COMMON, 4) },
  "rare and common": { words: (pick) => [...pick(RARE, 1), ...pick(MIDDLE, 1), ...pick(COMMON, 3)] },
  "one common word": { words: (pick) => pick(COMMON, 1) },
  "in half of all passages": { words: (_, field) => field.slice(0, 3) },
  misspelt: { words: (pick) => [...[...pick(RARE, 1), ...pick(MIDDLE, 1)].map(misspell), ...pick(COMMON, 2)] },
  "German, of a tenth of the passages": { isGerman: true, words: (pick) => pick([50, 30_000], 4) },
};

/** Returns a question of a kind in the words of a passage of this document; none if it has no such words. */
export function questionAt(kind: string, number: number): Question[] {
  const { isGerman = false, words } = KINDS[kind]!;
  const { vocabulary, ranks, url } = documentAt(number);
  if (isGerman !== (vocabulary === german)) return [];
  const random = randomNumbers(number + 2_000_000_011);
  const ofChunk = new Set(ranks[Math.floor(random() * ranks.length)]);
  const shuffled = [...ofChunk].filter((rank) => vocabulary.word(rank).length >= LONG_WORD).toSorted(() => random() - 0.5);
  const pick: Pick = ([from, to], count) => {
    const found = shuffled.filter((rank) => rank >= from && rank < to).map((rank) => vocabulary.word(rank));
    return found.slice(0, found.length < count ? 0 : count);
  };
  const field = fields.get(vocabulary)!.filter((rank) => ofChunk.has(rank));
  const wanted = words(
    pick,
    field.map((rank) => vocabulary.word(rank)),
  );
  if (wanted.length === 0) return [];
  const asked = wanted.toSorted(() => random() - 0.5).join(" ");
  return [{ query: isGerman ? `Wie kann ich ${asked}?` : `How do I ${asked}?`, url }];
}

/** Exchanges two letters in the middle of a word. */
function misspell(word: string): string {
  const at = Math.floor(word.length / 2);
  return word.slice(0, at) + word[at + 1]! + word[at]! + word.slice(at + 2);
}
