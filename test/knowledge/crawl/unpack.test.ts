import { describe, expect, test } from "vitest";
import { unpacked } from "../../../src/knowledge/extract/unpack.ts";

const KIB = 1024;

async function unpackedOf(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of unpacked(body, maxBytes)) pieces.push(piece);
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

const gzip = (bytes: Uint8Array): ReadableStream<Uint8Array> => new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));

describe("a body that may be gzipped", () => {
  const bytes = new Uint8Array(100 * KIB).map((_, at) => Math.imul(at, 2654435761) >>> 24);

  test("is the same with and without gzip", async () => {
    expect(await unpackedOf(gzip(bytes), 200 * KIB)).toEqual(bytes);
    expect(await unpackedOf(new Blob([bytes]).stream(), 200 * KIB)).toEqual(bytes);
  });

  test("ends exactly at the limit of output", async () => {
    expect((await unpackedOf(gzip(new Uint8Array(5_000 * KIB)), 70 * KIB)).length).toBe(70 * KIB);
    expect(await unpackedOf(new Blob([bytes]).stream(), 70 * KIB)).toEqual(bytes.subarray(0, 70 * KIB));
  });

  test("cancels a body without end", async () => {
    let isLetGo = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(KIB)),
      cancel: () => void (isLetGo = true),
    });
    expect((await unpackedOf(endless, 10 * KIB)).length).toBe(10 * KIB);
    expect(isLetGo).toBe(true);
  });
});
