/** Most bodies fit into the first buffer; it doubles for longer ones. */
const FIRST_BUFFER_BYTES = 16_384;

/** The size of the pieces in which the rest of a stream is read. */
const DISCARDED_AT_ONCE_BYTES = 65_536;

interface ReadOptions {
  /** Called with each chunk. At the first one that it refuses, reading stops. */
  isTooMuch?: (chunk: Uint8Array) => boolean;
  /** Whether the rest of the stream can still be read, as that of a request must be: see `discardRest`. */
  preventCancel?: boolean;
}

/**
 * Reads at most `maxBytes` of a stream and cancels the rest. `maxBytes` also bounds the memory in use, however small the chunks are
 * and whatever length was announced.
 * @returns the body, which is empty if it was refused as too much.
 * @throws the stream's error.
 */
export async function readAtMost(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  { isTooMuch, preventCancel = false }: ReadOptions = {},
): Promise<{ body: Uint8Array<ArrayBuffer>; isTruncated: boolean }> {
  let buffer = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, maxBytes));
  let length = 0;
  for await (const chunk of stream?.values({ preventCancel }) ?? []) {
    if (isTooMuch?.(chunk)) return { body: new Uint8Array(), isTruncated: true };
    const kept = chunk.subarray(0, maxBytes - length);
    buffer = grow(buffer, length + kept.byteLength, maxBytes);
    buffer.set(kept, length);
    length += kept.byteLength;
    if (kept.byteLength < chunk.byteLength) return { body: buffer.subarray(0, length), isTruncated: true };
  }
  return { body: buffer.subarray(0, length), isTruncated: false };
}

/**
 * Reads what is left of a stream of bytes and drops it, up to `maxBytes` and for at most `maxMs`, and cancels the rest. A stream that another
 * reader holds is left to it. A stream that fails ends the reading without an error.
 */
export async function discardRest(stream: ReadableStream<Uint8Array> | null, maxBytes: number, maxMs: number): Promise<void> {
  if (!stream || stream.locked) return;
  const reader = stream.getReader({ mode: "byob" });
  const cancel = () => void reader.cancel().catch(() => {});
  const timer = setTimeout(cancel, maxMs);
  try {
    let buffer = new Uint8Array(DISCARDED_AT_ONCE_BYTES);
    for (let left = maxBytes; left >= 0; left -= buffer.byteLength) {
      // One large read costs a tenth of the many small ones that `read` would make.
      const { done, value } = await reader.readAtLeast(DISCARDED_AT_ONCE_BYTES, buffer);
      if (done) return;
      buffer = new Uint8Array(value.buffer);
    }
    cancel();
  } catch {
    // The client has gone.
  } finally {
    clearTimeout(timer);
  }
}

/** Joins pieces into one array. */
export function joinedBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** Splits the bytes of pieces into parts of equal size. @param pieces are removed while they are split, so that their memory is free. */
export function* partsOf(pieces: Uint8Array[], partBytes: number): Generator<Uint8Array> {
  let held: Uint8Array[] = [];
  let length = 0;
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
    for (let at = 0; at < piece.length;) {
      const taken = piece.subarray(at, at + partBytes - length);
      held.push(taken);
      at += taken.length;
      length += taken.length;
      if (length < partBytes) continue;
      yield joinedBytes(held);
      [held, length] = [[], 0];
    }
  }
  if (length > 0) yield joinedBytes(held);
}

function grow(buffer: Uint8Array<ArrayBuffer>, length: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (length <= buffer.byteLength) return buffer;
  const larger = new Uint8Array(Math.min(Math.max(length, 2 * buffer.byteLength), maxBytes));
  larger.set(buffer);
  return larger;
}
