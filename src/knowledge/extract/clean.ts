/** Zero-width spaces, soft hyphens, direction marks, invisible tag characters. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;
const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;
const LIGATURES = /[\ufb00-\ufb06]/g;

/** Removes invisible characters and normalises spaces and ligatures. */
export function cleanCharacters(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .replace(SPACES, " ")
    .replace(LIGATURES, (ligature) => ligature.normalize("NFKC"));
}

/** Cleans the characters of a text and puts it into one line. */
export function cleanLine(text: string): string {
  return cleanCharacters(text).replace(/\s+/g, " ").trim();
}

/** Removes the sign of the permalink from the end of a heading. */
export function withoutLinkSign(heading: string): string {
  return heading.replace(/(?<!\s)\s*[#¶]$/, "");
}

/** The most text of a page or file, the length of a book. */
export const MAX_TEXT_CHARS = 1024 * 1024;

/** Cuts a text that is too long at the end of a line. */
export function truncateText(text: string): { text: string; truncated: boolean } {
  if (text.length <= MAX_TEXT_CHARS) return { text, truncated: false };
  const end = text.lastIndexOf("\n", MAX_TEXT_CHARS);
  return { text: text.slice(0, end > 0 ? end : MAX_TEXT_CHARS).trimEnd(), truncated: true };
}
