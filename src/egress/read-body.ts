/** What was read of a body. */
export interface ReadBody {
  body: Uint8Array;
  /** Whether more would have followed. */
  isTruncated: boolean;
}

/**
 * Reads at most so many bytes and lets go of the rest, so that the memory taken is bounded whatever the other side sends.
 * What it announces as its length is not believed.
 * @throws what the stream fails with.
 */
export async function readAtMost(stream: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<ReadBody> {
  if (stream === null) return { body: new Uint8Array(), isTruncated: false };
  const chunks: Uint8Array[] = [];
  let bytesRead = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytesRead += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytesRead > maxBytes) break;
  }
  return { body: joined(chunks, Math.min(bytesRead, maxBytes)), isTruncated: bytesRead > maxBytes };
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    const kept = chunk.subarray(0, length - offset);
    whole.set(kept, offset);
    offset += kept.byteLength;
  }
  return whole;
}
