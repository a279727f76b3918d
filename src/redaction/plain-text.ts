/** A text in the form in which it is searched, and where each of its UTF-16 units comes from. */
export interface PlainText {
  text: string;
  /** The start in the original of each unit. */
  startOf: (at: number) => number;
  /** The end in the original of each unit, with the characters that are left out after it. */
  endOf: (at: number) => number;
}

// oxlint-disable-next-line no-control-regex -- all of ASCII
const ASCII_ONLY = /^[\0-\x7f]*$/;
/** Characters that are not seen: zero width spaces and joiners, soft hyphens, variation selectors, fillers. */
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{Cf}]$/u;
const DIGIT = /^\p{Nd}$/u;
const MARK = /^\p{M}$/u;
const DASH = /^[\p{Pd}\u2212]$/u;
const SPACE = /^[\p{Zs}\u2800]$/u;

/**
 * Writes digits of all scripts and widths as 0 to 9, letters of all widths as plain ones, all dashes as "-" and all spaces as " ", and leaves
 * out what is not seen. A number is then found however it is spelled.
 */
export function toPlainText(original: string): PlainText {
  if (ASCII_ONLY.test(original)) return { text: original, startOf: (at) => at, endOf: (at) => at + 1 };
  let text = "";
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of original) {
    const end = at + character.length;
    const plain = plainOf(character, text);
    // What is left out belongs to the unit before it.
    if (plain === "" && ends.length > 0) ends[ends.length - 1] = end;
    for (let unit = 0; unit < plain.length; unit++) {
      starts.push(at);
      ends.push(end);
    }
    text += plain;
    at = end;
  }
  return { text, startOf: (unit) => starts[unit]!, endOf: (unit) => ends[unit]! };
}

/** @param before the plain text before the character. */
function plainOf(character: string, before: string): string {
  if (character < "\x80") return character;
  if (INVISIBLE.test(character)) return "";
  if (DIGIT.test(character)) return String(digitOf(character.codePointAt(0)!));
  // Marks that underline or enclose a digit.
  if (MARK.test(character)) return /\d$/.test(before) ? "" : character;
  if (DASH.test(character)) return "-";
  if (SPACE.test(character)) return " ";
  return character.normalize("NFKC");
}

/** The value of a decimal digit. The digits of a script follow each other; some scripts have several sets of them, one after the other. */
function digitOf(codePoint: number): number {
  let zero = codePoint;
  while (DIGIT.test(String.fromCodePoint(zero - 1))) zero--;
  return (codePoint - zero) % 10;
}
