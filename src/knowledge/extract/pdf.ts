import { getDocumentProxy } from "unpdf";
import { directivesOfHeader } from "../crawl/directives.ts";
import { cleanLine } from "./clean.ts";
import { canonicalOfHeader } from "./html-page.ts";
import { isBomb } from "./pdf-guard.ts";
import { linesOf, paragraphsOf, type PdfItem, type PdfLine, withoutRunningHeads } from "./pdf-lines.ts";
import type { Extraction, FetchedResponse } from "./response.ts";
import { bounded } from "./text-page.ts";
import { titleOfUrl } from "./title.ts";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

/** The reader holds the file and what it unpacks in memory, of which an isolate has 128 MB. */
const MAX_PDF_BYTES = 16 * 1024 * 1024;
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
  if (response.bytes.length > MAX_PDF_BYTES || (await isBomb(response.bytes))) return { kind: "skipped", reason: "pdf_too_large" };
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
  const { text, truncated } = bounded(paragraphsOf(withoutRunningHeads(pages)));
  if ((text.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS) return { kind: "skipped", reason: "pdf_without_text" };
  return {
    kind: "page",
    title: await titleOf(document, url, text),
    canonicalUrl: canonicalOfHeader(headers, url),
    ...directivesOfHeader(headers.get("x-robots-tag")),
    language: null,
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
