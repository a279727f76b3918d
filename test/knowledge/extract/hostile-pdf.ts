import { zlibSync } from "fflate";
import { nestedFormsPdf, packedPdf } from "./hostile-files.ts";
import { type PdfStreamObject, pdfOf } from "./pdf-file.ts";

const MIB = 1024 * 1024;
const FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
export const PROSE = "The kettle costs 40 euros in the shop in Graz.";
export const SHOWN = `BT /F1 10 Tf 72 700 Td (${PROSE}) Tj ET `;

/** A PDF whose pages have these contents and resources; further objects begin with number 4 + pages. */
export function pages(
  count: number,
  page: (number: number) => string,
  further: readonly (string | PdfStreamObject)[],
  trailer = "",
): Uint8Array<ArrayBuffer> {
  const kids = Array.from({ length: count }, (_, at) => `${4 + at} 0 R`);
  return pdfOf(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${count} /MediaBox [0 0 612 792] >>`,
      FONT,
      ...kids.map((_, at) => `<< /Type /Page /Parent 2 0 R ${page(at)} >>`),
      ...further,
    ],
    trailer,
  );
}

export function onePage(
  further: readonly (string | PdfStreamObject)[],
  resources = "/Font << /F1 3 0 R >>",
  trailer = "",
): Uint8Array<ArrayBuffer> {
  return pages(1, () => `/Contents 5 0 R /Resources << ${resources} >>`, further, trailer);
}

export const spaces = (mebibytes: number): Uint8Array => new Uint8Array(mebibytes * MIB).fill(32);
const flate = (bytes: Uint8Array | string, dictionary = ""): PdfStreamObject => ({
  dictionary: `${dictionary} /Filter /FlateDecode`,
  bytes: zlibSync(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes),
});
const tooLarge = "pdf_too_large";

/** Files that would take minutes or gigabytes to read, with what becomes of them. The bytes are made when they are asked for. */
export const HOSTILE_PDFS: Record<string, { bytes: () => Uint8Array; outcome: string }> = {
  "four pages with one content of 40 MB": {
    bytes: () => packedPdf({ bytes: 40 * MIB, filters: ["FlateDecode"], pages: 4 }),
    outcome: tooLarge,
  },
  "500 pages with one content of 10 MB": {
    bytes: () => pages(500, () => "/Contents 504 0 R", [flate(spaces(10))]),
    outcome: tooLarge,
  },
  "500 pages with one text of 1 MB": {
    bytes: () =>
      pages(500, () => "/Contents 504 0 R /Resources << /Font << /F1 3 0 R >> >>", [flate("BT /F1 9 Tf (a) ' ET ".repeat(50_000))]),
    outcome: tooLarge,
  },
  "a form that is shown 100,000 times": {
    bytes: () =>
      onePage(
        [
          flate("/X Do ".repeat(100_000)),
          { dictionary: "/Subtype /Form /Resources << /Font << /F1 3 0 R >> >>", bytes: SHOWN.repeat(200) },
        ],
        "/XObject << /X 6 0 R >>",
      ),
    outcome: tooLarge,
  },
  "forms nested ten levels deep, each shown ten times": { bytes: () => nestedFormsPdf({ depth: 10, times: 10 }), outcome: tooLarge },
  "forms nested a hundred levels deep": { bytes: () => nestedFormsPdf({ depth: 100, times: 1 }), outcome: tooLarge },
  "150 MB behind two filters": {
    bytes: () => packedPdf({ bytes: 150 * MIB, filters: ["ASCIIHexDecode", "FlateDecode"] }),
    outcome: tooLarge,
  },
  "150 MB behind filters in another object": {
    bytes: () => packedPdf({ bytes: 150 * MIB, filters: ["ASCIIHexDecode", "FlateDecode"], naming: "indirect" }),
    outcome: tooLarge,
  },
  "150 MB behind filters with escaped names": {
    bytes: () => packedPdf({ bytes: 150 * MIB, filters: ["ASCIIHexDecode", "FlateDecode"], naming: "escaped" }),
    outcome: tooLarge,
  },
  "a content that is packed three times": {
    bytes: () => packedPdf({ bytes: 100 * MIB, filters: ["FlateDecode", "FlateDecode", "FlateDecode"] }),
    outcome: tooLarge,
  },
  "16 MB in run-length encoding": {
    bytes: () =>
      onePage([
        {
          dictionary: "/Filter [/Fl /RunLengthDecode]",
          bytes: zlibSync(new Uint8Array(MIB / 4).map((_, at) => (at % 2) * 32 + ((at + 1) % 2) * 129)),
        },
      ]),
    outcome: tooLarge,
  },
  "14 MB in LZW": { bytes: () => packedPdf({ bytes: 14 * MIB, filters: ["LZWDecode"] }), outcome: tooLarge },
  "an object stream of 100 MB": {
    bytes: () => pdfOf(["<< /Type /Catalog /Pages 9 0 R >>", flate(spaces(100), "/Type /ObjStm /N 1 /First 8")]),
    outcome: tooLarge,
  },
  "a cross-reference stream of 100 MB": {
    bytes: () => onePage([{ dictionary: "", bytes: SHOWN }, flate(spaces(100), "/Type /XRef /W [1 2 1] /Size 9 /Root 1 0 R")]),
    outcome: "text",
  },
  "10,000 pages": {
    bytes: () =>
      pages(10_000, () => "/Contents 10004 0 R /Resources << /Font << /F1 3 0 R >> >>", [
        { dictionary: "", bytes: `BT /F1 10 Tf 12 TL 72 700 Td ${`(${PROSE}) ' `.repeat(9)} ET` },
      ]),
    outcome: "too_much_text",
  },
  "pages that contain one another": {
    bytes: () =>
      pdfOf([
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R 3 0 R 2 0 R] /Count 3 >>",
        "<< /Type /Pages /Kids [2 0 R 4 0 R] >>",
        `<< /Type /Page /Contents 5 0 R /Resources << /Font << /F1 6 0 R >> >> >>`,
        { dictionary: "", bytes: SHOWN },
        FONT,
      ]),
    outcome: "text",
  },
  "a font with a billion widths": {
    bytes: () =>
      onePage(
        [
          { dictionary: "", bytes: "BT /F1 10 Tf 72 700 Td <00480049> Tj ET" },
          "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [7 0 R] >>",
          "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /W [0 1000000000 500] /FontDescriptor 8 0 R >>",
          "<< /Type /FontDescriptor /FontName /A /Flags 4 >>",
        ],
        "/Font << /F1 6 0 R >>",
      ),
    outcome: "pdf_without_text",
  },
  "fonts with twenty thousand ranges of widths": {
    bytes: () =>
      onePage(
        [
          { dictionary: "", bytes: "BT /F1 10 Tf 72 700 Td <00480049> Tj ET" },
          "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [7 0 R] >>",
          `<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /W [${"0 65535 500 ".repeat(20_000)}] /FontDescriptor 8 0 R >>`,
          "<< /Type /FontDescriptor /FontName /A /Flags 4 >>",
        ],
        "/Font << /F1 6 0 R >>",
      ),
    outcome: "pdf_without_text",
  },
  "a font whose codes map to sixteen million characters": {
    bytes: () =>
      onePage(
        [
          { dictionary: "", bytes: SHOWN },
          "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>",
          { dictionary: "", bytes: "begincmap 1 beginbfrange <000000> <fffffe> <0041> endbfrange endcmap" },
        ],
        "/Font << /F1 6 0 R >>",
      ),
    outcome: "text",
  },
  "a million pieces of text": {
    bytes: () => onePage([flate(`BT /F1 9 Tf ${"0 9 Td(a)Tj 0 -9 Td(b)Tj ".repeat(500_000)} ET`)]),
    outcome: tooLarge,
  },
  "120,000 pieces of text": {
    bytes: () => onePage([flate(`BT /F1 9 Tf ${"0 9 Td(a)Tj 0 -9 Td(b)Tj ".repeat(60_000)} ET`)]),
    outcome: "text",
  },
  "ten million numbers": {
    bytes: () => onePage([`[${"1 ".repeat(9_000_000)}]`, { dictionary: "", bytes: SHOWN }], "/Font 5 0 R"),
    outcome: tooLarge,
  },
  "a million arrays in one another": { bytes: () => onePage(["[".repeat(1_000_000)]), outcome: tooLarge },
  "700,000 objects": {
    bytes: () => new TextEncoder().encode(`%PDF-1.4\n${Array.from({ length: 700_000 }, (_, at) => `${at} 0 obj 1 `).join("")}`),
    outcome: tooLarge,
  },
  "strings that do not end": { bytes: () => pdfOf(Array.from({ length: 100_000 }, () => "(")), outcome: tooLarge },
};
