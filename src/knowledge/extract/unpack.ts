import { joinedBytes } from "../../platform/read-stream.ts";

/** A body is unpacked in small pieces, since one piece unpacks to up to 1,032 times its size. */
const PIECE_BYTES = 4_096;

/**
 * Reads a body, and decompresses it if it begins with gzip's magic number, whatever the headers say. It ends after `maxBytes` of
 * output, and where the data is truncated or damaged.
 */
export async function* unpacked(body: ReadableStream<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  const source = pieces(body);
  const first = await source.next();
  if (first.done) return;
  const whole = prepended(first.value, source);
  const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b;
  let left = maxBytes;
  try {
    for await (const piece of isGzip ? decompressed(whole) : whole) {
      yield piece.subarray(0, left);
      left -= piece.length;
      if (left <= 0) return;
    }
  } catch {
    // The bytes before the damage were yielded.
  }
}

/**
 * Decompresses bytes piece by piece.
 * @throws Error for damaged data. The output of the last two pieces is lost then, since a failing stream drops its buffer.
 */
async function* decompressed(packed: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await packed.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => void (await packed.return?.(undefined)),
  });
  yield* stream.pipeThrough(new DecompressionStream("gzip"));
}

/** Splits a body; the first piece has at least two bytes if the body has. */
async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array | undefined;
  for await (const chunk of body) {
    const bytes: Uint8Array = held ? joinedBytes([held, chunk]) : chunk;
    held = bytes.length < 2 ? bytes : undefined;
    for (let at = 0; !held && at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }
  if (held && held.length > 0) yield held;
}

async function* prepended(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
