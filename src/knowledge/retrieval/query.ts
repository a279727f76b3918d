import { type QueryTerm, type TermAlternative, totalWeight } from "../../models/retrieval.ts";
import { expandChatSpellings } from "../../text/chat-spellings.ts";
import { DEFAULT_LANGUAGE } from "../../text/languages.ts";
import { type Token, tokens } from "../../text/terms.ts";
import { type LanguageWords, wordsOf } from "../../text/word-forms.ts";
import { cosine, RELATED_COSINE, wordVector } from "../../text/word-vectors.ts";
import { phrasesIn, synonymsOf } from "./synonyms.ts";
import { editDistance } from "../../platform/text.ts";

/** The term statistics of an index, whose documents are chunks or curated questions. */
export interface Vocabulary {
  size: number;
  /** The numbers of documents with each of these terms; a term that no document has is absent. */
  documentFrequencies(terms: readonly string[]): Map<string, number>;
  /** The terms among these that some document has. */
  present(terms: readonly string[]): Set<string>;
  /** The terms with this prefix; undefined if there are too many to read. */
  termsWithPrefix(prefix: string): readonly string[] | undefined;
}

/** The most terms of a query. The rarest terms of a long message indicate its subject. */
const MAX_TERMS = 32;
/** A smaller index is treated as a part of one of this size, since term frequencies in a few documents mean little. */
const MIN_DOCUMENTS = 40;
/** The weight of a weak term relative to that of a content term. */
const WEAK_FACTOR = 0.35;

/** The weight of a corrected spelling, which may be another word. */
const CORRECTION_WEIGHT = 0.9;
/** The weight of a phrase such as "take out", whose words are in no help text. */
const PHRASE_TERM_WEIGHT = 0.7;
/** The factors for a term that the index does not have, without and with alternatives that it has. */
const UNKNOWN_FACTOR = 0.7;
const SUBSTITUTED_FACTOR = 0.8;

/**
 * Returns the distinct terms of a text in order, with their statistics.
 * @param language the code of the text's language.
 */
export function queryTerms(text: string, vocabulary: Vocabulary, language: string): QueryTerm[] {
  const words = wordsOf(language);
  const terms = words ? termsInLanguage(text, words, vocabulary) : englishTerms(text, vocabulary);
  if (terms.length <= MAX_TERMS) return terms;
  const minWeight = terms.map(({ weight }) => weight).toSorted((x, y) => y - x)[MAX_TERMS - 1]!;
  return terms.filter(({ weight }) => weight >= minWeight).slice(0, MAX_TERMS);
}

function englishTerms(text: string, vocabulary: Vocabulary): QueryTerm[] {
  const question = expandChatSpellings(text);
  const all = uniqueTokens(tokens(question));
  const phrases = phrasesIn(question);
  const synonyms = new Map(all.map(({ term }) => [term, synonymsOf(term)]));
  const candidates = [...synonyms.values(), ...phrases.map(({ alternatives }) => alternatives)].flat();
  const frequencies = vocabulary.documentFrequencies(all.flatMap(({ term, parts }) => [term, ...parts]));
  const present = vocabulary.present(candidates.map(({ term }) => term));
  const isKnown = ({ term }: TermAlternative): boolean => present.has(term);
  const budget = { correctionsLeft: MAX_CORRECTIONS };
  const found = all.map((token) => {
    const alternatives = synonyms.get(token.term)!.filter(isKnown);
    const frequency = frequencyOf(token, frequencies);
    if (frequency > 0) return queryTerm(token, frequency, alternatives, vocabulary.size);
    return correctedTerm(token, alternatives, vocabulary, budget, isSpellingOf);
  });
  const ofPhrases = phrases.flatMap(({ phrase, alternatives }): QueryTerm[] => {
    const known = alternatives.filter(isKnown);
    const term = { term: phrase, parts: [], alternatives: known, weight: PHRASE_TERM_WEIGHT, documentFrequency: 0, isWeak: false };
    return known.length === 0 ? [] : [term];
  });
  return [...found, ...ofPhrases];
}

function termsInLanguage(text: string, words: LanguageWords, vocabulary: Vocabulary): QueryTerm[] {
  const all = questionTokens(text, words);
  const frequencies = vocabulary.documentFrequencies(all.flatMap(({ term, parts }) => [term, ...parts]));
  const budget = { correctionsLeft: MAX_CORRECTIONS };
  return all.flatMap((token, at): QueryTerm[] => {
    if (at >= MAX_TERMS) return [queryTerm(token, frequencyOf(token, frequencies), [], vocabulary.size)];
    const { forms, compounds } = formsOf(token.term, words, vocabulary);
    const frequency = Math.max(frequencyOf(token, frequencies), ...forms.values());
    const alternatives = [...otherForms(token.term, forms), ...compounds.map((compound) => ({ term: compound, weight: COMPOUND_WEIGHT }))];
    if (frequency > 0 || alternatives.length > 0) return [queryTerm(token, frequency, alternatives, vocabulary.size)];
    const maySplit = words.isCompounding && budget.correctionsLeft > 0;
    const parts = maySplit ? partsOfCompound(token.term, words, vocabulary) : undefined;
    if (parts) budget.correctionsLeft--;
    return parts ?? [correctedTerm(token, [], vocabulary, budget)];
  });
}

function uniqueTokens(all: readonly Token[]): Token[] {
  const unique = new Map<string, Token>();
  for (const token of all) if (!unique.has(token.term)) unique.set(token.term, token);
  return [...unique.values()];
}

/** The tokens of a question without the function words of its language. */
function questionTokens(text: string, words: LanguageWords): Token[] {
  const all = uniqueTokens(tokens(words.separated(text)));
  return all.flatMap((token): Token[] => {
    const kind = words.kindOf(token.term);
    return kind === "stop" ? [] : [{ ...token, kind: kind === "weak" ? kind : token.kind }];
  });
}

/** A term that the index does not have, with the most similar term of the index as an alternative. */
function correctedTerm(
  token: Token,
  alternatives: TermAlternative[],
  vocabulary: Vocabulary,
  budget: { correctionsLeft: number },
  isSameWord?: typeof isSpellingOf,
): QueryTerm {
  const mayCorrect = budget.correctionsLeft-- > 0 && token.parts.length === 0;
  const correction = mayCorrect ? correctSpelling(token.term, vocabulary, isSameWord) : undefined;
  if (correction === undefined) return queryTerm(token, 0, alternatives, vocabulary.size);
  const corrected = { term: correction.term, weight: CORRECTION_WEIGHT };
  return { ...queryTerm(token, correction.documentFrequency, [corrected, ...alternatives], vocabulary.size), documentFrequency: 0 };
}

// --- Forms of a word, and compounds ---

/** The number of first letters that all forms of a word have in common. */
const FORM_PREFIX_LENGTH = 4;
const MIN_FORM_LENGTH = 3;
/** Too many other words begin with a shorter stem. */
const MIN_COMPOUND_STEM_LENGTH = 5;
/** The weight of a compound that begins with the term: "Rücksendekosten" is about a "Rücksendung", but about its costs. */
const COMPOUND_WEIGHT = 0.6;
const MIN_PART_LENGTH = 4;
/** Letters between the parts of a compound: "Zahlungsart", "Kundenkonto". */
const LINKS = ["", "s", "e", "n", "en", "er", "es", "ungs"];

/** The terms of the index that are forms of a term, with their document frequencies, and the compounds that begin with it. */
function formsOf(term: string, words: LanguageWords, vocabulary: Vocabulary): { forms: Map<string, number>; compounds: string[] } {
  const forms: string[] = [];
  const compounds: string[] = [];
  if (term.length < MIN_FORM_LENGTH) return { forms: new Map(), compounds };
  for (const base of words.bases(term)) {
    const stem = words.stem(base);
    const hasCompounds = words.isCompounding && stem.length >= MIN_COMPOUND_STEM_LENGTH;
    for (const prefix of words.prefixes) {
      for (const candidate of vocabulary.termsWithPrefix(prefix + base.slice(0, FORM_PREFIX_LENGTH)) ?? []) {
        if (words.stem(candidate.slice(prefix.length)) === stem) forms.push(candidate);
        else if (hasCompounds && candidate.startsWith(stem)) compounds.push(candidate);
      }
    }
  }
  return { forms: vocabulary.documentFrequencies(forms), compounds };
}

/** Splits a compound that the index does not have; undefined if the index has none of the parts. */
function partsOfCompound(term: string, words: LanguageWords, vocabulary: Vocabulary): QueryTerm[] | undefined {
  const head = beginningOf(term, words, vocabulary);
  if (head !== undefined) {
    const rests = LINKS.filter((link) => term.startsWith(head + link)).map((link) => term.slice(head.length + link.length));
    const known = rests.find((rest) => rest.length >= MIN_FORM_LENGTH && formsOf(rest, words, vocabulary).forms.size > 0);
    return [partOf(head, words, vocabulary), partOf(known ?? rests.at(-1)!, words, vocabulary)];
  }
  const ends = Array.from({ length: Math.max(0, term.length - 2 * MIN_PART_LENGTH + 1) }, (_, at) => term.slice(MIN_PART_LENGTH + at));
  const frequencies = vocabulary.documentFrequencies(ends);
  const end = ends.find((each) => frequencies.has(each) && words.kindOf(each) !== "stop");
  return end === undefined ? undefined : [term.slice(0, -end.length), end].map((part) => partOf(part, words, vocabulary));
}

/** The longest beginning of a compound that is the stem of a term of the index. */
function beginningOf(term: string, words: LanguageWords, vocabulary: Vocabulary): string | undefined {
  const candidates = vocabulary.termsWithPrefix(term.slice(0, MIN_PART_LENGTH)) ?? [];
  const stems = candidates.filter((candidate) => words.kindOf(candidate) === "content").map((candidate) => words.stem(candidate));
  const beginnings = stems.filter(
    (stem) => stem.length >= MIN_PART_LENGTH && stem.length <= term.length - MIN_PART_LENGTH && term.startsWith(stem),
  );
  return beginnings.toSorted((a, b) => b.length - a.length)[0];
}

function partOf(part: string, words: LanguageWords, vocabulary: Vocabulary): QueryTerm {
  const { forms } = formsOf(part, words, vocabulary);
  const frequency = Math.max(0, ...forms.values());
  return queryTerm({ term: part, parts: [], kind: "content" }, frequency, otherForms(part, forms), vocabulary.size);
}

function otherForms(term: string, forms: ReadonlyMap<string, number>): TermAlternative[] {
  return [...forms.keys()].filter((form) => form !== term).map((form) => ({ term: form, weight: 1 }));
}

/**
 * Returns the terms of the index that match these query terms.
 * @param withSynonyms whether to include synonyms of terms that the index has itself. Other forms are always included.
 */
export function indexTerms(terms: readonly QueryTerm[], withSynonyms: boolean): string[] {
  const matching = terms.flatMap(({ term, parts, alternatives, documentFrequency }) => [
    term,
    ...parts,
    ...alternatives.filter(({ weight }) => weight === 1 || withSynonyms || documentFrequency === 0).map((other) => other.term),
  ]);
  return [...new Set(matching)];
}

/** The number of documents with a token, or the most that can have all its parts. */
function frequencyOf({ term, parts }: Token, frequencies: ReadonlyMap<string, number>): number {
  const ofParts = parts.map((part) => frequencies.get(part) ?? 0);
  return Math.max(frequencies.get(term) ?? 0, parts.length > 0 ? Math.min(...ofParts) : 0);
}

function queryTerm({ term, parts, kind }: Token, documentFrequency: number, alternatives: TermAlternative[], documents: number): QueryTerm {
  const isWeak = kind === "weak";
  const knownFactor = documentFrequency > 0 ? 1 : alternatives.length > 0 ? SUBSTITUTED_FACTOR : UNKNOWN_FACTOR;
  const weight = normalizedIdf(documentFrequency, documents) * (isWeak ? WEAK_FACTOR : 1) * knownFactor;
  return { term, parts: [...parts], alternatives, weight, documentFrequency, isWeak };
}

/** BM25's inverse document frequency (Robertson and Zaragoza 2009), as a share of the value for a term that no document has. */
export function normalizedIdf(documentFrequency: number, documents: number): number {
  const total = Math.max(documents, MIN_DOCUMENTS);
  const idf = (frequency: number): number => Math.log(1 + (total - frequency + 0.5) / (frequency + 0.5));
  return idf(documentFrequency) / idf(0);
}

// --- Spelling correction ---

/** Too many words are one edit away from a shorter one. Only a missing letter ("mony") is corrected in it. */
const MIN_CORRECTED_LENGTH = 5;
const MIN_COMPLETED_LENGTH = 4;
const COMMON_PREFIX_LENGTH = 2;
/** Where too many terms have the first two letters in common, terms with this number of common letters are compared. */
const BEGINNING_LENGTH = 5;
/** The most terms of a query that are corrected, each of which compares all terms with the same prefix. */
export const MAX_CORRECTIONS = 8;
/** Words of this length may differ in two edits, shorter ones in one. */
const TWO_EDITS_LENGTH = 9;
/** Stems that differ only in an ending of at most this length count as one edit apart: `notif`, `notifi`. */
const MAX_ENDING_LENGTH = 3;

/**
 * Whether an English term may be a misspelling of a candidate. A known word is corrected only to a word with a similar meaning: "bread"
 * is no misspelling of "break".
 */
function isSpellingOf(term: string, candidate: string): boolean {
  const vector = wordVector(term);
  if (!vector) return true;
  const other = wordVector(candidate);
  return other ? cosine(vector, other) >= RELATED_COSINE : differsInEnding(term, candidate);
}

/**
 * Finds the term of the index that is most similar to a misspelt or differently stemmed one, the most frequent of equally similar terms.
 * @param isSameWord whether a term may be a misspelling of a similar one.
 */
export function correctSpelling(
  term: string,
  vocabulary: Vocabulary,
  isSameWord: (term: string, candidate: string) => boolean = () => true,
): { term: string; documentFrequency: number } | undefined {
  if (term.length < MIN_COMPLETED_LENGTH || !/^[a-z]+$/.test(term)) return undefined;
  const maxEdits = term.length >= TWO_EDITS_LENGTH ? 2 : 1;
  let nearest: { terms: string[]; distance: number } = { terms: [], distance: maxEdits + 1 };
  for (const candidate of termsLike(term, vocabulary)) {
    if (term.length < MIN_CORRECTED_LENGTH && candidate.length <= term.length) continue;
    const distance = differsInEnding(term, candidate) ? 1 : editDistance(term, candidate, maxEdits);
    if (distance > maxEdits || distance > nearest.distance || !isSameWord(term, candidate)) continue;
    if (distance < nearest.distance) nearest = { terms: [], distance };
    nearest.terms.push(candidate);
  }
  if (nearest.terms.length === 0) return undefined;
  let best: { term: string; documentFrequency: number } | undefined;
  for (const [candidate, documentFrequency] of vocabulary.documentFrequencies(nearest.terms)) {
    if (!best || documentFrequency > best.documentFrequency) best = { term: candidate, documentFrequency };
  }
  return best;
}

/** The terms with which a misspelt one is compared: all with the same first letters, or in a large index those that differ by one edit in their beginning. */
function termsLike(term: string, vocabulary: Vocabulary): Iterable<string> {
  const all = vocabulary.termsWithPrefix(term.slice(0, COMMON_PREFIX_LENGTH));
  if (all) return all;
  return new Set([...vocabulary.present(editsOfBeginning(term)), ...(vocabulary.termsWithPrefix(term.slice(0, BEGINNING_LENGTH)) ?? [])]);
}

const LETTERS = Array.from({ length: 26 }, (_, at) => String.fromCharCode(0x61 + at));

/** All results of one edit in the beginning of a term, after its first letters. */
function editsOfBeginning(term: string): string[] {
  return Array.from({ length: BEGINNING_LENGTH - COMMON_PREFIX_LENGTH }, (_, at) => at + COMMON_PREFIX_LENGTH).flatMap((at) => {
    const [before, letter = "", next = "", rest] = [term.slice(0, at), term[at], term[at + 1], term.slice(at + 2)];
    const others = LETTERS.flatMap((other) => [before + other + letter + next + rest, before + other + next + rest]);
    return [...others, before + next + rest, before + next + letter + rest];
  });
}

function differsInEnding(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= MIN_CORRECTED_LENGTH && long.length - short.length <= MAX_ENDING_LENGTH && long.startsWith(short);
}

// --- Follow-up questions ---

/** English pronouns and similar words, and beginnings that leave out what the question before says. */
const REFERS_BACK =
  /\b(?:it|its|they|them|their|theirs|this|that|these|those|one|ones|there|same|else|others?|another|both|such|he|she|his|her)\b|^\W*(?:why|i mean|what about|how about)\b/i;
/** English beginnings that continue a conversation, also with a question about something else. */
const CONTINUES = /^\W*(?:and|also|or|but|so|then|ok|okay)\b/i;
/** "Is there" refers to nothing. */
const EXISTS = /\b(?:is|are|was|were) there\b/gi;
/** A question of at most this number of terms may be incomplete. It is incomplete if it has at most this number of words, too. */
const MAX_INCOMPLETE_TERMS = 2;
const MAX_INCOMPLETE_WORDS = 4;
/** A question of fewer words is not whole. */
const MIN_WHOLE_WORDS = 3;
/** The weight of the previous question's terms where the question is complete by itself. */
const COMPLETE_QUESTION_FACTOR = 0.5;
/** Questions further back are mostly about something else. */
const MAX_PREVIOUS_QUESTIONS = 2;

/** Whether a question, in the language with this code, is understood only together with the one before it. */
export function isFollowUp(question: string, language: string): boolean {
  return mayBeFollowUp(question, language) && (pointsBack(question, language) || wordCount(question) <= MAX_INCOMPLETE_WORDS);
}

/** Whether a question may be understood by itself although it is short, or begins as if it continued the one before it. */
export function mayBeWhole(question: string): boolean {
  const text = question.replace(CONTINUES, "");
  return !refersBack(text) && wordCount(text) >= MIN_WHOLE_WORDS;
}

function mayBeFollowUp(question: string, language: string): boolean {
  const words = wordsOf(language);
  const own = words ? questionTokens(question, words) : tokens(question);
  return pointsBack(question, language) || own.length <= MAX_INCOMPLETE_TERMS;
}

function pointsBack(question: string, language: string): boolean {
  if (language !== DEFAULT_LANGUAGE) return false;
  return CONTINUES.test(question) || refersBack(question);
}

function refersBack(question: string): boolean {
  return REFERS_BACK.test(question.replace(EXISTS, ""));
}

function wordCount(text: string): number {
  return text.trim().split(/\s+/).length;
}

/**
 * Returns the terms that previous questions add to a question. Those of the last one count in full if the question may be a follow-up,
 * otherwise by half. The question before it is used only if the last one needs context itself. Together they never weigh more than
 * the question's own terms, since new terms of a follow-up are its subject.
 */
export function termsOfPrevious(
  question: string,
  previousQuestions: readonly string[],
  questionTerms: readonly QueryTerm[],
  vocabulary: Vocabulary,
  language: string,
): QueryTerm[] {
  const known = new Set(questionTerms.map(({ term }) => term));
  const added: QueryTerm[] = [];
  let isIncomplete = mayBeFollowUp(question, language);
  let factor = 1;
  for (const previous of previousQuestions.slice(-MAX_PREVIOUS_QUESTIONS).reverse()) {
    factor *= isIncomplete ? 1 : COMPLETE_QUESTION_FACTOR;
    for (const term of queryTerms(previous, vocabulary, language)) {
      if (known.has(term.term)) continue;
      known.add(term.term);
      added.push({ ...term, weight: term.weight * factor });
    }
    isIncomplete = mayBeFollowUp(previous, language);
    if (!isIncomplete) break;
  }
  const own = totalWeight(questionTerms);
  // "How much is that?" has no terms of its own.
  const scale = own === 0 ? 1 : Math.min(1, own / totalWeight(added));
  return added.map((term) => ({ ...term, weight: term.weight * scale }));
}
