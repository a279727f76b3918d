import type { QueryTerm } from "../../models/retrieval.ts";
import { type Token, tokens } from "../../text/terms.ts";

/** What a query needs to know of an index's words. */
export interface Vocabulary {
  /** How many entries (chunks, curated questions) there are. */
  size: number;
  /** In how many entries each of these terms stands; a term that stands in none is absent. */
  frequencies(terms: readonly string[]): Map<string, number>;
  /** Terms that begin with these letters, with the number of their entries. */
  beginningWith(prefix: string): Map<string, number>;
}

/** A visitor's message is up to a few thousand characters: its rarest words say what it is about. */
const MAX_TERMS = 32;
/** In an index of a few chunks no word is rare by counting: it is taken for a part of one of this size. */
const MIN_ENTRIES = 40;
/** What a word that any question may hold weighs beside one that says what it is about. */
const WEAK_WEIGHT = 0.35;
/** Shorter words have too many neighbours for one of them to be meant. */
const MIN_ALIKE_LENGTH = 5;
const ALIKE_PREFIX_LENGTH = 2;
/** In so many words of a query a like one is looked for, each costing a walk through its neighbours. */
export const MAX_ALIKES = 8;
/** Two letters may differ in a word of this length, else one. */
const TWO_EDITS_LENGTH = 9;
/** Stems this long that share all but an ending are one family: `notif`, `notifi`. */
const FAMILY_ENDING = 3;

/** The words of a text as the index sees them, in order, each once. */
export function queryTerms(text: string, vocabulary: Vocabulary): QueryTerm[] {
  const unique = new Map<string, Token>();
  for (const token of tokens(text)) if (!unique.has(token.term)) unique.set(token.term, token);
  const all = [...unique.values()];
  const frequencies = vocabulary.frequencies(all.flatMap((token) => [token.term, ...token.parts]));
  let alikesLeft = MAX_ALIKES;
  const found = all.map((token) => {
    const known = knownIn(token, frequencies);
    return known > 0 || alikesLeft-- <= 0 ? queryTerm(token, known, null, vocabulary) : misspelt(token, vocabulary);
  });
  if (found.length <= MAX_TERMS) return found;
  const floor = found.map((term) => term.weight).toSorted((a, b) => b - a)[MAX_TERMS - 1]!;
  return found.filter((term) => term.weight >= floor).slice(0, MAX_TERMS);
}

/** Every term that stands for one of these words in the index. */
export function indexTerms(words: readonly QueryTerm[]): string[] {
  return [...new Set(words.flatMap((word) => [word.term, ...word.parts, ...(word.alike === null ? [] : [word.alike])]))];
}

/** In how many entries a token stands, whole or in all its parts. */
function knownIn(token: Token, frequencies: Map<string, number>): number {
  const parts = token.parts.map((part) => frequencies.get(part) ?? 0);
  return Math.max(frequencies.get(token.term) ?? 0, parts.length > 0 ? Math.min(...parts) : 0);
}

function misspelt(token: Token, vocabulary: Vocabulary): QueryTerm {
  const alike = token.parts.length > 0 ? undefined : alikeTo(token.term, vocabulary);
  return queryTerm(token, alike?.documents ?? 0, alike?.term ?? null, vocabulary);
}

function queryTerm({ term, parts, kind }: Token, documents: number, alike: string | null, vocabulary: Vocabulary): QueryTerm {
  const weak = kind === "weak";
  const weight = rarity(documents, vocabulary.size) * (weak ? WEAK_WEIGHT : 1);
  return { term, parts: [...parts], alike, weight, documents, weak };
}

/** Inverse document frequency, 0..1: 1 is a word that the index does not have. */
export function rarity(documents: number, size: number): number {
  const entries = Math.max(size, MIN_ENTRIES);
  const idf = (count: number): number => Math.log(1 + (entries - count + 0.5) / (count + 0.5));
  return idf(documents) / idf(0);
}

/** The word of the index that a misspelt or differently ended word most likely means. */
export function alikeTo(term: string, vocabulary: Vocabulary): { term: string; documents: number } | undefined {
  if (term.length < MIN_ALIKE_LENGTH || !/^[a-z]+$/.test(term)) return undefined;
  const edits = term.length >= TWO_EDITS_LENGTH ? 2 : 1;
  let best: { term: string; documents: number; distance: number } | undefined;
  for (const [candidate, documents] of vocabulary.beginningWith(term.slice(0, ALIKE_PREFIX_LENGTH))) {
    const distance = sameFamily(term, candidate) ? 1 : editDistance(term, candidate, edits);
    if (distance > edits) continue;
    if (!best || distance < best.distance || (distance === best.distance && documents > best.documents)) {
      best = { term: candidate, documents, distance };
    }
  }
  return best;
}

function sameFamily(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= MIN_ALIKE_LENGTH && long.length - short.length <= FAMILY_ENDING && long.startsWith(short);
}

/** Damerau-Levenshtein distance (neighbours swapped count once), as far as `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    if (Math.min(...row) > limit) return limit + 1;
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
