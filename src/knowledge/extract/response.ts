/** The most text that a source holds, in UTF-8. */
export const MAX_TEXT_BYTES = 5 * 1024 * 1024;

/** A response that the crawler has read. */
export interface FetchedResponse {
  /** The URL after redirects. */
  url: string;
  headers: Headers;
  bytes: Uint8Array;
}

/** A link of a page: absolute, http or https, not yet normalised. */
export interface PageLink {
  url: string;
  nofollow: boolean;
}

export interface ExtractedPage {
  kind: "page";
  title: string;
  /** The canonical URL that the page names. */
  canonicalUrl: string | null;
  /** Whether the page may not be indexed; its links may still be followed. */
  noindex: boolean;
  /** Whether none of its links may be followed. */
  nofollow: boolean;
  /** Markdown, as `chunks` reads it; empty if the page has only links. */
  text: string;
  links: PageLink[];
  truncated: Truncation;
}

/** The limit that was reached, so that only the beginning of the page was read: of its length, or of its elements and attributes. */
export type Truncation = false | "length" | "structure";

/** The reasons why a response holds no page. Callers see these codes. */
export type SkipReason = "unsupported_type" | "empty" | "pdf_encrypted" | "pdf_damaged" | "pdf_without_text" | "pdf_too_large";

export type Extraction = ExtractedPage | { kind: "skipped"; reason: SkipReason };

export type MediaKind = "html" | "pdf" | "text" | "markdown" | "unsupported";

interface ContentType {
  /** In lower case, without parameters; "" where there is none. */
  type: string;
  charset: string | null;
}

/** This is a map, since a site may send `Content-Type: constructor`. */
const BY_TYPE = new Map<string, MediaKind>([
  ["text/html", "html"],
  ["application/xhtml+xml", "html"],
  ["application/pdf", "pdf"],
  ["application/x-pdf", "pdf"],
  ["text/plain", "text"],
  ["text/markdown", "markdown"],
  ["text/x-markdown", "markdown"],
]);
/** Types that servers send for unknown files, whose kind is detected from the bytes. */
const GENERIC_TYPES = new Set([
  "",
  "application/octet-stream",
  "binary/octet-stream",
  "application/unknown",
  "unknown/unknown",
  "application/force-download",
]);
const MARKDOWN_PATH = /\.(?:md|markdown|mdown|mkd)$/i;
/** PDF readers accept the magic number anywhere in the first KiB. */
const SNIFFED_BYTES = 1024;
/** Comments are removed before the head is matched: one pattern for both would backtrack exponentially. */
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
const HTML_START = /^\s*<(?:!doctype html|html|head|body|title|meta|script|h1|div|p)\b/i;
/** Control characters that mark binary data, by the WHATWG rules for MIME sniffing. */
// oxlint-disable-next-line no-control-regex
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

function parseContentType(header: string | null): ContentType {
  const [type = "", ...parameters] = (header ?? "").split(";");
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*["']?([^"'\s]+)/i.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  return { type: type.trim().toLowerCase(), charset: charset?.toLowerCase() ?? null };
}

/**
 * Detects the kind of a response by its Content-Type if that is a known type, otherwise by its bytes. A PDF is always recognised
 * by its magic number. HTML that is served as text/plain remains text.
 */
export function mediaKind(contentType: string | null, url: string, bytes: Uint8Array): MediaKind {
  const { type } = parseContentType(contentType);
  if (!GENERIC_TYPES.has(type) && !BY_TYPE.has(type)) return "unsupported";
  const head = latin1(bytes.subarray(0, SNIFFED_BYTES));
  if (head.includes("%PDF-")) return isHtml(head) ? "html" : "pdf";
  const declared = BY_TYPE.get(type) ?? sniffed(head, bytes);
  if (declared === "text" && isBinary(head, bytes)) return "unsupported";
  return declared === "text" && MARKDOWN_PATH.test(pathOf(url)) ? "markdown" : declared;
}

function sniffed(head: string, bytes: Uint8Array): MediaKind {
  if (isHtml(head)) return "html";
  return isBinary(head, bytes) ? "unsupported" : "text";
}

function isHtml(head: string): boolean {
  return HTML_START.test(withoutComments(head.replace(/^\u00ef\u00bb\u00bf/, "")));
}

/** Removes the comments from the beginning of a document, and a comment that is not closed. */
function withoutComments(head: string): string {
  return head.replace(COMMENT, "");
}

/** Text in UTF-16 contains NULs, so the byte order mark is checked first. */
function isBinary(head: string, bytes: Uint8Array): boolean {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  return !isUtf16 && BINARY.test(head);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : "";
}

export type FileKind = MediaKind | "docx";

/** Whether a file that begins with these bytes is of a kind that can be read. */
export function isReadable(head: Uint8Array): boolean {
  return fileKind(head) !== "unsupported";
}

/** The magic number of a ZIP archive, which a DOCX file is. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** The magic number of Rich Text Format, whose text is markup. */
const RTF = [0x7b, 0x5c, 0x72, 0x74, 0x66];

/** Detects the kind of a file only by its bytes. */
export function fileKind(bytes: Uint8Array): FileKind {
  if (beginsWith(bytes, ZIP)) return "docx";
  return beginsWith(bytes, RTF) ? "unsupported" : mediaKind(null, "", bytes);
}

function beginsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}

/** The HTML standard requires the encoding to be declared in these first bytes. */
const PRESCAN_BYTES = 1024;
const META_CHARSET = /<meta\s[^<>]*?charset\s*=\s*(?:["']\s*)?([\w.:-]+)/i;
const XML_DECLARATION = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/i;

/**
 * Decodes a document by its byte order mark, its header or its declaration (HTML's meta, XML's first line), otherwise as UTF-8.
 * Invalid bytes become U+FFFD; an unknown label is ignored.
 */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  const decoder = byMark(bytes) ?? byLabel(parseContentType(contentType).charset) ?? byDeclaration(bytes) ?? new TextDecoder();
  return decoder.decode(bytes);
}

function byMark([first, second, third]: Uint8Array): TextDecoder | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return new TextDecoder();
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le");
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be");
  return undefined;
}

function byDeclaration(bytes: Uint8Array): TextDecoder | undefined {
  const head = withoutComments(String.fromCharCode(...bytes.subarray(0, PRESCAN_BYTES)));
  const label = META_CHARSET.exec(head)?.[1] ?? XML_DECLARATION.exec(head)?.[1];
  // A declaration that could be read as ASCII was not written in UTF-16.
  return label && /^utf-?16/i.test(label) ? new TextDecoder() : byLabel(label ?? null);
}

function byLabel(label: string | null): TextDecoder | undefined {
  if (label === null) return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
