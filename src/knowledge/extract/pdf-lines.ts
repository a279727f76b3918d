import { cleanLine } from "./clean.ts";

/** A piece of text where it stands on its page. `y` grows upwards. */
export interface PdfItem {
  text: string;
  y: number;
  /** The font's height, in points. */
  size: number;
  endsLine: boolean;
}

export interface PdfLine {
  text: string;
  y: number;
  size: number;
}

/** The same line at the edge of this many pages, or of this share of them, is a running head. */
const MIN_REPEATED_PAGES = 3;
const MIN_REPEATED_SHARE = 0.4;
/** Lines at the top and at the bottom that may be running heads. */
const EDGE_LINES = 2;
const PAGE_NUMBER = /^(?:page|seite|p\.?)?\s*(?:[-–]\s*)?\d{1,4}(?:\s*[-–])?(?:\s*(?:of|\/|von)\s*\d{1,4})?$/i;
/** A step down of more than this many line heights begins a paragraph. */
const PARAGRAPH_STEP = 1.7;
const HEADING_RATIO = 1.15;
const MAX_HEADING_CHARS = 120;
const LIST_MARK = /^(?:[•◦▪●○■–-]|\(?\d{1,2}[.)])\s+\S/;

/** The lines of a page's items, in the order of the file. */
export function linesOf(items: Iterable<PdfItem>): PdfLine[] {
  const lines: PdfLine[] = [];
  let parts: string[] = [];
  let first: PdfItem | undefined;
  const end = (): void => {
    const text = cleanLine(parts.join(""));
    if (first && text !== "") lines.push({ text, y: first.y, size: first.size });
    parts = [];
    first = undefined;
  };
  for (const item of items) {
    if (first && Math.abs(item.y - first.y) > Math.max(first.size, item.size) / 2) end();
    if (item.text.trim() !== "") first ??= item;
    parts.push(item.text);
    if (item.endsLine) end();
  }
  end();
  return lines;
}

/** The pages without their running heads, feet and numbers. */
export function withoutRunningHeads(pages: PdfLine[][]): PdfLine[][] {
  const counts = new Map<string, number>();
  for (const page of pages) {
    for (const key of new Set(edges(page).map(({ text }) => headKey(text)))) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const least = Math.max(MIN_REPEATED_PAGES, pages.length * MIN_REPEATED_SHARE);
  return pages.map((page) => {
    const dropped = new Set(edges(page).filter(({ text }) => PAGE_NUMBER.test(text) || counts.get(headKey(text))! >= least));
    return page.filter((line) => !dropped.has(line));
  });
}

/** The text of all pages: lines joined to paragraphs, also over the end of a page; larger lines as headings. */
export function paragraphsOf(pages: PdfLine[][]): string {
  const body = bodySize(pages);
  const blocks: string[] = [];
  let last: PdfLine | undefined;
  let wasHeading = false;
  for (const line of pages.flat()) {
    const isHeading = line.size > body * HEADING_RATIO && line.text.length <= MAX_HEADING_CHARS && /\p{L}/u.test(line.text);
    const joins = last !== undefined && blocks.length > 0 && isHeading === wasHeading && continues(last, line, blocks.at(-1)!);
    if (joins) blocks.push(joined(blocks.pop()!, line.text));
    else blocks.push(isHeading ? `${line.size > body * 1.5 ? "#" : "##"} ${line.text}` : line.text);
    last = line;
    wasHeading = isHeading;
  }
  return blocks
    .reduce((text, block) => text + (LIST_MARK.test(block) && LIST_MARK.test(lastLine(text)) ? "\n" : "\n\n") + block, "")
    .trim();
}

function continues(last: PdfLine, line: PdfLine, block: string): boolean {
  if (LIST_MARK.test(line.text) || Math.abs(line.size - last.size) > 0.5) return false;
  const step = last.y - line.y;
  // A new column or page: the paragraph goes on where its sentence does.
  if (step <= 0) return !/[.!?:。]["')\]]?$/.test(block) && /^[\p{Ll}\d(]/u.test(line.text);
  return step <= Math.max(last.size, line.size) * PARAGRAPH_STEP;
}

function joined(block: string, line: string): string {
  return /\p{L}-$/u.test(block) && /^\p{Ll}/u.test(line) ? block.slice(0, -1) + line : `${block} ${line}`;
}

/** The size in which most characters are set. */
function bodySize(pages: PdfLine[][]): number {
  const counts = new Map<number, number>();
  for (const { size, text } of pages.flat()) {
    const rounded = Math.round(size * 2) / 2;
    counts.set(rounded, (counts.get(rounded) ?? 0) + text.length);
  }
  return [...counts].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0])[0];
}

function edges(page: PdfLine[]): PdfLine[] {
  return page.length <= 2 * EDGE_LINES ? page : [...page.slice(0, EDGE_LINES), ...page.slice(-EDGE_LINES)];
}

function headKey(text: string): string {
  return text.toLowerCase().replace(/\d+/g, "#");
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}
