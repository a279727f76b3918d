import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { linesOf, paragraphsOf, type PdfLine, withoutRunningHeads } from "../../../src/knowledge/extract/pdf.ts";
import type { Extraction } from "../../../src/knowledge/extract/response.ts";
import { read } from "./page.ts";
import { pdfFile, type PdfTextLine } from "./pdf-file.ts";

const MIB = 1024 * 1024;
const readPdf = (bytes: Uint8Array, type = "application/pdf"): Promise<Extraction> =>
  read(bytes, type, "https://a.example/files/user-guide.pdf");

async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer());
}

function page(number: number, body: PdfTextLine[]): PdfTextLine[] {
  return [{ text: "Acme user guide", y: 760 }, ...body, { text: `Page ${number} of 3`, y: 30 }];
}

describe("PDF", () => {
  const pages = [
    page(1, [
      { text: "Safety", y: 700, size: 20 },
      { text: "Read this before you switch the ma-", y: 660 },
      { text: "chine on. It is heavy and must", y: 648 },
    ]),
    page(2, [
      { text: "not be carried alone.", y: 700 },
      { text: "A second paragraph stands apart.", y: 660 },
      { text: "Cleaning", y: 620, size: 14 },
      { text: "• Use a dry cloth.", y: 590 },
      { text: "• Never use water.", y: 578 },
    ]),
    page(3, [{ text: "The end of it all.", y: 700 }]),
  ];

  test("is read in paragraphs, without running heads, over the ends of lines and pages", async () => {
    expect(await readPdf(pdfFile({ pages, title: "Acme guide" }))).toEqual({
      kind: "page",
      title: "Acme guide",
      canonicalUrl: null,
      noindex: false,
      nofollow: false,
      text: [
        "# Safety",
        "Read this before you switch the machine on. It is heavy and must not be carried alone.",
        "A second paragraph stands apart.",
        "## Cleaning",
        "• Use a dry cloth.\n• Never use water.",
        "The end of it all.",
      ].join("\n\n"),
      links: [],
      truncated: false,
    });
  });

  test("is known by its mark, whatever the server calls it, and titled by its heading or its file", async () => {
    expect(await readPdf(pdfFile({ pages, title: "Microsoft Word - guide.docx" }), "application/octet-stream")).toMatchObject({
      title: "Safety",
    });
    expect(await readPdf(pdfFile({ pages: [pages[2]!] }))).toMatchObject({ title: "User guide" });
  });

  test("is read inside of a Durable Object too", async () => {
    const stub = env.INDEX.getByName(`${crypto.randomUUID()}/pdf`);
    const found = await runInDurableObject(stub, () => readPdf(pdfFile({ pages })));
    expect(found.kind).toBe("page");
  });

  test("is skipped where it cannot be read", async () => {
    const whole = pdfFile({ pages });
    expect(await readPdf(pdfFile({ pages, encrypted: true }))).toEqual({ kind: "skipped", reason: "pdf_encrypted" });
    expect(await readPdf(new TextEncoder().encode("%PDF-1.7\nnothing more"))).toEqual({ kind: "skipped", reason: "pdf_damaged" });
    expect(await readPdf(pdfFile({ pages: [[]] }))).toEqual({ kind: "skipped", reason: "pdf_without_text" });
    expect((await readPdf(whole.subarray(0, whole.length - 300))).kind).toMatch(/page|skipped/);
  });

  test("is skipped where it would unpack to more than memory holds", async () => {
    const bomb = await deflated(new Uint8Array(100 * MIB).fill(32));
    expect(bomb.length).toBeLessThan(MIB);
    const content = { dictionary: "/Filter /FlateDecode", bytes: bomb };
    expect(await readPdf(pdfFile({ pages, content }))).toEqual({ kind: "skipped", reason: "pdf_too_large" });
    const twice = { dictionary: "/Filter [/FlateDecode /FlateDecode]", bytes: await deflated(bomb) };
    expect(await readPdf(pdfFile({ pages, content: twice }))).toEqual({ kind: "skipped", reason: "pdf_too_large" });
  });

  test("is read where its content is packed", async () => {
    const bytes = await deflated(new TextEncoder().encode("BT /F1 10 Tf 72 700 Td (Packed as every real document is.) Tj ET"));
    expect(await readPdf(pdfFile({ pages: [[]], content: { dictionary: "/Filter /FlateDecode", bytes } }))).toMatchObject({
      text: "Packed as every real document is.",
    });
  });
});

describe("lines of a PDF", () => {
  const line = (text: string, y: number, size = 10): PdfLine => ({ text, y, size });

  test("are made of items of one height", () => {
    const items = ["Two ", "words", "below"].map((text, at) => ({ text, y: at === 2 ? 80 : 100, size: 10, endsLine: false }));
    expect(linesOf(items).map(({ text }) => text)).toEqual(["Two words", "below"]);
  });

  test("lose page numbers, but no line that stands on two pages for a reason", () => {
    const pages = [1, 2].map((number) => [line("Warning", 700), line(`Text ${number}`, 600), line(`- ${number} -`, 20)]);
    expect(withoutRunningHeads(pages).map((page) => page.map(({ text }) => text))).toEqual([
      ["Warning", "Text 1"],
      ["Warning", "Text 2"],
    ]);
  });

  test("keep a compound's hyphen before a capital", () => {
    expect(paragraphsOf([[line("the Franco-", 100), line("German border", 88)]])).toBe("the Franco- German border");
  });
});
