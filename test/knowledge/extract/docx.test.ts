import { strToU8, zipSync } from "fflate";
import { expect, test } from "vitest";
import { readDocx } from "../../../src/knowledge/extract/docx.ts";
import { docx, paragraph } from "./docx-file.ts";

const style = (id: string) => `<w:pStyle w:val="${id}"/>`;
const item = (text: string, list: number, level = 0) =>
  paragraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
const textOf = async (body: string) => {
  const read = await readDocx(docx(body), 1_000_000);
  return read.kind === "text" ? read.text : read.reason;
};

test("headings are found by the names of their styles, in every language of Word", async () => {
  const body =
    paragraph("Handbook", style("Titel")) +
    paragraph("Contents", style("Verzeichnis1")) +
    paragraph("Shipping", style("berschrift1")) +
    paragraph("Abroad", style("Eigene")) +
    paragraph("Parcels take six days.") +
    paragraph("By air", '<w:outlineLvl w:val="2"/>') +
    paragraph("Two days.", style("Loop"));
  expect(await textOf(body)).toBe("# Handbook\n\n# Shipping\n\n## Abroad\n\nParcels take six days.\n\n### By air\n\nTwo days.");
});

test("lists keep their numbers and levels, also after a paragraph between", async () => {
  const body =
    item("Open the box", 2) +
    item("Look for the key", 2, 1) +
    item("Turn it", 2) +
    paragraph("Wait a minute.") +
    item("Close the box", 2) +
    paragraph("Done", style("Aufzhlung"));
  expect(await textOf(body)).toBe("1. Open the box\n  1. Look for the key\n2. Turn it\n\nWait a minute.\n\n3. Close the box\n\n- Done");
});

test("tables are rows with the names of their columns, merged cells repeated", async () => {
  const cell = (text: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
  const row = (...cells: string[]) => `<w:tr>${cells.join("")}</w:tr>`;
  const table = `<w:tbl><w:tblPr><w:tblLook w:firstRow="1"/></w:tblPr>
    ${row(cell("Country"), cell("Service"), cell("Days"))}
    ${row(cell("Iceland", '<w:vMerge w:val="restart"/>'), cell("Ship"), cell("6"))}
    ${row(cell("", "<w:vMerge/>"), cell("Air"), cell("2"))}
    ${row(cell("Norway", '<w:gridSpan w:val="2"/>'), cell("3 | 4"))}</w:tbl>`;
  expect(await textOf(paragraph("Times") + table)).toBe(
    `Times\n
| Country | Service | Days |
| --- | --- | --- |
| Iceland | Ship | 6 |
| Iceland | Air | 2 |
| Norway |  | 3 \\| 4 |`,
  );
});

test("deleted, hidden and doubled text, and the table of contents, are left out", async () => {
  const run = (content: string) => `<w:r>${content}</w:r>`;
  const body = `
    <w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr><w:sdtContent>${paragraph("Shipping … 3")}</w:sdtContent></w:sdt>
    <w:p><w:del>${run("<w:delText>old</w:delText><w:t>older</w:t>")}</w:del>${run("<w:t>Parcels</w:t><w:tab/><w:t>take</w:t>")}
    ${run("<w:rPr><w:vanish/></w:rPr><w:t>secretly</w:t>")}${run('<w:rPr><w:vanish w:val="0"/></w:rPr><w:t xml:space="preserve"> six</w:t>')}
    <w:hyperlink>${run('<w:t xml:space="preserve"> days.</w:t>')}</w:hyperlink>${run("<w:br/><w:t>Or five.</w:t>")}
    <mc:AlternateContent><mc:Choice>${run("<w:t> Box.</w:t>")}</mc:Choice><mc:Fallback>${run("<w:t> Box.</w:t>")}</mc:Fallback></mc:AlternateContent></w:p>`;
  expect(await textOf(body)).toBe("Parcels take six days.\nOr five. Box.");
});

test("entities of a document type stay what they are", async () => {
  const laughs = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>
    <w:document><w:body>${paragraph("&b; &x; &amp; &#228;")}</w:body></w:document>`;
  const read = await readDocx(zipSync({ "word/document.xml": strToU8(laughs) }), 1_000);
  expect(read).toMatchObject({ kind: "text", text: "&b; &x; & ä" });
});

test("archives that are no Word document, damaged or bombs are skipped in bounded time", async () => {
  expect(await readDocx(zipSync({ "xl/workbook.xml": strToU8("<workbook/>") }), 1_000)).toEqual({
    kind: "skipped",
    reason: "unsupported_type",
  });
  const whole = docx(paragraph("Hello"));
  const damaged = whole.map((byte, at) => (at > 120 && at < 200 ? byte ^ 0x5a : byte));
  expect(await readDocx(damaged, 1_000)).toMatchObject({ kind: "skipped" });
  expect(await readDocx(strToU8("PK\x03\x04 and nothing more"), 1_000)).toMatchObject({ kind: "skipped" });
  const bomb = docx("", { "word/document.xml": new Uint8Array(60_000_000) });
  expect(bomb.length).toBeLessThan(100_000);
  expect(await readDocx(bomb, 1_000)).toEqual({ kind: "skipped", reason: "docx_too_large" });
  const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`word/media/${at}.png`, new Uint8Array()]));
  expect(await readDocx(docx(paragraph("Hello"), many), 1_000)).toEqual({ kind: "skipped", reason: "docx_too_large" });
});

test.for([
  ["paragraphs", "<w:p><w:t>a</w:t></w:p>".repeat(81_000)],
  ["line breaks", `<w:p>${"<w:br/>".repeat(81_000)}</w:p>`],
  ["cells", `<w:tbl><w:tr>${"<w:tc/>".repeat(81_000)}</w:tr></w:tbl>`],
] as const)("a small file that unpacks to very many %s is skipped before they fill the memory", async ([, body]) => {
  const file = docx(body);
  expect(file.length).toBeLessThan(10_000);
  expect(await readDocx(file, 5_000_000)).toEqual({ kind: "skipped", reason: "docx_too_large" });
});

test("a text of very many small pieces reaches the limit sooner, and endless styles are cut", async () => {
  const pieces = `<w:p>${"<w:t>a</w:t>".repeat(2_000)}</w:p>`;
  expect(await readDocx(docx(pieces), 5_000)).toMatchObject({ kind: "text", truncated: true });
  expect(await readDocx(docx(`<w:p>${"<w:tab/>".repeat(2_000)}</w:p>`), 5_000)).toMatchObject({ truncated: true });
  const styles = `<w:styles>${" ".repeat(2_200_000)}<w:style w:styleId="Late"><w:name w:val="heading 1"/></w:style></w:styles>`;
  const file = docx(paragraph("Hello", style("Late")), { "word/styles.xml": strToU8(styles) });
  expect(await readDocx(file, 1_000)).toEqual({ kind: "text", text: "Hello", truncated: false });
});

test("a picture that unpacks to a lot is not unpacked", async () => {
  const read = await readDocx(docx(paragraph("Hello"), { "word/media/1.bmp": new Uint8Array(60_000_000) }), 1_000);
  expect(read).toEqual({ kind: "text", text: "Hello", truncated: false });
});

test("deeply nested tables and unclosed tags do not exhaust the stack", async () => {
  const nested = "<w:tbl><w:tr><w:tc>".repeat(20_000) + paragraph("deep");
  expect(await readDocx(docx(nested), 1_000)).toEqual({ kind: "skipped", reason: "docx_damaged" });
  const tables = "<w:tbl><w:tr><w:tc>".repeat(100) + paragraph("deep") + "</w:tc></w:tr></w:tbl>".repeat(100);
  expect(await textOf(paragraph("Top") + tables)).toBe("Top");
});

test("a text beyond the limit is marked as cut", async () => {
  expect(await readDocx(docx(paragraph("word ".repeat(100)).repeat(10)), 1_000)).toMatchObject({ kind: "text", truncated: true });
});
