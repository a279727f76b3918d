import type { QueryTerm } from "../../models/retrieval.ts";
import { type Token, tokens } from "../../text/terms.ts";

/** The term statistics of an index, whose documents are chunks or curated questions. */
export interface Vocabulary {
  size: number;
  /** The document frequencies of these terms; a term that no document has is absent. */
  documentFrequencies(terms: readonly string[]): Map<string, number>;
  /** The terms with this prefix and their document frequencies. */
  termsWithPrefix(prefix: string): Map<string, number>;
}

/** A visitor's message may have a few thousand characters: its rarest terms say what it is about. */
const MAX_TERMS = 32;
/** A smaller index is treated as a part of one of this size: in a few documents no term is rare by counting. */
const MIN_DOCUMENTS = 40;
/** The weight of a weak term beside that of a content term. */
const WEAK_FACTOR = 0.35;

/** The terms of a text, in order, each once, with their statistics. */
export function queryTerms(text: string, vocabulary: Vocabulary): QueryTerm[] {
  const unique = new Map<string, Token>();
  for (const token of tokens(text)) if (!unique.has(token.term)) unique.set(token.term, token);
  const all = [...unique.values()];
  const frequencies = vocabulary.documentFrequencies(all.flatMap(({ term, parts }) => [term, ...parts]));
  let correctionsLeft = MAX_CORRECTIONS;
  const found = all.map((token) => {
    const frequency = frequencyOf(token, frequencies);
    if (frequency > 0 || correctionsLeft-- <= 0 || token.parts.length > 0) return queryTerm(token, frequency, null, vocabulary.size);
    const correction = correctSpelling(token.term, vocabulary);
    return queryTerm(token, correction?.documentFrequency ?? 0, correction?.term ?? null, vocabulary.size);
  });
  if (found.length <= MAX_TERMS) return found;
  const minWeight = found.map(({ weight }) => weight).toSorted((a, b) => b - a)[MAX_TERMS - 1]!;
  return found.filter(({ weight }) => weight >= minWeight).slice(0, MAX_TERMS);
}

/** Every term of the index that matches one of these query terms. */
export function indexTerms(terms: readonly QueryTerm[]): string[] {
  return [...new Set(terms.flatMap(({ term, parts, correction }) => [term, ...parts, ...(correction === null ? [] : [correction])]))];
}

/** How many documents contain a token, whole or (at most) in all its parts. */
function frequencyOf({ term, parts }: Token, frequencies: ReadonlyMap<string, number>): number {
  const ofParts = parts.map((part) => frequencies.get(part) ?? 0);
  return Math.max(frequencies.get(term) ?? 0, parts.length > 0 ? Math.min(...ofParts) : 0);
}

function queryTerm({ term, parts, kind }: Token, documentFrequency: number, correction: string | null, documents: number): QueryTerm {
  const isWeak = kind === "weak";
  const weight = normalizedIdf(documentFrequency, documents) * (isWeak ? WEAK_FACTOR : 1);
  return { term, parts: [...parts], correction, weight, documentFrequency, isWeak };
}

/** BM25's inverse document frequency (Robertson and Zaragoza 2009), as a share of that of a term which no document has. */
export function normalizedIdf(documentFrequency: number, documents: number): number {
  const total = Math.max(documents, MIN_DOCUMENTS);
  const idf = (frequency: number): number => Math.log(1 + (total - frequency + 0.5) / (frequency + 0.5));
  return idf(documentFrequency) / idf(0);
}

// --- Spelling correction ---

/** Shorter words are one edit from too many others. */
const MIN_CORRECTED_LENGTH = 5;
const COMMON_PREFIX_LENGTH = 2;
/** The most terms of a query that are corrected, each of which compares all terms with the same prefix. */
export const MAX_CORRECTIONS = 8;
/** Words of this length may differ in two edits, shorter ones in one. */
const TWO_EDITS_LENGTH = 9;
/** Stems that differ only in an ending of at most this length count as one edit apart: `notif`, `notifi`. */
const MAX_ENDING_LENGTH = 3;

/** The most similar term of the index to a misspelt or differently stemmed one, the most frequent of equally similar ones. */
export function correctSpelling(term: string, vocabulary: Vocabulary): { term: string; documentFrequency: number } | undefined {
  if (term.length < MIN_CORRECTED_LENGTH || !/^[a-z]+$/.test(term)) return undefined;
  const maxEdits = term.length >= TWO_EDITS_LENGTH ? 2 : 1;
  let best: { term: string; documentFrequency: number; distance: number } | undefined;
  for (const [candidate, documentFrequency] of vocabulary.termsWithPrefix(term.slice(0, COMMON_PREFIX_LENGTH))) {
    const distance = differsInEnding(term, candidate) ? 1 : editDistance(term, candidate, maxEdits);
    if (distance > maxEdits) continue;
    if (!best || distance < best.distance || (distance === best.distance && documentFrequency > best.documentFrequency)) {
      best = { term: candidate, documentFrequency, distance };
    }
  }
  return best;
}

function differsInEnding(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= MIN_CORRECTED_LENGTH && long.length - short.length <= MAX_ENDING_LENGTH && long.startsWith(short);
}

/** Damerau-Levenshtein distance (a transposition is one edit), or `limit` + 1 where it is larger. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let rowBeforeLast: number[] = [];
  let lastRow = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min(lastRow[j]! + 1, row[j - 1]! + 1, lastRow[j - 1]! + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, rowBeforeLast[j - 2]! + 1);
      row.push(cost);
    }
    if (Math.min(...row) > limit) return limit + 1;
    [rowBeforeLast, lastRow] = [lastRow, row];
  }
  return lastRow[b.length]!;
}

// --- Follow-up questions ---

/** Pronouns and the like, and beginnings that continue the turn before. */
const REFERS_BACK =
  /\b(?:it|its|they|them|their|theirs|this|that|these|those|one|ones|there|same|else|others?|another|both|such|he|she|his|her)\b|^\W*(?:and|also|or|but|so|then|why|ok|okay|i mean|what about|how about)\b/i;
/** A question of at most so many terms is hardly complete. */
const MAX_INCOMPLETE_TERMS = 2;
/** The weight of the previous question's terms where the question is complete by itself. */
const COMPLETE_QUESTION_FACTOR = 0.5;
/** Questions further back are mostly about something else. */
const MAX_PREVIOUS_QUESTIONS = 2;

/** Whether a question is understood only together with the one before it. */
export function needsContext(question: string): boolean {
  return REFERS_BACK.test(question) || tokens(question).length <= MAX_INCOMPLETE_TERMS;
}

/**
 * The terms that previous questions add to a question. Those of the last one count in full if the question needs context,
 * else by half; the one before is used only if the last one needs context itself. Together they never weigh more than the
 * question's own terms.
 */
export function termsOfPrevious(
  question: string,
  previousQuestions: readonly string[],
  questionTerms: readonly QueryTerm[],
  vocabulary: Vocabulary,
): QueryTerm[] {
  const known = new Set(questionTerms.map(({ term }) => term));
  const added: QueryTerm[] = [];
  let isIncomplete = needsContext(question);
  let factor = 1;
  for (const previous of previousQuestions.slice(-MAX_PREVIOUS_QUESTIONS).reverse()) {
    factor *= isIncomplete ? 1 : COMPLETE_QUESTION_FACTOR;
    for (const term of queryTerms(previous, vocabulary)) {
      if (known.has(term.term)) continue;
      known.add(term.term);
      added.push({ ...term, weight: term.weight * factor });
    }
    isIncomplete = needsContext(previous);
    if (!isIncomplete) break;
  }
  const scale = Math.min(1, totalWeight(questionTerms) / totalWeight(added));
  return added.map((term) => ({ ...term, weight: term.weight * scale }));
}

function totalWeight(terms: readonly QueryTerm[]): number {
  return terms.reduce((sum, { weight }) => sum + weight, 0);
}
