import { allTokens, terms, type Token } from "../text/terms.ts";
import { type Segment, segmentsOf } from "../extractive/segments.ts";

/*
 * Whether a text supports a sentence of an answer: it must have most of the sentence's words, all of its names, and each of its numbers
 * next to the same words.
 */

/** The share of the sentence's words that the text must have. */
const MIN_SHARE = 0.6;
/** The share for a text that the model itself cited, which it may have put into words of its own. */
const MIN_CITED_SHARE = 0.3;
/** The support of a sentence for which the model cited the text. */
const CITED_SUPPORT = 0.9;
/** The support of one whose cited text is in another language, so that their words cannot be compared. */
const FOREIGN_SUPPORT = 0.75;
/** The weight of a word that is common in support questions; a content word has 1. */
const WEAK_WEIGHT = 0.3;
/** The share of the words around a number that must be around it in the text too. */
const MIN_CLAUSE_SHARE = 0.5;
/** Inflections that the stemmer does not unite have at least this many letters in common, and this share of the longer word. */
const MIN_COMMON_PREFIX = 5;
const MIN_PREFIX_SHARE = 0.7;

const NUMBER = /\d+(?:[.,:]\d+)*/g;
/** The word "one" is left out, because it is also a pronoun. */
const NUMBER_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const NUMBER_WORD = new RegExp(`\\b(?:${NUMBER_WORDS.join("|")})\\b`, "gi");
const CLAUSE_END = /,\s|[;:()–—]\s?|\s(?:and|or|but|while|whereas|und|oder|aber|et|ou|y|o)\s/;
const EDGE_PUNCTUATION = /^[^\p{L}\p{N}]{1,8}|[^\p{L}\p{N}]{1,8}$/gu;
const NEGATION =
  /\b(?:not|no|never|none|nobody|cannot|neither|nor|\w+n[’']t|nicht|kein\w*|nie|jamais|aucun\w*|pas|nunca|ninguna?|niet|geen|ikke|inte)\b/i;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu;
const CAPITALISED = /^\p{Lu}/u;
/** An acronym, a name such as "iPhone", or a code such as "A1". */
const ALWAYS_NAME = /\p{L}[\p{Lu}\p{N}]/u;
const SENTENCE_START = /(?:^|[.!?:]\s{1,4})[^\p{L}\p{N}]{0,8}$/u;
/** In a text with a larger share of capitalised words, such as a title or German text, a capital does not mark a name. */
const MAX_CAPITALISED_SHARE = 0.4;
const MIN_FUNCTION_WORD_SHARE = 0.25;
const MAX_FOREIGN_SHARE = 0.12;
const MIN_COMPARED_WORDS = 5;

/** Words of politeness. A sentence with only such words states no fact. */
const POLITE = new Set(
  terms(`happy glad pleased delighted welcome hello hey greetings dear thank thanks appreciate appreciated assist assistance
    assisting hesitate reach contact wonderful fantastic excellent certainly absolutely course summary summarize short answer
    answers reply respond additional today luck enjoy worry pleasure concern concerns clarify clarification patience step steps
    list overview quick simple way goodbye bye afternoon morning evening assistant chat chatting sound sounds question help ask know need detail issue guide follow`),
);
/** Phrases that are polite as a whole, though not each of their words is. */
const POLITE_PHRASE = /\bfeel free\b|\b(?:our|the|customer)? ?support team\b|\bhave an? (?:\w+ )?day\b/gi;

/** A part of a sentence that has numbers. */
interface Clause {
  numbers: string[];
  words: Token[];
}

/** A sentence of an answer, as it is compared with a text. */
export interface Claim {
  words: Token[];
  names: Token[];
  numbers: string[];
  emails: string[];
  clauses: Clause[];
  isNegated: boolean;
  /** The share of its words that are function words of English; undefined if it has too few words. */
  functionWordShare: number | undefined;
}

/** Returns what a sentence of an answer claims, for the comparison with a text. */
export function claimOf(sentence: string): Claim {
  const all = allTokens(sentence);
  const clauses = sentence.split(CLAUSE_END).map((clause) => ({ numbers: numbersOf(clause), words: wordsOf(clause) }));
  return {
    words: [...new Map(wordsOf(sentence).map((word) => [word.term, word])).values()],
    names: namesOf(sentence),
    numbers: numbersOf(sentence),
    emails: emailsOf(sentence),
    clauses: clauses.filter(({ numbers }) => numbers.length > 0),
    isNegated: NEGATION.test(sentence),
    functionWordShare: functionWordShare(all),
  };
}

/** Whether a sentence states nothing that could be wrong: all of its words are polite ones or in `known`. */
export function isNeutral(sentence: string, known: ReadonlySet<string> = new Set()): boolean {
  const { words, names, numbers, emails } = claimOf(sentence.replaceAll(POLITE_PHRASE, " "));
  const isKnown = ({ term, parts }: Token) => POLITE.has(term) || has(known, { term, parts });
  if (emails.length > 0 || !numbers.every((number) => known.has(number)) || !names.every(isKnown)) return false;
  return words.every((word) => word.kind === "weak" || isKnown(word));
}

/** A passage or a tool's result, read once for all sentences that are compared with it. */
export class SupportingText {
  /** Its terms and numbers. */
  readonly terms: Set<string>;
  private readonly numbers: Set<string>;
  private readonly clauses: { terms: Set<string>; isNegated: boolean }[];
  /** The texts around numbers: each clause with a number, or the whole part where only one clause has any. */
  private readonly numbered: { terms: Set<string>; numbers: Set<string> }[];
  private readonly functionWordShare: number | undefined;

  /**
   * @param context a text that holds for every part: title and heading of a passage, or the question that a tool's result answers.
   */
  constructor(
    private readonly text: string,
    context = "",
  ) {
    const common = numbersOf(context);
    const parts = partsOf(text, context);
    this.clauses = parts.flatMap((part) =>
      part.text.split(CLAUSE_END).map((clause) => ({
        terms: new Set([...terms(clause), ...part.context]),
        isNegated: NEGATION.test(clause),
      })),
    );
    this.numbered = parts.flatMap(numberedClauses).map((clause) => ({ ...clause, numbers: new Set([...clause.numbers, ...common]) }));
    this.numbers = new Set([...numbersOf(text), ...common]);
    this.terms = new Set([...terms(text), ...terms(context), ...this.numbers]);
    this.functionWordShare = functionWordShare(allTokens(text));
  }

  /**
   * Returns how much of a claim this text has, 0..1; 0 if that is too little to support it.
   * @param isCited whether the model cited this text for the claim.
   */
  supportOf(claim: Claim, isCited: boolean): number {
    if (!claim.numbers.every((number) => this.numbers.has(number))) return 0;
    if (!claim.emails.every((email) => this.text.includes(email))) return 0;
    if (isCited && this.isOtherLanguage(claim)) return FOREIGN_SUPPORT;
    if (!claim.names.every((name) => has(this.terms, name))) return 0;
    const share = shareIn(this.terms, claim.words);
    if (share < (isCited ? MIN_CITED_SHARE : MIN_SHARE)) return 0;
    if (!claim.clauses.every((clause) => this.hasClause(clause, claim)) || this.contradicts(claim)) return 0;
    return isCited ? Math.max(share, CITED_SUPPORT) : share;
  }

  private hasClause({ numbers, words }: Clause, claim: Claim): boolean {
    return this.numbered.some((part) => {
      if (!numbers.every((number) => part.numbers.has(number))) return false;
      return words.length > 0 ? shareIn(part.terms, words) >= MIN_CLAUSE_SHARE : shareIn(part.terms, claim.words) > 0;
    });
  }

  /** Whether all clauses with most of the claim's words negate what it says, or say what it negates. */
  private contradicts({ words, isNegated }: Claim): boolean {
    const shares = this.clauses.map((clause) => ({ clause, share: shareIn(clause.terms, words) }));
    const best = Math.max(0, ...shares.map(({ share }) => share));
    return best > 0 && shares.every(({ clause, share }) => share < best || clause.isNegated !== isNegated);
  }

  private isOtherLanguage(claim: Claim): boolean {
    const [lower, higher] = [claim.functionWordShare, this.functionWordShare].toSorted((a, b) => (a ?? 0) - (b ?? 0));
    if (lower === undefined || higher === undefined) return false;
    return lower <= MAX_FOREIGN_SHARE && higher >= MIN_FUNCTION_WORD_SHARE;
  }
}

/** A sentence, an item or a row of a text, with the terms of its headings, its lead-in and the text's context. */
interface Part {
  text: string;
  terms: readonly string[];
  context: readonly string[];
}

function partsOf(content: string, about: string): Part[] {
  const segments = segmentsOf({ content, title: about, heading: null });
  let leadIn: Segment | undefined;
  return segments.map((segment, at) => {
    const before = segments[at - 1];
    if (before?.block !== segment.block) leadIn = before?.text.endsWith(":") ? before : undefined;
    const { kind, text, terms: own, headingTerms } = segment;
    const rowName = kind === "row" ? terms(text.slice(0, text.indexOf(":") + 1)) : [];
    return { text, terms: [...own], context: [...headingTerms, ...(leadIn?.terms ?? []), ...rowName] };
  });
}

function numberedClauses({ text, terms: own, context }: Part): { terms: Set<string>; numbers: string[] }[] {
  const clauses = text.split(CLAUSE_END).filter((clause) => numbersOf(clause).length > 0);
  if (clauses.length < 2) return [{ terms: new Set([...own, ...context]), numbers: numbersOf(text) }];
  return clauses.map((clause) => ({ terms: new Set([...terms(clause), ...context]), numbers: numbersOf(clause) }));
}

function wordsOf(text: string): Token[] {
  return allTokens(text).filter(({ kind, term }) => kind !== "stop" && !/^\d+(?:st|nd|rd|th)?$/.test(term));
}

/** Finds numbers and writes them in one form: `1,000`, `1000.00` and `five` become `1000`, `1000` and `5`. */
function numbersOf(text: string): string[] {
  const digits = (text.match(NUMBER) ?? []).map((number) => number.replaceAll(/[,.](?=\d{3}(?!\d))/g, "").replace(/[.,]0+$/, ""));
  const words = (text.match(NUMBER_WORD) ?? []).map((word) => String(NUMBER_WORDS.indexOf(word.toLowerCase()) + 2));
  return [...digits, ...words];
}

function emailsOf(text: string): string[] {
  const words = text.split(/\s/).filter((word) => word.includes("@"));
  return words.map((word) => word.replaceAll(EDGE_PUNCTUATION, "")).filter((word) => word.includes("@"));
}

function namesOf(sentence: string): Token[] {
  const words = [...sentence.matchAll(WORD)];
  const capitalised = words.filter(([word]) => CAPITALISED.test(word));
  const usesCapitals = capitalised.length > Math.max(2, words.length * MAX_CAPITALISED_SHARE);
  const names = words.filter(({ 0: word, index }) => {
    if (ALWAYS_NAME.test(word)) return true;
    return CAPITALISED.test(word) && !usesCapitals && !SENTENCE_START.test(sentence.slice(Math.max(0, index - 8), index));
  });
  return names.flatMap(([name]) => wordsOf(name));
}

function shareIn(all: ReadonlySet<string>, words: readonly Token[]): number {
  let total = 0;
  let found = 0;
  for (const word of words) {
    const weight = word.kind === "weak" ? WEAK_WEIGHT : 1;
    total += weight;
    if (has(all, word) || hasInflection(all, word)) found += weight;
  }
  return total === 0 ? 0 : found / total;
}

function has(all: ReadonlySet<string>, { term, parts }: Pick<Token, "term" | "parts">): boolean {
  return all.has(term) || (parts.length > 0 && parts.every((part) => all.has(part)));
}

function hasInflection(all: ReadonlySet<string>, { term }: Token): boolean {
  if (term.length < MIN_COMMON_PREFIX) return false;
  for (const other of all) {
    const needed = Math.max(MIN_COMMON_PREFIX, Math.ceil(Math.max(term.length, other.length) * MIN_PREFIX_SHARE));
    if (term.length >= needed && other.startsWith(term.slice(0, needed))) return true;
  }
  return false;
}

function functionWordShare(all: readonly Token[]): number | undefined {
  return all.length < MIN_COMPARED_WORDS ? undefined : all.filter(({ kind }) => kind === "stop").length / all.length;
}

/** The terms and numbers of a text, for `isNeutral`. */
export function knownWords(text: string): Set<string> {
  return new Set([...terms(text), ...numbersOf(text)]);
}
