import { mediaKind, type MediaKind } from "./response.ts";

/** The most text that a source holds, in UTF-8. */
export const MAX_TEXT_BYTES = 5 * 1024 * 1024;

export type FileKind = MediaKind | "docx";

/** Whether a file that begins with these bytes may hold text. */
export function isReadable(head: Uint8Array): boolean {
  return fileKind(head) !== "unsupported";
}

/** All local files of an archive begin so, and so does the archive. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** Rich Text Format, which is text but for machines. */
const RTF = [0x7b, 0x5c, 0x72, 0x74, 0x66];

/** What a file is, by its bytes alone. */
export function fileKind(bytes: Uint8Array): FileKind {
  if (beginsWith(bytes, ZIP)) return "docx";
  return beginsWith(bytes, RTF) ? "unsupported" : mediaKind(null, "", bytes);
}

function beginsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}
