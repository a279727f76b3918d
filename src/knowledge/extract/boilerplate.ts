import { blocks } from "../../text/blocks.ts";

/** The number of a source's pages, and of those that have a block. */
export interface BlockCounts {
  pages: number;
  holding: number;
}

/** On fewer pages, a repeated block may be content. */
const MIN_PAGES = 5;
const MIN_HOLDING = 4;
/** Boilerplate occurs on nearly half of all pages or more; a warning that a chapter repeats does not. */
const MIN_SHARE = 0.4;
/** Longer blocks count as content; otherwise a page that is served under several URLs would be dropped. */
const MAX_BLOCK_CHARS = 600;
/** Only the first and last blocks of a page are fingerprinted, since boilerplate is there. */
const FINGERPRINTS_PER_END = 12;

/** Returns the distinct fingerprints of a page's blocks that may be boilerplate: 64 bits in hex. */
export function blockFingerprints(text: string): string[] {
  const all = [...blocks(text)].map((block) => fingerprintOf(block.kind, block.text));
  const ends = [...all.slice(0, FINGERPRINTS_PER_END), ...all.slice(-FINGERPRINTS_PER_END)];
  return [...new Set(ends.filter((fingerprint) => fingerprint !== null))];
}

/** Whether a block occurs on enough pages to be boilerplate. */
export function isRepeated({ pages, holding }: BlockCounts): boolean {
  return pages >= MIN_PAGES && holding >= MIN_HOLDING && holding >= pages * MIN_SHARE;
}

/** Removes the boilerplate from a page's text. A heading stays if the block below it stays. */
export function dropBoilerplate(text: string, isBoilerplate: (fingerprint: string) => boolean): string {
  const all = [...blocks(text)];
  const isDropped = all.map(({ kind, text }, at) => {
    const isAtEnd = at < FINGERPRINTS_PER_END || at >= all.length - FINGERPRINTS_PER_END;
    const fingerprint = isAtEnd ? fingerprintOf(kind, text) : null;
    return fingerprint !== null && isBoilerplate(fingerprint);
  });
  // "Note" and "Example" are headings on many pages: a heading is boilerplate only together with the text below it.
  for (let at = all.length - 1; at >= 0; at--) {
    if (all[at]!.kind === "heading" && at + 1 < all.length && !isDropped[at + 1]) isDropped[at] = false;
  }
  const kept = all.filter((_, at) => !isDropped[at]);
  if (kept.length === all.length) return text;
  return kept.map(({ kind, text, level }) => (kind === "heading" ? `${"#".repeat(level)} ${text}` : text)).join("\n\n");
}

/** Returns two rolling 32-bit hashes of a block, ignoring case and spaces; null for a block that cannot be boilerplate. */
function fingerprintOf(kind: string, text: string): string | null {
  if (text.length > MAX_BLOCK_CHARS || kind === "code") return null;
  let one = 0x811c9dc5;
  let two = 0x01000193;
  for (const character of text.toLowerCase().replace(/\s+/g, " ").trim()) {
    const code = character.codePointAt(0)!;
    one = Math.imul(one ^ code, 0x01000193);
    two = Math.imul(two ^ (code + 0x9e37), 0x85ebca6b);
  }
  return hex(one) + hex(two);
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}
