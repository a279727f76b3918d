export type MediaKind = "html" | "pdf" | "text" | "markdown" | "unsupported";

interface ContentType {
  /** Lower case, without parameters; "" where there is none. */
  type: string;
  charset: string | null;
}

/** A map, since a site may send the name of what every object has: `Content-Type: constructor`. */
const BY_TYPE = new Map<string, MediaKind>([
  ["text/html", "html"],
  ["application/xhtml+xml", "html"],
  ["application/pdf", "pdf"],
  ["application/x-pdf", "pdf"],
  ["text/plain", "text"],
  ["text/markdown", "markdown"],
  ["text/x-markdown", "markdown"],
]);
/** Types that servers send for files they do not know: the bytes decide. */
const UNTOLD = new Set([
  "",
  "application/octet-stream",
  "binary/octet-stream",
  "application/unknown",
  "unknown/unknown",
  "application/force-download",
]);
const MARKDOWN_PATH = /\.(?:md|markdown|mdown|mkd)$/i;
/** Readers of PDF accept its mark anywhere in the first KiB. */
const SNIFFED_BYTES = 1024;
/** Taken out before a head is matched: one pattern for both would try every way to make one comment of several, of which there are 2^n. */
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
const HTML_START = /^\s*<(?:!doctype html|html|head|body|title|meta|script|h1|div|p)\b/i;
/** Control characters that no text holds, as in the WHATWG rules for sniffing. */
// oxlint-disable-next-line no-control-regex
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/** The parts of a Content-Type header. */
export function parseContentType(header: string | null): ContentType {
  const [type = "", ...parameters] = (header ?? "").split(";");
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*["']?([^"'\s]+)/i.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  return { type: type.trim().toLowerCase(), charset: charset?.toLowerCase() ?? null };
}

/**
 * What a response is. The header is believed where it names a type that can be read, except that a PDF shows itself by its
 * mark; where the header says nothing, the bytes tell. HTML that is served as text/plain stays text.
 */
export function mediaKind(contentType: string | null, url: string, bytes: Uint8Array): MediaKind {
  const { type } = parseContentType(contentType);
  if (!UNTOLD.has(type) && !BY_TYPE.has(type)) return "unsupported";
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

/** The beginning of a document without its comments; one that does not end there goes as well. */
export function withoutComments(head: string): string {
  return head.replace(COMMENT, "");
}

/** UTF-16 holds NULs, so a byte order mark speaks before the bytes do. */
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
