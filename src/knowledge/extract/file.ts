import { csvTable } from "./csv.ts";
import { type DocxProblem, readDocx } from "./docx.ts";
import { extract, withoutFrontMatter } from "./extract.ts";
import { MAX_HTML_CHARS } from "./html-tree.ts";
import { decodeText, fileKind, type FileKind, MAX_TEXT_BYTES, type SkipReason } from "./response.ts";

export type FileProblem = SkipReason | DocxProblem | "html_too_complex" | "too_much_text";

export type FileReading = { kind: "text"; text: string } | { kind: "skipped"; reason: FileProblem };

/**
 * Reads the text of an uploaded file: PDF, DOCX and HTML as blocks, a CSV file as a table, other text unchanged. The kind is
 * detected only from the bytes, since the name and the declared type may be wrong.
 */
export async function readFile(bytes: Uint8Array): Promise<FileReading> {
  const reading = await readKind(fileKind(bytes), bytes);
  if (reading.kind === "skipped") return reading;
  const isTooMuch = reading.truncated || new TextEncoder().encode(reading.text).length > MAX_TEXT_BYTES;
  return isTooMuch ? { kind: "skipped", reason: "too_much_text" } : { kind: "text", text: reading.text };
}

type KindReading = { kind: "text"; text: string; truncated: boolean } | { kind: "skipped"; reason: FileProblem };

async function readKind(kind: FileKind, bytes: Uint8Array): Promise<KindReading> {
  if (kind === "docx") return readDocx(bytes, MAX_TEXT_BYTES);
  if (kind === "text") return readText(bytes);
  // A page is read up to this length, but of a file the whole is wanted, so that it need not be parsed.
  if (kind === "html" && decodeText(bytes, null).length > MAX_HTML_CHARS) return { kind: "skipped", reason: "too_much_text" };
  const read = await extract({ url: "https://file.invalid/", headers: new Headers(), bytes });
  if (read.kind === "skipped") return read;
  if (read.truncated === "structure") return { kind: "skipped", reason: "html_too_complex" };
  return { kind: "text", text: read.text, truncated: read.truncated !== false };
}

async function readText(bytes: Uint8Array): Promise<KindReading> {
  // No encoding takes more than two bytes for a character that UTF-8 writes in one.
  const isTooLong = bytes.length > 2 * MAX_TEXT_BYTES;
  const text = isTooLong ? "" : (utf8Text(bytes) ?? decodeText(bytes, "text/plain; charset=windows-1252")).replace(/\r\n?/g, "\n");
  if (isTooLong || text.length > MAX_TEXT_BYTES) return { kind: "skipped", reason: "too_much_text" };
  return { kind: "text", text: (await csvTable(text, MAX_TEXT_BYTES)) ?? withoutFrontMatter(text), truncated: false };
}

/** Decodes UTF-8; undefined for other bytes. */
function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}
