import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { zlibSync } from "fflate";
import { describe, expect, test } from "vitest";
import { linesOf, paragraphsOf, type PdfLine, withoutRunningHeads } from "../../../src/knowledge/extract/pdf.ts";
import type { Extraction } from "../../../src/knowledge/extract/response.ts";
import { textContent } from "../../../src/knowledge/pdf/content.ts";
import { textCopy } from "../../../src/knowledge/pdf/copy.ts";
import { PdfFile } from "../../../src/knowledge/pdf/file.ts";
import { unpackStream } from "../../../src/knowledge/pdf/streams.ts";
import { PdfName, PdfTooLargeError } from "../../../src/knowledge/pdf/values.ts";
import { atOnce, type Slices } from "../../../src/platform/time.ts";
import { FILTERS } from "./hostile-files.ts";
import { onePage } from "./hostile-pdf.ts";
import { read } from "./page.ts";
import { pdfFile, pdfOf, type PdfTextLine } from "./pdf-file.ts";

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

  const shown = new TextEncoder().encode("BT /F1 10 Tf 72 700 Td (Packed as every real document is.) Tj ET");
  /** The example of the specification for LZW shows a minus sign five times, A, three times, and B. */
  const lzw = Uint8Array.of(0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01);
  const packings: [name: string, filter: string, bytes: Uint8Array | string][] = [
    ["deflate", "/FlateDecode", zlibSync(shown)],
    ["hexadecimal", "[/ASCIIHexDecode]", `${Array.from(shown, (byte) => byte.toString(16).padStart(2, "0")).join(" ")}>`],
    ["ASCII85", "/A85", `${ascii85(shown)}~>`],
    ["run lengths", "/RunLengthDecode", Uint8Array.of(shown.length - 1, ...shown, 128)],
    ["two filters", "[/ASCII85Decode /FlateDecode]", `${ascii85(zlibSync(shown))}~>`],
    ["deflate, cut at its end", "/FlateDecode", zlibSync(shown, { level: 0 }).subarray(0, -4)],
  ];

  test.each(packings)("is read where its content is packed with %s", async (_, filter, bytes) => {
    expect(await readPdf(onePage([{ dictionary: `/Filter ${filter}`, bytes }]))).toMatchObject({
      text: "Packed as every real document is.",
    });
  });

  test("unpacks LZW, up to 3 MiB", () => {
    const dict = new Map([["Filter", new PdfName("LZWDecode")]]);
    const unpacked = atOnce(unpackStream({ dict, packed: lzw }, (value) => value ?? null, MIB));
    expect(new TextDecoder().decode(unpacked)).toBe("-----A---B");
    const large = FILTERS.LZWDecode(new Uint8Array(4 * MIB));
    expect(() => atOnce(unpackStream({ dict, packed: large }, (value) => value ?? null, 12 * MIB))).toThrow(PdfTooLargeError);
  });

  test("is read where its objects are in a stream with a predictor", async () => {
    const objects = [
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ];
    const places = objects.map((_, at) => `${at + 2} ${objects.slice(0, at).join(" ").length + (at > 0 ? 1 : 0)}`).join(" ");
    const text = new TextEncoder().encode(`${places} ${objects.join(" ")}`.padEnd(400));
    // Each row of ten bytes begins with the number of its predictor: 1 adds the byte to the left.
    const rows = Array.from({ length: 40 }, (_, row) => [
      1,
      ...text.subarray(10 * row, 10 * row + 10).map((byte, at, bytes) => byte - (bytes[at - 1] ?? 0)),
    ]);
    const dictionary = `/Type /ObjStm /N 3 /First ${places.length + 1} /Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 10 >>`;
    const bytes = pdfOf([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "0",
      "0",
      "0",
      { dictionary: "", bytes: shown },
      { dictionary, bytes: zlibSync(Uint8Array.from(rows.flat())) },
    ]);
    expect(await readPdf(bytes)).toMatchObject({ text: "Packed as every real document is." });
  });

  test("is read by the encoding that a Type 1 font begins with, and the parser gets no font program", async () => {
    const program =
      "%!PS-AdobeFont-1.0: A\n/Encoding 256 array 0 1 255 {1 index exch /.notdef put} for\ndup 1 /K put dup 2 /e put readonly def eexec";
    const bytes = onePage(
      [
        { dictionary: "", bytes: "BT /F1 10 Tf 72 700 Td (\\001\\002ttle, the \\001\\002ttle in the shop of Graz) Tj ET" },
        "<< /Type /Font /Subtype /Type1 /BaseFont /A /FirstChar 0 /LastChar 255 /FontDescriptor 7 0 R >>",
        "<< /Type /FontDescriptor /FontName /A /Flags 4 /FontFile 8 0 R /FontFile2 8 0 R >>",
        { dictionary: "", bytes: program },
      ],
      "/Font << /F1 6 0 R >>",
    );
    expect(await readPdf(bytes)).toMatchObject({ text: "Kettle, the Kettle in the shop of Graz" });
    const copy = new TextDecoder().decode((await textCopy(await PdfFile.open(bytes))).bytes);
    expect(copy).toContain("FontDescriptor");
    expect(copy).not.toContain("FontFile");
  });

  test("is read without a cross-reference table, and in its last revision", async () => {
    const changed =
      "5 0 obj << /Length 70 >> stream\nBT /F1 10 Tf 72 700 Td (This is the text of the second revision.) Tj ET\nendstream endobj";
    const whole = new TextDecoder("latin1").decode(onePage([{ dictionary: "", bytes: shown }]));
    const revised = new TextEncoder().encode(`${whole.slice(0, whole.indexOf("xref"))}trailer << /Root 1 0 R >>\n${changed}`);
    expect(await readPdf(revised)).toMatchObject({ text: "This is the text of the second revision." });
  });

  test("is read in its forms too, which use the page's fonts if they have none", async () => {
    const form = {
      dictionary: "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Matrix [1 0 0 1 0 -20]",
      bytes: "BT /F1 10 Tf 72 700 Td (The form is below.) Tj ET",
    };
    const page = { dictionary: "", bytes: "BT /F1 10 Tf 72 700 Td (The page is above.) Tj ET q /X Do Q /I Do" };
    const image = { dictionary: "/Type /XObject /Subtype /Image /Width 1 /Height 1 /Filter /DCTDecode", bytes: "not a picture" };
    expect(await readPdf(onePage([page, form, image], "/Font << /F1 3 0 R >> /XObject << /X 6 0 R /I 7 0 R >>"))).toMatchObject({
      text: "The page is above.\n\nThe form is below.",
    });
  });
});

describe("the content of a page", () => {
  function* form(name: string): Slices<boolean> {
    yield;
    return name === "X";
  }
  const reduced = (content: string) =>
    new TextDecoder().decode(atOnce(textContent(new TextEncoder().encode(content), { font: () => true, form })));

  test("keeps what shows and places text, and loses drawings and images", () => {
    const drawn = "0 0 m 5 5 l S /GS gs /Artifact << /MCID 1 >> BDC 0.5 g BI /W 1 /H 1 ID \u0001EI\u0002 Do EI Q EMC /I Do";
    expect(reduced(`q 1 0 0 1 5 5 cm ${drawn} BT/F1 9 Tf % Do\n[(a\\) ( ) )-5<41>]TJ(Do)Tj T* ET /X Do`)).toBe(
      "q\n1 0 0 1 5 5 cm\nQ\nBT\n/F1 9 Tf\n[(a\\) ( ) )-5<41>] TJ\n(Do) Tj\nT*\nET\n/X Do\n",
    );
  });

  test("has no operator without its operands, and a bounded number of saved states", () => {
    expect(reduced("5 Td Tj 1 2 3 Td [1 2 Tj")).toBe("2 3 Td\n");
    expect(reduced(`${"q ".repeat(1_000)}${"Q ".repeat(1_000)}`)).toBe("q\n".repeat(64) + "Q\n".repeat(64));
  });
});

/** Encodes bytes as ASCII85, without its shorthand for zeros. */
function ascii85(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = [0, 1, 2, 3].reduce((sum, index) => sum * 256 + (bytes[at + index] ?? 0), 0);
    const digits = Array.from({ length: 5 }, () => {
      const digit = value % 85;
      value = Math.floor(value / 85);
      return String.fromCharCode(33 + digit);
    });
    text += digits
      .toReversed()
      .join("")
      .slice(0, Math.min(4, bytes.length - at) + 1);
  }
  return text;
}

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

  const textsOf = (pages: PdfLine[][]) => withoutRunningHeads(pages).map((page) => page.map(({ text }) => text));

  test("lose a running head whose number grows with the pages, whatever else it says", () => {
    const pages = [7, 8, 9].map((number) => [
      line("Acme guide 2024", 700),
      line(`Text ${number * number}`, 600),
      line(`Text ${number * number + 1}`, 588),
      line(`Acme | Page ${number} of 120`, 30),
      line("© 2024", 20),
    ]);
    expect(textsOf(pages)).toEqual([
      ["Text 49", "Text 50"],
      ["Text 64", "Text 65"],
      ["Text 81", "Text 82"],
    ]);
  });

  test("keep facts that differ only in a number", () => {
    const pages = [1, 2, 3].map((number) => [
      line(`Kettle K${number}00`, 700),
      line("A kettle of good quality.", 688),
      line("It boils water.", 676),
      line("It whistles.", 664),
      line(`Weight: ${number} kg`, 652),
      line(`Price: ${number * number * 50} €`, 640),
    ]);
    expect(withoutRunningHeads(pages)).toEqual(pages);
  });

  test("keep numbers at the edge of a page that are no page numbers, and numbered headings", () => {
    const pages = [204, 101, 317].map((room, at) => [line(`Step ${at + 1}`, 700, 20), line("Clean the room", 600), line(`${room}`, 588)]);
    expect(withoutRunningHeads(pages)).toEqual(pages);
  });

  test("keep a compound's hyphen before a capital", () => {
    expect(paragraphsOf([[line("the Franco-", 100), line("German border", 88)]])).toBe("the Franco- German border");
  });
});
