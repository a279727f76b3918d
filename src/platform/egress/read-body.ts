/** What was read of a body. */
export interface ReadBody {
  body: Uint8Array;
  /** Whether more would have followed. */
  isTruncated: boolean;
}

/** Holds most answers at once; what is longer doubles it. */
const FIRST_BYTES = 16_384;

/**
 * Reads at most so many bytes and lets go of the rest. The memory taken is bounded by that, whatever the other side
 * sends, in however small pieces; the length that it announces is not believed.
 * @throws what the stream fails with.
 */
export async function readAtMost(stream: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<ReadBody> {
  let buffer = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  let length = 0;
  for await (const chunk of stream ?? []) {
    const kept = chunk.subarray(0, maxBytes - length);
    buffer = withRoom(buffer, length + kept.byteLength, maxBytes);
    buffer.set(kept, length);
    length += kept.byteLength;
    // Leaving the loop cancels the stream.
    if (kept.byteLength < chunk.byteLength) return { body: buffer, isTruncated: true };
  }
  return { body: buffer.slice(0, length), isTruncated: false };
}

function withRoom(buffer: Uint8Array<ArrayBuffer>, length: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (length <= buffer.byteLength) return buffer;
  const larger = new Uint8Array(Math.min(Math.max(length, 2 * buffer.byteLength), maxBytes));
  larger.set(buffer);
  return larger;
}
