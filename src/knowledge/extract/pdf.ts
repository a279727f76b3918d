import { getDocumentProxy } from "unpdf";
import { cleanLine, truncateText } from "./clean.ts";
import { canonicalOfHeader, titleOfUrl } from "./page-head.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import type { Extraction, FetchedResponse } from "./response.ts";
import { decompressed } from "./unpack.ts";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

/** So many pages take about ten seconds; the text of more would be truncated anyway. */
const MAX_PAGES = 500;
const MAX_PAGE_ITEMS = 50_000;
/** A file with fewer letters consists of scanned pages. */
const MIN_LETTERS = 20;
/** Default titles of word processors. */
const NO_TITLE =
  /^(?:untitled|document\d*|microsoft (?:word|powerpoint|excel)\b.*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|odt|pdf)|slide \d+)$/i;

/** Reads a PDF's text, page by page. Encrypted, damaged, scanned and huge PDFs are skipped. */
export async function extractPdf(response: FetchedResponse): Promise<Extraction> {
  if (await isBomb(response.bytes)) return { kind: "skipped", reason: "pdf_too_large" };
  let document: PdfDocument;
  try {
    // The parser detaches the buffer, so it gets a copy.
    document = await getDocumentProxy(response.bytes.slice(), { disableFontFace: true, verbosity: 0, maxImageSize: 1 });
  } catch (error) {
    const isEncrypted = error instanceof Error && error.name === "PasswordException";
    return { kind: "skipped", reason: isEncrypted ? "pdf_encrypted" : "pdf_damaged" };
  }
  try {
    return await read(document, response);
  } catch {
    return { kind: "skipped", reason: "pdf_damaged" };
  } finally {
    await document.loadingTask.destroy();
  }
}

async function read(document: PdfDocument, { url, headers }: FetchedResponse): Promise<Extraction> {
  const count = Math.min(document.numPages, MAX_PAGES);
  const pages: PdfLine[][] = [];
  for (let number = 1; number <= count; number++) pages.push(await linesOfPage(document, number));
  const { text, truncated } = truncateText(paragraphsOf(withoutRunningHeads(pages)));
  if ((text.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS) return { kind: "skipped", reason: "pdf_without_text" };
  return {
    kind: "page",
    title: await titleOf(document, url, text),
    canonicalUrl: canonicalOfHeader(headers, url),
    ...directivesOfHeader(headers.get("x-robots-tag")),
    text,
    links: [],
    truncated: truncated || document.numPages > count,
  };
}

async function linesOfPage(document: PdfDocument, number: number): Promise<PdfLine[]> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return linesOf(items.slice(0, MAX_PAGE_ITEMS).flatMap((item) => ("str" in item ? [itemOf(item)] : [])));
  } catch {
    // The other pages may be readable.
    return [];
  }
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

/** The most bytes that all streams together may unpack to. A manual of a thousand pages has a tenth of it. */
const MAX_UNPACKED_BYTES = 48 * 1024 * 1024;
/** LZW expands up to a thousand times and cannot be measured cheaply, but it is obsolete and rare. */
const MAX_LZW_BYTES = 64 * 1024;
/** The pieces are small, since a failing stream loses the output of the last two. */
const PIECE_BYTES = 512;
/** The most bytes that two pieces unpack to, which are added for a damaged stream. */
const LOST_BYTES = 2 * PIECE_BYTES * 1032;
const DICTIONARY_REACH = 400;

/** Whether a PDF's streams unpack to more than the limit. Takes time linear in the unpacked size, up to the limit. */
async function isBomb(bytes: Uint8Array): Promise<boolean> {
  // This encoding has one character for each byte.
  const text = new TextDecoder("windows-1252").decode(bytes);
  let unpacked = 0;
  for (let at = text.indexOf("stream"); at >= 0; at = text.indexOf("stream", at + 6)) {
    if (text.startsWith("end", at - 3)) continue;
    const start = at + (text[at + 6] === "\r" ? 8 : 7);
    const found = text.indexOf("endstream", start);
    const end = found < 0 ? bytes.length : found;
    if (isLzw(text, at) && end - start > MAX_LZW_BYTES) return true;
    if (!isZlib(bytes, start)) continue;
    unpacked += await unpackedSize(bytes, start, end, MAX_UNPACKED_BYTES - unpacked);
    if (unpacked >= MAX_UNPACKED_BYTES) return true;
    at = Math.max(at, end - 6);
  }
  return false;
}

/** Returns the unpacked size of a stream, up to `most`. The line break before its end may be part of it. */
async function unpackedSize(bytes: Uint8Array, start: number, end: number, most: number): Promise<number> {
  const last = bytes[end - 1] === 10 ? end - (bytes[end - 2] === 13 ? 2 : 1) : end;
  for (const to of last === end ? [end] : [last, end]) {
    const size = await sizeOf(bytes.subarray(start, to), most);
    if (size !== null) return size;
  }
  // The end marker may be part of the data, so the rest of the file is unpacked as far as possible.
  return LOST_BYTES + ((await sizeOf(bytes.subarray(start), most, true)) ?? 0);
}

/** Null for a damaged stream, unless `countsDamaged`: then its size up to the damage. A stream that is packed twice counts as `most`. */
async function sizeOf(packed: Uint8Array, most: number, countsDamaged = false): Promise<number | null> {
  let size = 0;
  try {
    for await (const piece of decompressed(pieces(packed), "deflate")) {
      if (size === 0 && piece.length > PIECE_BYTES && isZlib(piece, 0)) return most;
      size += piece.length;
      if (size >= most) return most;
    }
    return size;
  } catch {
    return countsDamaged ? size : null;
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

function isZlib(bytes: Uint8Array, at: number): boolean {
  const method = bytes[at] ?? 0;
  return (method & 0x0f) === 8 && method >> 4 <= 7 && (method * 256 + (bytes[at + 1] ?? 0)) % 31 === 0;
}

function isLzw(text: string, streamAt: number): boolean {
  return /\/LZW(?:Decode)?\b/.test(text.slice(Math.max(0, streamAt - DICTIONARY_REACH), streamAt));
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
const MIN_REPEATED_SHARE = 0.4;
/** The number of lines at the top and at the bottom that may be running heads. */
const EDGE_LINES = 2;
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

/** Removes running heads, feet and page numbers. */
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

/** Joins the lines of all pages to paragraphs, across the end of a page too. Lines in a larger font become headings. */
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
  // In a new column or page, the paragraph continues if its sentence does.
  if (step <= 0) return !/[.!?:。]["')\]]?$/.test(block) && /^[\p{Ll}\d(]/u.test(line.text);
  return step <= Math.max(last.size, line.size) * PARAGRAPH_STEP;
}

function joined(block: string, line: string): string {
  return /\p{L}-$/u.test(block) && /^\p{Ll}/u.test(line) ? block.slice(0, -1) + line : `${block} ${line}`;
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

function headKey(text: string): string {
  return text.toLowerCase().replace(/\d+/g, "#");
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}
