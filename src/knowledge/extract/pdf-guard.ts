import { decompressed } from "../crawl/unpack.ts";

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
export async function isBomb(bytes: Uint8Array): Promise<boolean> {
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
