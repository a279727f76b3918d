/** Most bodies fit into the first buffer; it doubles for longer ones. */
const FIRST_BUFFER_BYTES = 16_384;

/**
 * Reads at most `maxBytes` of a stream and cancels the rest. Memory is bounded by that too, however small the chunks are and
 * whatever length was announced.
 * @param isTooMuch called with each chunk. From the first one that it refuses, what is read up to `maxBytes` is dropped, not kept:
 * a client that sends its whole body before it reads the response then gets the response.
 * @throws what the stream fails with.
 */
export async function readAtMost(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  isTooMuch?: (chunk: Uint8Array) => boolean,
): Promise<{ body: Uint8Array<ArrayBuffer>; isTruncated: boolean }> {
  let buffer = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, maxBytes));
  let length = 0;
  let isDropped = false;
  for await (const chunk of stream ?? []) {
    const kept = chunk.subarray(0, maxBytes - length);
    isDropped ||= isTooMuch?.(chunk) ?? false;
    if (isDropped) buffer = new Uint8Array();
    else {
      buffer = grow(buffer, length + kept.byteLength, maxBytes);
      buffer.set(kept, length);
    }
    length += kept.byteLength;
    // Leaving the loop cancels the stream.
    if (kept.byteLength < chunk.byteLength) return { body: buffer.subarray(0, length), isTruncated: true };
  }
  return { body: buffer.subarray(0, length), isTruncated: isDropped };
}

/** Pieces as one. */
export function joinedBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function grow(buffer: Uint8Array<ArrayBuffer>, length: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (length <= buffer.byteLength) return buffer;
  const larger = new Uint8Array(Math.min(Math.max(length, 2 * buffer.byteLength), maxBytes));
  larger.set(buffer);
  return larger;
}
