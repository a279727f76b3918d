/** What of a lead is searched. */
export interface Searchable {
  name: string | null;
  email: string | null;
  phone: string | null;
  customFields: Record<string, unknown>;
}

/** A lead's searched fields in the form in which they are compared. */
export interface SearchText {
  /** All fields, folded, with a separator between them that no folded text contains. */
  text: string;
  /** The digits of the phone number. */
  digits: string;
}

/** What is looked for: the text in any field, or the digits in the phone number's. */
export interface Needle {
  text: string;
  digits: string | null;
}

/** Characters that the index uses for itself; a text that contains one has U+FFFD in its place. */
export const FIELD_SEPARATOR = "\u001f";
export const AGENT_MARK = "\u001e";
const RESERVED = new RegExp(`[\\0${FIELD_SEPARATOR}${AGENT_MARK}]`, "g");

/** What stands between the digits of a written phone number. */
const PHONE_PUNCTUATION = /[\s+()/.–-]/gu;
/** A query with punctuation and fewer digits than this is a date or a range rather than a phone number. */
const MIN_FORMATTED_DIGITS = 5;

/** The searched text of a lead. */
export function toSearchText({ name, email, phone, customFields }: Searchable): SearchText {
  const fields = [name, email, phone, ...leavesOf(customFields)];
  const folded = fields.map((field) => fold(field ?? "")).filter((field) => field !== "");
  return { text: folded.join(FIELD_SEPARATOR), digits: digitsOf(phone ?? "") };
}

/** What a query looks for. One of digits alone, or written as a phone number, also looks for its digits. */
export function toNeedle(query: string): Needle {
  const digits = digitsOf(query);
  const isDigits = /^\p{Nd}+$/u.test(query);
  const isPhone = digits.length >= MIN_FORMATTED_DIGITS && /^\p{Nd}+$/u.test(query.replace(PHONE_PUNCTUATION, ""));
  return { text: fold(query), digits: isDigits || isPhone ? digits : null };
}

/** Whether a lead's text holds what is looked for. */
export function contains({ text, digits }: SearchText, needle: Needle): boolean {
  return text.includes(needle.text) || (needle.digits !== null && digits.includes(needle.digits));
}

/** Texts that differ in case or in how their accents are composed become the same. */
function fold(text: string): string {
  // By way of capitals, where ß and ss, ı and i become one; the dot is what then tells İ from I.
  const lower = text.toWellFormed().toUpperCase().toLowerCase().normalize("NFC").replaceAll("i\u0307", "i");
  // A final sigma is one by its place in the word, so a part of a word would not match it.
  return lower.replaceAll("ς", "σ").replace(RESERVED, "\ufffd");
}

/** The names and values of nested fields. A loop, since a caller decides how deep they are nested. */
function leavesOf(customFields: Record<string, unknown>): string[] {
  const found: string[] = [];
  const left: unknown[] = [customFields];
  while (left.length > 0) {
    const value = left.pop();
    if (value === null || value === undefined) continue;
    if (Array.isArray(value)) left.push(...(value as unknown[]));
    else if (typeof value === "object") {
      found.push(...Object.keys(value));
      left.push(...Object.values(value));
    } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") found.push(String(value));
  }
  return found;
}

/** The digits of a text, those of other scripts as 0 to 9. */
function digitsOf(text: string): string {
  return Array.from(text.matchAll(/\p{Nd}/gu), ([digit]) => valueOf(digit)).join("");
}

/** Unicode keeps the ten digits of a script in a row, from zero. */
function valueOf(digit: string): number {
  const codePoint = digit.codePointAt(0)!;
  let zero = codePoint;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (codePoint - zero) % 10;
}
