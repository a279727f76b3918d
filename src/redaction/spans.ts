/** A part of a text. */
export interface Span {
  start: number;
  end: number;
}

export const isDigit = (character: string | undefined) => character !== undefined && character >= "0" && character <= "9";

export const isLetter = (character: string | undefined) => character !== undefined && /^[A-Za-z]$/.test(character);

/** The most characters that separate two groups of one number: a line break with some spaces. */
const MAX_SEPARATOR_LENGTH = 4;
const SEPARATORS = " \t\r\n-._";

/** Returns the position after the separator at a position. It is the position itself if none is there, or one that is too long. */
export function skipSeparator(text: string, at: number): number {
  let end = at;
  while (end < text.length && SEPARATORS.includes(text[end]!)) end++;
  return end - at > MAX_SEPARATOR_LENGTH ? at : end;
}
