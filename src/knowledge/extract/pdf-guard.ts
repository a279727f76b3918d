/** What a reader of PDFs would unpack into memory, all streams together: a manual of a thousand pages has a tenth. */
const MAX_UNPACKED_BYTES = 48 * 1024 * 1024;
/** LZW unpacks to as much as a thousand times, and cannot be tried cheaply: it is thirty years old and rare. */
const MAX_LZW_BYTES = 64 * 1024;
/** Where bytes within a stream look like its end, this much more of it is tried. */
const MAX_RETRIED_BYTES = 4 * 1024 * 1024;
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
    let result = await inflate(bytes.subarray(start, end), MAX_UNPACKED_BYTES - unpacked);
    if (!result.complete) result = await inflate(bytes.subarray(start, Math.max(end, start + MAX_RETRIED_BYTES)), MAX_UNPACKED_BYTES - unpacked);
    unpacked += result.size;
    if (unpacked >= MAX_UNPACKED_BYTES || result.isPackedTwice) return true;
    at = Math.max(at, end - 6);
  }
  return false;
}

interface Inflated {
  size: number;
  complete: boolean;
  isPackedTwice: boolean;
}

async function inflate(packed: Uint8Array, most: number): Promise<Inflated> {
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const result: Inflated = { size: 0, complete: false, isPackedTwice: false };
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (result.size === 0) result.isPackedTwice = isZlib(next.value, 0) && next.value.length > 64;
      result.size += next.value.length;
      if (result.size >= most) {
        await reader.cancel();
        return { ...result, complete: true };
      }
    }
    result.complete = true;
  } catch {
    // A damaged stream, or one with bytes after its end: what it gave until then counts.
  }
  return result;
}

function isZlib(bytes: Uint8Array, at: number): boolean {
  const method = bytes[at] ?? 0;
  return (method & 0x0f) === 8 && method >> 4 <= 7 && (method * 256 + (bytes[at + 1] ?? 0)) % 31 === 0;
}

function isLzw(text: string, streamAt: number): boolean {
  return /\/LZW(?:Decode)?\b/.test(text.slice(Math.max(0, streamAt - DICTIONARY_REACH), streamAt));
}
