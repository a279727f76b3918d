/** Returns at most the first `length` UTF-16 units of a text; a surrogate pair is never split. */
export function truncate(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

/** Returns the beginning of a text, of at most `length` UTF-16 units, and an ellipsis if that is not all of it. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${truncate(text, length).trimEnd()}…`;
}

/** Collapses a text into one line of at most `length` UTF-16 units, safe for a header or a list. */
export function toSingleLine(text: string, length: number): string {
  return truncate(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim(), length);
}

/** Returns a text's longest prefix of at most `maxBytes` bytes in UTF-8; no character is split. */
export function truncateBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = new TextEncoder().encode(text);
  // With `stream`, the decoder holds back an incomplete character at the end.
  return bytes.length <= maxBytes ? text : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

/** Returns the number of bytes of a text in UTF-8. The text must have no lone surrogates. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Half of a surrogate pair is half of four bytes.
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

const FNV_PRIME = 0x01000193;
/** The checksum of the empty text. */
export const FNV_BASIS = 0x811c9dc5;

/**
 * Returns the 32-bit FNV-1a checksum of a text's UTF-16 units. It detects mix-ups, but not attacks.
 * @param from the checksum of the text before this one, to continue it.
 */
export function fnv1a(text: string, from = FNV_BASIS): number {
  let hash = from;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** Returns the form in which emails are compared: case does not matter. */
export function normalizeEmail(email: string): string {
  return email.toLowerCase();
}

const EMAIL_PREFIX = "email:";

/** Returns the `anon_id` of a visitor who is known only by an email address. */
export function anonIdForEmail(email: string): string {
  return EMAIL_PREFIX + normalizeEmail(email);
}

/** Returns the address that `anonIdForEmail` was given; undefined for other visitors. */
export function emailOfAnonId(anonId: string): string | undefined {
  return anonId.startsWith(EMAIL_PREFIX) ? normalizeEmail(anonId.slice(EMAIL_PREFIX.length)) : undefined;
}

/**
 * Returns the number of letters to insert, delete or replace, or of neighbours to swap, that turn one text into the other
 * (Damerau-Levenshtein distance), or `limit` + 1 where it is larger.
 */
export function editDistance(a: string, b: string, limit: number): number {
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
