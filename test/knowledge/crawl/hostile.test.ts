import { expect, test } from "vitest";
import { runTimeSlice } from "../../../src/knowledge/crawl-slice.ts";
import type { CrawlStep, PageResult, PageToFetch } from "../../../src/knowledge/crawl/protocol.ts";
import { textSketchOf } from "../../../src/knowledge/crawl/sketch.ts";
import { envWith } from "../../harness.ts";
import type { Behaviour } from "../../outbound-protocol.ts";
import { pdfFile } from "../extract/pdf-file.ts";
import { createReader, createSite, indexStub } from "./site.ts";

const html = { "Content-Type": "text/html" };
const MIB = "x".repeat(1024 * 1024);

test.for<[string, Behaviour, string]>([
  ["a page of 100 MB", { headers: html, body: MIB, times: 100 }, "too_large"],
  ["a page without end", { headers: html, body: "<p>and so on</p>".repeat(1000), times: 1e9 }, "too_large"],
  ["a page that unpacks to 300 MB", { headers: html, body: MIB, times: 300, gzip: true }, "too_large"],
  ["a page that breaks off", { headers: html, body: "<p>Half of", fails: "reset_in_body" }, "connection_failed"],
  ["a redirect to inside", { status: 302, headers: { Location: "http://169.254.169.254/latest/meta-data" } }, "blocked_url"],
  ["a redirect to another scheme", { status: 302, headers: { Location: "file:///etc/passwd" } }, "blocked_url"],
  ["a redirect to nowhere", { status: 302, headers: { Location: "http://[" } }, "bad_redirect"],
])("%s is a failure that is counted, and the rest of the site is read", async ([, behaviour, reason]) => {
  const site = await createSite();
  await site.has("/", { links: ["/bad", "/good"] });
  await site.answers("/bad", behaviour);
  await site.has("/good", { text: "Zebras are striped." });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "ready", pages_found: 3, pages_indexed: 2, pages_failed: 1, pages_skipped: 0 });
  expect(await reader.pages(source.id, "failed")).toEqual({ "/bad": `failed: ${reason}` });
});

test("deep nesting, links without end and headers that lie do not stop a crawl", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/deep", "/links", "/validators", "/table"] });
  await site.answers("/deep", { headers: html, body: `<title>Deep</title>${"<div>".repeat(200_000)}At the bottom.` });
  const links = Array.from({ length: 20_000 }, (_, at) => `<a href="/list?page=${at}&q=${"y".repeat(100)}">${at}</a>`).join("");
  await site.answers("/links", { headers: html, body: `<p>Links and links.</p>${links}` });
  await site.has("/validators", { headers: { ETag: '"ü"', "Last-Modified": "z".repeat(5_000) } });
  await site.answers("/table", { headers: html, body: `<table>${"<tr><td>".repeat(100_000)}` });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/"), max_pages: 5 });
  expect(source).toMatchObject({ status: "ready" });
  expect(source.pages_found).toBeLessThan(1_001);
  expect(await reader.pages(source.id)).toMatchObject({
    "/links": "indexed",
    "/validators": "indexed",
    "/deep": "failed: too_complex",
    "/table": "failed: too_complex",
  });
  expect(await reader.sync(source.id)).toMatchObject({ status: "ready" });
});

test.each([
  ["found", 2_400, ""],
  ["counted for each of their variables", 500, "&"],
])("links of 1,900 characters are %s", async (_, count, separator) => {
  const site = await createSite();
  // JSON has two characters for each backslash.
  const query = (at: number) =>
    "abcdef"
      .split("")
      .map((name) => `${name}=${at}${"\\".repeat(300)}`)
      .join(separator);
  const links = Array.from({ length: count }, (_, at) => `<a href="/1/a/2/b/3/list?${query(at)}">${at}</a>`).join("");
  await site.answers("/", { headers: html, body: `<p>Links and links.</p>${links}` });
  const reader = await createReader();
  expect(await reader.read({ url: site.at("/"), max_pages: 1 })).toMatchObject({ status: "ready", pages_indexed: 1 });
});

test("a long text of three bytes a character is truncated to what a row holds", async () => {
  const site = await createSite();
  const text = "鏡花水月。".repeat(200_000);
  await site.answers("/", { headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text });
  const reader = await createReader();
  expect(await reader.read({ url: site.at("/") })).toMatchObject({ status: "ready", pages_indexed: 1 });
});

test("PDFs, texts and Markdown are read; what is none of these is skipped with a reason", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/manual.pdf", "/notes.txt", "/guide.md", "/photo", "/broken.pdf", "/data"] });
  const pdf = pdfFile({ pages: [[{ text: "The manual speaks of walruses on the ice of the north.", size: 12, y: 700 }]] });
  await site.answers("/manual.pdf", { headers: { "Content-Type": "application/pdf" }, bytes: pdf.toBase64() });
  await site.answers("/notes.txt", { headers: { "Content-Type": "text/plain" }, body: "Otters hold hands while they sleep." });
  await site.answers("/guide.md", { headers: { "Content-Type": "text/markdown" }, body: "# Beavers\n\nThey build dams." });
  await site.answers("/photo", { headers: { "Content-Type": "image/png" }, body: "PNG" });
  await site.answers("/broken.pdf", { headers: { "Content-Type": "application/pdf" }, body: "%PDF-1.7 and nothing more" });
  await site.answers("/data", { headers: { "Content-Type": "application/json" }, body: "{}" });
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  expect(await reader.pages(id)).toEqual({
    "/": "indexed",
    "/manual.pdf": "indexed",
    "/notes.txt": "indexed",
    "/guide.md": "indexed",
    "/photo": "skipped: unsupported_type",
    "/broken.pdf": "skipped: pdf_damaged",
    "/data": "skipped: unsupported_type",
  });
  for (const [asked, path] of [
    ["walruses", "/manual.pdf"],
    ["otters", "/notes.txt"],
    ["beavers", "/guide.md"],
  ] as const)
    expect((await reader.search(asked))[0]).toMatchObject({ url: site.at(path) });
});

test("a block that is on every page is boilerplate and is not found", async () => {
  const site = await createSite();
  const banner = "Subscribe to our wonderful newsletter today.";
  const links = Array.from({ length: 8 }, (_, at) => `/p${at}`);
  for (const path of ["/", ...links]) {
    const body = `<title>${path}</title><main><div>${banner}</div><h1>Page ${path}</h1><p>Words of ${path} alone, number ${path.length}.</p>
      ${path === "/" ? links.map((link) => `<a href="${link}">${link}</a>`).join(" ") : ""}</main>`;
    await site.answers(path, { headers: html, body });
  }
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "ready", pages_indexed: 9 });
  const found = await reader.search("Words of p3");
  expect(found.length).toBeGreaterThan(0);
  for (const { content } of found) expect(content).not.toContain("newsletter");
});

test("a page at which the fetcher dies repeatedly fails, and the crawl continues", async () => {
  const site = await createSite();
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const source = { id, type: "website" as const, url: site.at("/"), maxPages: 10, maxBytes: 1_000_000, syncNumber: 0 };
  const index = indexStub(reader);
  const step = { results: [], unfetched: [], isFirst: true, isLast: false, pauseMs: 0, nowMs: Date.now() };
  const first = await index.crawl(source, step);
  if (first?.done !== false) throw new Error("robots.txt is asked for");
  let next = await index.crawl(source, { ...step, results: [{ id: first.fetch[0]!.id, outcome: "robots", text: "" }] });
  // Nobody ever comes back from the start.
  for (let died = 0; died < 10 && next && !next.done; died++)
    next = await index.crawl(source, { ...step, nowMs: Date.now() + died * 600_000 });
  expect(await reader.pages(id)).toEqual({ "/": "failed: not_readable" });
});

test("pages of a batch that were not fetched for lack of time do not count as fatal to the fetcher", async () => {
  const site = await createSite();
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const source = { id, type: "website" as const, url: site.at("/"), maxPages: 10, maxBytes: 1_000_000, syncNumber: 0 };
  const index = indexStub(reader);
  const paths = ["/slow1", "/slow2", "/slow3", "/a", "/b"];
  const resultOf = ({ id: pageId, url, kind }: PageToFetch): PageResult => {
    if (kind === "robots") return { id: pageId, outcome: "robots", text: "Sitemap: none" };
    if (url.includes("slow")) return { id: pageId, outcome: "failed", reason: "timeout", isTransient: true, retryAfterSeconds: null };
    const links = url === source.url ? paths.map((path) => site.at(path)) : [];
    const read = {
      title: url,
      text: `The page ${url}`,
      hash: url,
      blocks: [],
      sketch: textSketchOf(url, url),
      canonicalUrl: null,
      noindex: false,
    };
    return { id: pageId, outcome: "page", ...read, links, etag: null, lastModified: null };
  };
  const step = { pauseMs: 0, isLast: false, isFirst: true };
  let nowMs = Date.now();
  let next = await index.crawl(source, { ...step, results: [], unfetched: [], nowMs });
  // Each run has time for one page only.
  for (let round = 0; round < 50 && next && !next.done; round++) {
    const [first, ...unfetched] = next.fetch;
    nowMs += 60_000;
    next = await index.crawl(source, {
      ...step,
      results: first ? [resultOf(first)] : [],
      unfetched: unfetched.map((page) => page.id),
      nowMs,
    });
  }
  expect(await reader.pages(id)).toEqual({
    "/": "indexed",
    "/slow1": "failed: timeout",
    "/slow2": "failed: timeout",
    "/slow3": "failed: timeout",
    "/a": "indexed",
    "/b": "indexed",
  });
});

test("a fetcher at the end of its time slice returns the pages that it did not fetch", async () => {
  const site = await createSite();
  for (const path of ["/1", "/2", "/3"]) await site.has(path, {});
  const steps: CrawlStep[] = [];
  let nowMs = 0;
  const counts = { found: 3, indexed: 0, failed: 0, skipped: 0 };
  const pages = [1, 2, 3].map((id): PageToFetch => ({
    id,
    url: site.at(`/${id}`),
    kind: "page",
    etag: null,
    lastModified: null,
    maxRedirects: 0,
  }));
  await runTimeSlice({
    env: envWith({}),
    step: async (step) => {
      steps.push(step);
      return { done: false, counts, fetch: steps.length === 1 ? pages : [], waitMs: 0, pauseMs: 0 };
    },
    report: async () => {
      nowMs += 60_000;
      return true;
    },
    clock: () => nowMs,
  });
  expect(steps).toMatchObject([{ results: [] }, { results: [{ id: 1, outcome: "page" }], unfetched: [2, 3], isLast: true }]);
  expect(await site.requested()).toEqual(["/1"]);
});
