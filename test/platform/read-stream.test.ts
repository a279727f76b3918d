import { describe, expect, test } from "vitest";
import { discardRest, readAtMost } from "../../src/platform/read-stream.ts";

/** A stream of chunks of four bytes, without end by default, that notes how many were read and whether it was cancelled. */
function source(total = Number.POSITIVE_INFINITY) {
  const seen = { chunks: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => (seen.chunks < total ? controller.enqueue(new Uint8Array(4).fill(++seen.chunks)) : controller.close()),
      cancel: () => void (seen.cancelled = true),
    },
    { highWaterMark: 0 },
  );
  return { seen, stream };
}

describe("reading at most a number of bytes", () => {
  test("cancels the rest of the stream", async () => {
    const whole = await readAtMost(source(10).stream, 40);
    expect([whole.body.length, whole.isTruncated]).toEqual([40, false]);
    const { seen, stream } = source();
    const { body, isTruncated } = await readAtMost(stream, 10);
    expect([[...body], isTruncated, seen]).toEqual([[1, 1, 1, 1, 2, 2, 2, 2, 3, 3], true, { chunks: 3, cancelled: true }]);
  });

  test("stops at the first chunk that is too much, and keeps nothing", async () => {
    const { seen, stream } = source();
    const { body, isTruncated } = await readAtMost(stream, 100, { isTooMuch: ([number]) => number === 3 });
    expect([body.buffer.byteLength, isTruncated, seen]).toEqual([0, true, { chunks: 3, cancelled: true }]);
  });

  test("leaves the rest of the stream to the next reader where it may not cancel it", async () => {
    const { seen, stream } = source(4);
    await readAtMost(stream, 6, { preventCancel: true });
    expect((await readAtMost(stream, 100)).body).toEqual(new Uint8Array([3, 3, 3, 3, 4, 4, 4, 4]));
    expect(seen).toEqual({ chunks: 4, cancelled: false });
  });
});

describe("discarding the rest of a stream", () => {
  const MIB = 1024 * 1024;

  /** A stream of bytes in chunks of 1 MiB. */
  function bytes(pull: (controller: ReadableByteStreamController, chunk: number) => void) {
    const seen = { chunks: 0, cancelled: false };
    const stream = new ReadableStream({
      type: "bytes",
      pull: (controller: ReadableByteStreamController) => pull(controller, ++seen.chunks),
      cancel: () => void (seen.cancelled = true),
    });
    return { seen, stream };
  }

  test("ends with the stream", async () => {
    const { seen, stream } = bytes((controller, chunk) => (chunk < 4 ? controller.enqueue(new Uint8Array(MIB)) : controller.close()));
    await discardRest(stream, 10 * MIB, 60_000);
    expect(seen).toEqual({ chunks: 4, cancelled: false });
  });

  test("cancels a stream that is longer than its bound", async () => {
    const { seen, stream } = bytes((controller) => controller.enqueue(new Uint8Array(MIB)));
    await discardRest(stream, 3 * MIB, 60_000);
    expect(seen.cancelled).toBe(true);
    expect(seen.chunks).toBeLessThanOrEqual(5);
  });

  test("cancels a stream that sends nothing for as long as the bound", async () => {
    const { seen, stream } = bytes(() => {});
    await discardRest(stream, MIB, 1);
    expect(seen.cancelled).toBe(true);
  });

  test("ends without an error if the stream fails, or another reader holds it", async () => {
    await discardRest(bytes((controller) => controller.error(new Error("The client has gone."))).stream, MIB, 60_000);
    const { stream } = bytes(() => {});
    stream.getReader();
    await discardRest(stream, MIB, 60_000);
    await discardRest(null, MIB, 60_000);
  });
});
