import type { AttachmentType } from "../platform/db/columns.ts";
import { toSingleLine } from "../platform/text.ts";

/** The most bytes that decide the type of a file that is not a text. */
const HEAD_BYTES = 16;
/** The characters of a text that are searched for markup. */
const MARKUP_LENGTH = 1_024;
const MAX_NAME_LENGTH = 120;
/** Longer endings are part of the name. */
const ENDING = /\.([a-z0-9]{1,8})$/i;

/** The endings of file names that fit a type. The first one is added to a name that has none of them. */
const ENDINGS: Record<AttachmentType, readonly string[]> = {
  "image/jpeg": ["jpg", "jpeg"],
  "image/png": ["png"],
  "image/webp": ["webp"],
  "image/gif": ["gif"],
  "application/pdf": ["pdf"],
  "text/plain": ["txt", "text", "log", "csv", "md"],
};

/** Whether the first bytes, as Latin-1, begin a file of a type. */
const BEGINNINGS: [AttachmentType, (head: string) => boolean][] = [
  ["image/jpeg", (head) => head.startsWith("\xff\xd8\xff")],
  ["image/png", (head) => head.startsWith("\x89PNG\r\n\x1a\n")],
  ["image/webp", (head) => head.startsWith("RIFF") && head.slice(8, 12) === "WEBP"],
  ["image/gif", (head) => head.startsWith("GIF87a") || head.startsWith("GIF89a")],
  ["application/pdf", (head) => head.startsWith("%PDF-")],
];

/** What begins a document that a browser runs: HTML, SVG and other XML. */
const MARKUP = /^[\s\u{feff}]*<(?:[!?/]|[a-z][\w:-]*[\s>/])/iu;
/** Control characters that no text has. */
const BINARY = /[^\P{Cc}\s]/u;
/** It begins the colours of logs. */
const ESCAPE = "\u001b";

/**
 * Returns the type of a file by its content; undefined if messages cannot carry it. A text is UTF-8 without markup at its beginning:
 * neither the name nor a header of the upload counts.
 */
export function typeOfFile(pieces: readonly Uint8Array[]): AttachmentType | undefined {
  const head = latin1(pieces);
  const [type] = BEGINNINGS.find(([, begins]) => begins(head)) ?? [];
  return type ?? (isPlainText(pieces) ? "text/plain" : undefined);
}

function latin1(pieces: readonly Uint8Array[]): string {
  const bytes: number[] = [];
  for (const piece of pieces) {
    bytes.push(...piece.subarray(0, HEAD_BYTES - bytes.length));
    if (bytes.length === HEAD_BYTES) break;
  }
  return String.fromCharCode(...bytes);
}

function isPlainText(pieces: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let beginning = "";
  try {
    for (const piece of pieces) {
      const text = decoder.decode(piece, { stream: true });
      if (BINARY.test(text.replaceAll(ESCAPE, ""))) return false;
      if (beginning.length < MARKUP_LENGTH) beginning += text.slice(0, MARKUP_LENGTH);
    }
    decoder.decode();
  } catch {
    return false;
  }
  return !MARKUP.test(beginning);
}

/** Returns a name that is safe to show and to save under: one line without folders, with an ending of its type. */
export function fileNameOf(given: string | null, type: AttachmentType): string {
  const [first] = ENDINGS[type];
  const name = toSingleLine((given ?? "").replaceAll(/[\p{Cc}\p{Cf}<>:"/\\|?*]/gu, " "), MAX_NAME_LENGTH).replace(/^\.+/, "");
  if (name === "") return `file.${first}`;
  return ENDINGS[type].includes(ENDING.exec(name)?.[1]?.toLowerCase() ?? "") ? name : `${name}.${first}`;
}

/** Whether browsers show files of a type within a page. The others are only downloaded. */
export function isImage(type: AttachmentType): boolean {
  return type.startsWith("image/");
}
