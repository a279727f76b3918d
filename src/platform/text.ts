/** The first `length` UTF-16 units of a text, without half a character at its end. */
export function firstOf(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

/** The first `length` units of a text, on one line: it may stand in a header or in a list. */
export function oneLineOf(text: string, length: number): string {
  return firstOf(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim(), length);
}

/** A text's beginning that is at most so many bytes long in UTF-8, without a part of a character at its end. */
export function firstBytesOf(text: string, maxBytes: number): string {
  // No character of JavaScript's takes more than three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = new TextEncoder().encode(text);
  // What is left of a character that was cut is held back for bytes that do not come.
  return bytes.length <= maxBytes ? text : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

/** The form of an email by which a person is found: an address is theirs in any case of its letters. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase();
}

const WRITER = "email:";

/** By what a person is known of whom there is a mail and nothing else. */
export function anonIdOf(email: string): string {
  return WRITER + emailKeyOf(email);
}

/** The address by which such a person is known; undefined for others. */
export function addressIn(anonId: string): string | undefined {
  return anonId.startsWith(WRITER) ? emailKeyOf(anonId.slice(WRITER.length)) : undefined;
}
