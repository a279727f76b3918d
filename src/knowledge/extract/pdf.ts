import { getDocumentProxy } from "unpdf";
import { cleanLine, MAX_TEXT_CHARS, truncateText } from "./clean.ts";
import { canonicalOfHeader, titleOfUrl } from "./page-head.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import type { Extraction, FetchedResponse } from "./response.ts";
import { type PdfCopy, textCopy } from "../pdf/copy.ts";
import { decryptStreams, PARSER_OPTIONS } from "../pdf/decrypt.ts";
import { PdfFile } from "../pdf/file.ts";
import { PdfTooLargeError } from "../pdf/values.ts";
import { pacer } from "../../platform/time.ts";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

/** The most pieces of text that are read of a page. */
const MAX_PAGE_ITEMS = 50_000;
/** A file with fewer letters consists of scanned pages. */
const MIN_LETTERS = 20;
/** Default titles of word processors. */
const NO_TITLE =
  /^(?:untitled|document\d*|microsoft (?:word|powerpoint|excel)\b.*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|odt|pdf)|slide \d+)$/i;

/**
 * Reads a PDF's text, page by page, from a copy that has only what the text needs. Damaged and scanned PDFs, those that need a
 * password, and those that take more work or memory than one file may are skipped.
 */
export async function extractPdf(response: FetchedResponse): Promise<Extraction> {
  let document: PdfDocument | undefined;
  try {
    const { bytes, isTruncated } = await copyOf(response.bytes);
    document = await getDocumentProxy(bytes, PARSER_OPTIONS);
    return await read(document, isTruncated, response);
  } catch (error) {
    if (error instanceof PdfTooLargeError) return { kind: "skipped", reason: "pdf_too_large" };
    const isEncrypted = error instanceof Error && error.name === "PasswordException";
    return { kind: "skipped", reason: isEncrypted ? "pdf_encrypted" : "pdf_damaged" };
  } finally {
    await document?.loadingTask.destroy();
  }
}

/** Copies what the text needs. The rest of the file is released when this returns. */
async function copyOf(bytes: Uint8Array): Promise<PdfCopy> {
  const file = await PdfFile.open(bytes);
  if (file.isEncrypted()) await decryptStreams(file);
  return textCopy(file);
}

async function read(document: PdfDocument, isTruncated: boolean, { url, headers }: FetchedResponse): Promise<Extraction> {
  const pages: PdfLine[][] = [];
  const pause = pacer();
  let chars = 0;
  for (let number = 1; number <= document.numPages && chars <= 2 * MAX_TEXT_CHARS; number++) {
    const lines = await linesOfPage(document, number);
    for (const line of lines) chars += line.text.length;
    pages.push(lines);
    await pause();
  }
  const { text, truncated } = truncateText(paragraphsOf(withoutRunningHeads(pages)));
  if ((text.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS) return { kind: "skipped", reason: "pdf_without_text" };
  return {
    kind: "page",
    title: await titleOf(document, url, text),
    canonicalUrl: canonicalOfHeader(headers, url),
    ...directivesOfHeader(headers.get("x-robots-tag")),
    text,
    links: [],
    truncated: (truncated || isTruncated) && "length",
  };
}

async function linesOfPage(document: PdfDocument, number: number): Promise<PdfLine[]> {
  const items: PdfItem[] = [];
  let chars = 0;
  try {
    const page = await document.getPage(number);
    const reader = page.streamTextContent().getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      for (const item of next.value.items) {
        if (!("str" in item)) continue;
        items.push(itemOf(item));
        chars += item.str.length;
      }
      if (items.length > MAX_PAGE_ITEMS || chars > MAX_TEXT_CHARS) await reader.cancel(new Error("The page has too many pieces of text"));
    }
    page.cleanup();
  } catch {
    // The other pages may be readable.
  }
  return linesOf(items);
}

function itemOf(item: { str: string; transform: number[]; height: number; hasEOL: boolean }): PdfItem {
  const [, , c = 0, d = 0, , y = 0] = item.transform;
  return { text: item.str, y, size: Math.hypot(c, d), endsLine: item.hasEOL };
}

/** The title from the metadata, otherwise the first heading or the name of the file. */
async function titleOf(document: PdfDocument, url: string, text: string): Promise<string> {
  const info: unknown = (await document.getMetadata()).info;
  const named = typeof info === "object" && info !== null && "Title" in info && typeof info.Title === "string" ? cleanLine(info.Title) : "";
  if (named.length > 2 && !NO_TITLE.test(named)) return named.slice(0, 300).toWellFormed();
  return /^# (.+)/.exec(text)?.[1] ?? titleOfUrl(url);
}

/** A piece of text with its position on the page. `y` grows upwards. */
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

/** A line at the edge of this many pages, and of this share of all pages, is a running head. */
const MIN_REPEATED_PAGES = 3;
const MIN_NUMBERED_PAGES = 2;
const MIN_REPEATED_SHARE = 0.4;
/** The number of lines at the top and at the bottom that may be running heads. */
const EDGE_LINES = 2;
/** A longer line is a part of a paragraph. */
const MAX_RUNNING_HEAD_CHARS = 200;
/** A line that is nothing but a page number, which two pages suffice for. */
const PAGE_NUMBER = /^(?:page|seite|p\.?)?\s*(?:[-–]\s*)?\d{1,4}(?:\s*[-–])?(?:\s*(?:of|\/|von)\s*\d{1,4})?$/i;
/** A gap of more than this many line heights begins a paragraph. */
const PARAGRAPH_STEP = 1.7;
const HEADING_RATIO = 1.15;
const MAX_HEADING_CHARS = 120;
const LIST_MARK = /^(?:[•◦▪●○■–-]|\(?\d{1,2}[.)])\s+\S/;

/** Joins the items of a page to lines, in the order of the file. */
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

/**
 * Removes running heads, feet and page numbers: the lines at the edge of a page that repeat on many pages, up to the first one that does
 * not. Numbers count as equal only where they grow with the pages, since a price list repeats the words around its prices.
 */
export function withoutRunningHeads(pages: PdfLine[][]): PdfLine[][] {
  const body = bodySize(pages);
  const counts = new Map<string, number>();
  for (const [at, page] of pages.entries()) {
    const keys = edges(page).flatMap((line) => [line.text.toLowerCase(), ...numberedKeys(line, at, body)]);
    for (const key of new Set(keys)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const least = Math.max(MIN_REPEATED_PAGES, pages.length * MIN_REPEATED_SHARE);
  const isHead = (line: PdfLine, at: number): boolean => {
    const leastNumbered = PAGE_NUMBER.test(line.text) ? MIN_NUMBERED_PAGES : least;
    const isNumbered = numberedKeys(line, at, body).some((key) => counts.get(key)! >= leastNumbered);
    return isNumbered || counts.get(line.text.toLowerCase())! >= least;
  };
  return pages.map((page, at) => {
    let from = 0;
    let to = page.length;
    while (from < Math.min(EDGE_LINES, to) && isHead(page[from]!, at)) from++;
    while (to > Math.max(from, page.length - EDGE_LINES) && isHead(page[to - 1]!, at)) to--;
    return page.slice(from, to);
  });
}

/** Joins the lines of all pages to paragraphs, across the end of a page too. Lines in a larger font become headings. */
export function paragraphsOf(pages: PdfLine[][]): string {
  const body = bodySize(pages);
  const blocks: string[] = [];
  /** The parts of the last block, since a string that grows line by line would be copied for each line. */
  let parts: string[] = [];
  let last: PdfLine | undefined;
  let wasHeading = false;
  const end = (): void => {
    if (parts.length > 0) blocks.push(parts.join(""));
    parts = [];
  };
  for (const line of pages.flat()) {
    const isHeading = line.size > body * HEADING_RATIO && line.text.length <= MAX_HEADING_CHARS && /\p{L}/u.test(line.text);
    if (last && isHeading === wasHeading && continues(last, line)) join(parts, line.text);
    else {
      end();
      if (isHeading) parts.push(line.size > body * 1.5 ? "# " : "## ");
      parts.push(line.text);
    }
    last = line;
    wasHeading = isHeading;
  }
  end();
  const isItem = (at: number) => LIST_MARK.test(blocks[at] ?? "");
  return blocks.map((block, at) => (at === 0 ? block : `${isItem(at) && isItem(at - 1) ? "\n" : "\n\n"}${block}`)).join("");
}

function continues(last: PdfLine, line: PdfLine): boolean {
  if (LIST_MARK.test(line.text) || Math.abs(line.size - last.size) > 0.5) return false;
  const step = last.y - line.y;
  // In a new column or page, the paragraph continues if its sentence does.
  if (step <= 0) return !/[.!?:。]["')\]]?$/.test(last.text.slice(-2)) && /^[\p{Ll}\d(]/u.test(line.text);
  return step <= Math.max(last.size, line.size) * PARAGRAPH_STEP;
}

/** Adds a line to a block. A word that was divided becomes whole. */
function join(parts: string[], line: string): void {
  const before = parts.at(-1)!;
  const isDivided = /\p{L}-$/u.test(before.slice(-3)) && /^\p{Ll}/u.test(line);
  if (isDivided) parts[parts.length - 1] = before.slice(0, -1);
  parts.push(isDivided ? line : ` ${line}`);
}

/** The font size of most characters. */
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

/**
 * Returns the forms of a line in which one number is replaced by its distance from the page's index. A page number has the same distance on
 * all pages. A line in a font as large as that of headings has no such form, because its number may be that of a chapter.
 */
function numberedKeys({ text, size }: PdfLine, page: number, body: number): string[] {
  if (text.length > MAX_RUNNING_HEAD_CHARS || size > body * HEADING_RATIO) return [];
  return Array.from(text.toLowerCase().matchAll(/\d+/g), ({ 0: digits, index, input }) => {
    return `${input.slice(0, index)}#${Number(digits) - page}${input.slice(index + digits.length)}`;
  });
}
