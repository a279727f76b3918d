/** The fields of a lead that a search looks in. */
export interface Searchable {
  name: string | null;
  email: string | null;
  phone: string | null;
  customFields: Record<string, unknown>;
}

/** A lead's searchable fields, normalized for comparison. */
export interface SearchText {
  /** All fields, folded and joined with a separator that no folded text contains. */
  text: string;
  /** The digits of the phone number. */
  digits: string;
}

/** The text to find: a substring of `text` or, unless it is null, of `digits`. */
export interface SearchTerm {
  text: string;
  digits: string | null;
}

/** The index looks up only the rarest trigrams of a longer term, since some trigrams are in every lead. */
const MAX_TRIGRAMS = 4;

const FIELD_SEPARATOR = "\u001f";
/** The first character of the mark by which the index distinguishes agents. */
export const AGENT_MARK = "\u001e";
/** Characters that folded text replaces by U+FFFD, so that a term never matches two fields together or the mark of an agent. */
const RESERVED = new RegExp(`[\\0${AGENT_MARK}${FIELD_SEPARATOR}]`, "g");

/** Characters that separate the digits of a formatted phone number. */
const PHONE_PUNCTUATION = /[\s+()/.–-]/gu;
/** A formatted query with fewer digits is a date or a range rather than a phone number. */
const MIN_FORMATTED_DIGITS = 5;

/** Returns the searchable text of a lead. */
export function toSearchText({ name, email, phone, customFields }: Searchable): SearchText {
  const fields = [name, email, phone, ...leavesOf(customFields)];
  const folded = fields.map((field) => fold(field ?? "")).filter((field) => field !== "");
  return { text: folded.join(FIELD_SEPARATOR), digits: digitsOf(phone ?? "") };
}

/** Returns the term of a query. A query of only digits, or one that is formatted as a phone number, also matches the digits of phones. */
export function toSearchTerm(query: string): SearchTerm {
  const digits = digitsOf(query);
  const isDigits = /^\p{Nd}+$/u.test(query);
  const isPhone = digits.length >= MIN_FORMATTED_DIGITS && /^\p{Nd}+$/u.test(query.replace(PHONE_PUNCTUATION, ""));
  return { text: fold(query), digits: isDigits || isPhone ? digits : null };
}

/** Whether a lead's text contains the term. */
export function contains({ text, digits }: SearchText, term: SearchTerm): boolean {
  return text.includes(term.text) || (term.digits !== null && digits.includes(term.digits));
}

/** Returns an FTS5 expression that matches exactly the leads that contain the term. */
export function exactMatch({ text, digits }: SearchTerm): string {
  return eitherColumn(quote(text), digits && quote(digits));
}

/**
 * Returns an FTS5 expression that matches the leads that contain the term and few others. It is fast for long and rare terms.
 * @param sample some leads, from which it is estimated how common a trigram is.
 */
export function candidateMatch({ text, digits }: SearchTerm, sample: readonly SearchText[]): string {
  const inTexts = rarestTrigrams(text, (trigram) => sample.filter((lead) => lead.text.includes(trigram)).length);
  const inDigits = digits && rarestTrigrams(digits, (trigram) => sample.filter((lead) => lead.digits.includes(trigram)).length);
  return eitherColumn(inTexts, inDigits);
}

/** Whether the term is long enough for the trigram index. */
export function hasTrigrams({ text }: SearchTerm): boolean {
  return trigramsOf(text).length > 0;
}

function eitherColumn(inTexts: string, inDigits: string | null): string {
  return `(text : ${inTexts}${inDigits === null ? "" : ` OR digits : ${inDigits}`})`;
}

function rarestTrigrams(phrase: string, countOf: (trigram: string) => number): string {
  const counted = trigramsOf(phrase).map((trigram) => ({ trigram, count: countOf(trigram) }));
  const rarest = counted.sort((a, b) => a.count - b.count).slice(0, MAX_TRIGRAMS);
  return `(${rarest.map(({ trigram }) => quote(trigram)).join(" AND ")})`;
}

function trigramsOf(phrase: string): string[] {
  const characters = Array.from(phrase);
  return [...new Set(characters.slice(2).map((_, start) => characters.slice(start, start + 3).join("")))];
}

function quote(phrase: string): string {
  return `"${phrase.replaceAll('"', '""')}"`;
}

/** Normalizes a text so that differences in case and in the composition of accents do not matter. */
function fold(text: string): string {
  // Upper case comes first, since it maps ß to SS and ı to I. Lower-casing İ leaves a combining dot, which is removed.
  const lower = text.toWellFormed().toUpperCase().toLowerCase().normalize("NFC").replaceAll("i\u0307", "i");
  // The form of a final sigma depends on its place in the word, which a substring does not show.
  return lower.replaceAll("ς", "σ").replace(RESERVED, "\ufffd");
}

/** Returns the names and values of nested fields. It does not recurse, because callers decide how deeply fields are nested. */
function leavesOf(customFields: Record<string, unknown>): string[] {
  const leaves: string[] = [];
  const stack: unknown[] = [customFields];
  while (stack.length > 0) {
    const value = stack.pop();
    if (value === null || value === undefined) continue;
    if (Array.isArray(value)) stack.push(...(value as unknown[]));
    else if (typeof value === "object") {
      leaves.push(...Object.keys(value));
      stack.push(...Object.values(value));
    } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") leaves.push(String(value));
  }
  return leaves;
}

/** Returns the decimal digits of a text. Digits of other scripts are converted to 0–9. */
function digitsOf(text: string): string {
  return Array.from(text.matchAll(/\p{Nd}/gu), ([digit]) => valueOf(digit)).join("");
}

/** Returns the value of a digit. Unicode encodes the ten digits of each script consecutively, starting with zero. */
function valueOf(digit: string): number {
  const codePoint = digit.codePointAt(0)!;
  let zero = codePoint;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (codePoint - zero) % 10;
}
