import { describe, expect, test } from "vitest";
import { readAtMost } from "../../src/platform/read-stream.ts";

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

  test.each([
    ["to its end", source(10), { chunks: 10, cancelled: false }],
    ["up to the limit", source(), { chunks: 26, cancelled: true }],
  ])("goes on %s after a chunk that is too much, and keeps nothing", async (_, { seen, stream }, expected) => {
    const judged: number[] = [];
    const { body, isTruncated } = await readAtMost(stream, 100, ([number]) => judged.push(number!) === 3);
    expect([body.buffer.byteLength, isTruncated, judged, seen]).toEqual([0, true, [1, 2, 3], expected]);
  });
});
