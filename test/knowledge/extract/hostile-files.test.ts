import { zlibSync } from "fflate";
import { describe, expect, test } from "vitest";
import { readFile } from "../../../src/knowledge/extract/file.ts";
import { docx, paragraph } from "./docx-file.ts";
import { attributesDocx, attributesHtml, encryptedPdf, numbers, packedPdf } from "./hostile-files.ts";
import { HOSTILE_PDFS, onePage, PROSE, SHOWN } from "./hostile-pdf.ts";

async function outcomeOf(bytes: Uint8Array): Promise<string> {
  const reading = await readFile(bytes);
  return reading.kind === "text" ? "text" : reading.reason;
}

describe("hostile PDFs", () => {
  // Without a bound these take minutes or gigabytes.
  test.each(Object.entries(HOSTILE_PDFS))("bounds %s", async (_, { bytes, outcome }) => {
    expect(await outcomeOf(bytes())).toBe(outcome);
  });

  test("bounds an encrypted content, which is read if it is small", async () => {
    expect(await readFile(await encryptedPdf({ bytes: 200, pages: 1 }))).toMatchObject({
      kind: "text",
      text: expect.stringContaining("Refunds"),
    });
    const large = await encryptedPdf({ bytes: 40 * 1024 * 1024, pages: 4 });
    expect(await outcomeOf(large)).toBe("pdf_too_large");
  });

  test("never fails for damaged files", async () => {
    const next = numbers(28);
    const whole = onePage([{ dictionary: "/Filter /FlateDecode", bytes: zlibSync(new TextEncoder().encode(SHOWN)) }]);
    const encrypted = await encryptedPdf({ bytes: 200, pages: 1 });
    for (let round = 0; round < 200; round++) {
      const bytes = (round % 4 === 0 ? encrypted : whole).slice();
      for (let count = 1 + next(20); count > 0; count--)
        bytes[8 + next(bytes.length - 8)] = next(3) === 0 ? next(256) : bytes[next(bytes.length)]!;
      const cut = next(3) === 0 ? bytes.subarray(0, next(bytes.length)) : bytes;
      expect(["text", "empty", "pdf_damaged", "pdf_encrypted", "pdf_without_text", "pdf_too_large"]).toContain(await outcomeOf(cut));
    }
  });
});

describe("hostile Word documents", () => {
  const documents: Record<string, string> = {
    "an attribute of 30 MB": `<w:p a="${"x".repeat(30_000_000)}"/>`,
    "a name of 30 MB": `<w:${"p".repeat(30_000_000)}/>`,
    "a comment of 30 MB": `<!--${"x".repeat(30_000_000)}-->`,
  };

  test.each(Object.entries(documents))("bounds %s", async (_, xml) => {
    expect(await outcomeOf(docx(`${paragraph(PROSE)}${xml}`))).toBe("docx_damaged");
  });

  test("bounds a million attributes in a tag", async () => {
    expect(await outcomeOf(attributesDocx(1_000_000))).toBe("docx_damaged");
  });

  test("reads a drawing in an attribute", async () => {
    const drawing = `<w:p><w:r><w:pict o:gfxdata="${"x".repeat(500_000)}"/></w:r></w:p>`;
    expect(await readFile(docx(`${drawing}${paragraph(PROSE)}`))).toEqual({ kind: "text", text: PROSE });
  });
});

describe("hostile HTML files", () => {
  test("ends before a tag with 300,000 attributes", async () => {
    expect(await outcomeOf(new TextEncoder().encode(attributesHtml(300_000)))).toBe("html_too_complex");
  });
});

describe("large files", () => {
  const files: [string, () => Uint8Array][] = [
    ["a PDF of much content", () => packedPdf({ bytes: 1_000_000, filters: ["FlateDecode"], pages: 100 })],
    ["a Word document of many paragraphs", () => docx(paragraph(PROSE).repeat(20_000))],
    ["a CSV file of many rows", () => new TextEncoder().encode(`Product;Price\n${"kettle;40 euros\n".repeat(80_000)}`)],
    ["an HTML file of many paragraphs", () => new TextEncoder().encode(`<!doctype html>${`<p>${PROSE}</p>`.repeat(20_000)}`)],
  ];

  test.each(files)("let the isolate do other work while %s is read", async (_, bytes) => {
    let isRead = false;
    const reading = readFile(bytes()).finally(() => (isRead = true));
    let turns = 0;
    for (; !isRead; turns++) await scheduler.wait(0);
    await reading;
    expect(turns).toBeGreaterThan(10);
  });
});
