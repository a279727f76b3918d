import { describe, expect, test } from "vitest";
import { type SitemapEntry, sitemapEntries } from "../../../src/knowledge/crawl/sitemap.ts";

const MAP = "https://a.example/maps/sitemap.xml";

function streamOf(bytes: Uint8Array, pieceBytes = bytes.length): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
}

async function entries(body: string | Uint8Array, pieceBytes?: number): Promise<SitemapEntry[]> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const found: SitemapEntry[] = [];
  for await (const entry of sitemapEntries(streamOf(bytes, pieceBytes), MAP)) found.push(entry);
  return found;
}

const urls = async (body: string | Uint8Array, pieceBytes?: number): Promise<string[]> =>
  (await entries(body, pieceBytes)).map(({ url }) => url);

async function packed(body: string | Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());
}

const URLSET = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE urlset [<!ENTITY lol "lol">]>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> https://a.example/p?a=1&amp;b=2 </loc><lastmod>2026-01-02</lastmod><image:image><image:loc>https://a.example/i.png</image:loc></image:image></url>
  <url><loc><![CDATA[https://a.example/é]]></loc><lastmod>never</lastmod></url>
  <url><loc>/relative</loc></url><url><loc></loc></url><url><loc>mailto:a@b.example</loc></url>
</urlset>`;

describe("sitemaps", () => {
  const expected = [
    { kind: "page", url: "https://a.example/p?a=1&b=2" },
    { kind: "page", url: "https://a.example/%C3%A9" },
    { kind: "page", url: "https://a.example/relative" },
  ];

  test("list pages, in whatever pieces they arrive", async () => {
    expect(await entries(URLSET)).toEqual(expected);
    for (const pieceBytes of [1, 7, 64]) expect(await entries(URLSET, pieceBytes)).toEqual(expected);
  });

  test("may be gzipped and truncated", async () => {
    const bytes = await packed(URLSET);
    expect(await entries(bytes)).toEqual(expected);
    expect(await entries(bytes, 1)).toEqual(expected);
    const many = Array.from(
      { length: 30_000 },
      (_, at) => `<url><loc>https://a.example/${at}-${Math.imul(at, 2654435761) >>> 0}</loc></url>`,
    ).join("");
    const half = await packed(`<urlset>${many}</urlset>`);
    const found = await urls(half.subarray(0, half.length / 2));
    expect(found.length).toBeGreaterThan(1_000);
    expect(found.length).toBeLessThan(30_000);
  });

  test("may be an index, under a prefix too", async () => {
    const index =
      '<sm:sitemapindex xmlns:sm="x"><sm:sitemap><sm:loc>https://a.example/1.xml.gz</sm:loc><sm:lastmod>2026-01-02T03:04:05Z</sm:lastmod></sm:sitemap></sm:sitemapindex>';
    expect(await entries(index)).toEqual([{ kind: "sitemap", url: "https://a.example/1.xml.gz" }]);
  });

  test("may be lines, RSS or Atom", async () => {
    expect(await urls("https://a.example/1\r\nsome words\nhttps://a.example/2")).toEqual(["https://a.example/1", "https://a.example/2"]);
    expect(
      await urls(
        "<rss><channel><link>https://a.example/</link><item><title>x</title><link>https://a.example/1</link></item></channel></rss>",
      ),
    ).toEqual(["https://a.example/1"]);
    expect(
      await urls(
        '<feed><link href="https://a.example/"/><entry><link rel="self" href="/no"/><link href="/1"/><updated>2026-01-02</updated></entry></feed>',
      ),
    ).toEqual(["https://a.example/1"]);
  });

  test("are empty when the content is something else", async () => {
    for (const body of ["", "   ", "<!doctype html><html><body><a href='/x'>x</a></body></html>", '{"a":1}', "\u0000\u0001"])
      expect(await urls(body)).toEqual([]);
  });

  test("end at their limits", async () => {
    const many = `<urlset>${Array.from({ length: 60_000 }, (_, at) => `<url><loc>https://a.example/${at}</loc></url>`).join("")}</urlset>`;
    expect(await urls(many)).toHaveLength(50_000);
    expect(await urls(`<urlset>${"<a>".repeat(500_000)}<url><loc>https://a.example/</loc></url>`)).toEqual([]);
    expect(await urls(`<urlset><url><loc>${"x".repeat(4_000_000)}</loc></url><url><loc>https://a.example/</loc></url></urlset>`)).toEqual(
      [],
    );
    expect(await urls(`<urlset><url a="${"x".repeat(4_000_000)}"><loc>https://a.example/</loc></url></urlset>`)).toEqual([]);
  });

  test("do not unpack beyond the limit", async () => {
    const after = (blanks: number) => packed(`${" ".repeat(blanks)}https://a.example/`);
    expect(await urls(await after(49 * 1024 * 1024))).toEqual(["https://a.example/"]);
    expect(await urls(await after(50 * 1024 * 1024))).toEqual([]);
  });
});
