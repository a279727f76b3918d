import { getDocumentProxy } from "unpdf";
import { cleanLine, truncateText } from "./clean.ts";
import { canonicalOfHeader } from "./html-head.ts";
import { linesOf, paragraphsOf, type PdfItem, type PdfLine, withoutRunningHeads } from "./pdf-lines.ts";
import type { Extraction, FetchedResponse } from "./response.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import { titleOfUrl } from "./title.ts";
import { decompressed } from "./unpack.ts";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

/** About ten seconds of work; the text of more pages would be cut anyway. */
const MAX_PAGES = 500;
const MAX_PAGE_ITEMS = 50_000;
/** Fewer letters than this a file: pictures of pages, with at most a stamp. */
const MIN_LETTERS = 20;
/** What word processors write for a title. */
const NO_TITLE =
  /^(?:untitled|document\d*|microsoft (?:word|powerpoint|excel)\b.*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|odt|pdf)|slide \d+)$/i;

/** Reads a PDF's text, page by page. Skipped: encrypted, damaged, scanned and huge ones. */
export async function extractPdf(response: FetchedResponse): Promise<Extraction> {
  if (await isBomb(response.bytes)) return { kind: "skipped", reason: "pdf_too_large" };
  let document: PdfDocument;
  try {
    // The reader takes the bytes over, so it gets its own.
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
    // One damaged page leaves the others readable.
    return [];
  }
}

function itemOf(item: { str: string; transform: number[]; height: number; hasEOL: boolean }): PdfItem {
  const [, , c = 0, d = 0, , y = 0] = item.transform;
  return { text: item.str, y, size: Math.hypot(c, d), endsLine: item.hasEOL };
}

/** The title of its metadata, else its first heading, else its file's name. */
async function titleOf(document: PdfDocument, url: string, text: string): Promise<string> {
  const info: unknown = (await document.getMetadata()).info;
  const named = typeof info === "object" && info !== null && "Title" in info && typeof info.Title === "string" ? cleanLine(info.Title) : "";
  if (named.length > 2 && !NO_TITLE.test(named)) return named.slice(0, 300).toWellFormed();
  return /^# (.+)/.exec(text)?.[1] ?? titleOfUrl(url);
}

/** What a reader of PDFs would unpack into memory, all streams together: a manual of a thousand pages has a tenth. */
const MAX_UNPACKED_BYTES = 48 * 1024 * 1024;
/** LZW unpacks to as much as a thousand times, and cannot be tried cheaply: it is thirty years old and rare. */
const MAX_LZW_BYTES = 64 * 1024;
/** Small, since what a failing stream has unpacked of its last two pieces is lost. */
const PIECE_BYTES = 512;
/** As much as two pieces can unpack to: what a damaged stream is taken to hold beside what it gave. */
const LOST_BYTES = 2 * PIECE_BYTES * 1032;
const DICTIONARY_REACH = 400;

/** Whether a PDF's streams unpack to more than memory should be given for them. Takes time linear in what they unpack to, up to that. */
async function isBomb(bytes: Uint8Array): Promise<boolean> {
  // One character a byte, whatever it shows.
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

/** How much a stream unpacks to, up to `most`. The line break before its end may be its own. */
async function unpackedSize(bytes: Uint8Array, start: number, end: number, most: number): Promise<number> {
  const last = bytes[end - 1] === 10 ? end - (bytes[end - 2] === 13 ? 2 : 1) : end;
  for (const to of last === end ? [end] : [last, end]) {
    const size = await sizeOf(bytes.subarray(start, to), most);
    if (size !== null) return size;
  }
  // Its end may be no end: all that follows may be its, as far as it can be unpacked.
  return LOST_BYTES + ((await sizeOf(bytes.subarray(start), most, true)) ?? 0);
}

/** Null for a damaged stream, unless what it gave until then is to count. One that is packed twice is as large as can be. */
async function sizeOf(packed: Uint8Array, most: number, isDamagedToo = false): Promise<number | null> {
  let size = 0;
  try {
    for await (const piece of decompressed(pieces(packed), "deflate")) {
      if (size === 0 && piece.length > PIECE_BYTES && isZlib(piece, 0)) return most;
      size += piece.length;
      if (size >= most) return most;
    }
    return size;
  } catch {
    return isDamagedToo ? size : null;
  }
}

// The stream that takes them is asynchronous.
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
