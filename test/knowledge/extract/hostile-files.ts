import { zlibSync } from "fflate";
import { docx } from "./docx-file.ts";
import { PdfWriter } from "./pdf-file.ts";

const MIB = 1024 * 1024;

/** Returns whole numbers from 0 that depend on the seed alone. */
export function numbers(seed: number): (below: number) => number {
  // The numbers of neighbouring seeds are unlike from the first one on.
  let state = Math.imul(seed, 0x85ebca6b);
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Repeats a text up to a number of bytes. */
function filled(text: string, bytes: number): Uint8Array {
  const unit = bytesOf(text);
  const all = new Uint8Array(bytes - (bytes % unit.length));
  all.set(unit);
  for (let at = unit.length; at < all.length; at *= 2) all.copyWithin(at, 0, Math.min(at, all.length - at));
  return all;
}

// --- PDF -------------------------------------------------------------------------------------------------------------

const FONT = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
/** Shows a word. */
const OPERATORS = "BT /F1 9 Tf 1 0 0 1 72 72 Tm (Refunds) Tj ET\n";

/** A PDF whose pages all have the same entries. @param add writes the objects that the entries name, and returns the entries. */
function pdf(pages: number, add: (writer: PdfWriter) => string, trailer = ""): Uint8Array {
  const writer = new PdfWriter();
  const entries = add(writer);
  const tree = writer.nextObject + pages;
  const page = `<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 612 792] ${entries} >>`;
  const kids = Array.from({ length: pages }, () => `${writer.object(page)} 0 R`);
  writer.object(`<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages} >>`);
  return writer.end(`/Root ${writer.object(`<< /Type /Catalog /Pages ${tree} 0 R >>`)} 0 R ${trailer}`);
}

/** The filters of streams that expand, and how each one packs. */
export const FILTERS = {
  FlateDecode: (bytes: Uint8Array) => zlibSync(bytes, { level: 9 }),
  LZWDecode: packLzw,
  ASCIIHexDecode: (bytes: Uint8Array) => bytesOf(`${hexOf(bytes)}>`),
  ASCII85Decode: packAscii85,
  RunLengthDecode: packRuns,
};
export type Filter = keyof typeof FILTERS;
const ABBREVIATIONS: Record<Filter, string> = {
  FlateDecode: "Fl",
  LZWDecode: "LZW",
  ASCIIHexDecode: "AHx",
  ASCII85Decode: "A85",
  RunLengthDecode: "RL",
};

export interface PackedPdf {
  /** The bytes of the content, unpacked. */
  bytes: number;
  /** The filters, the first one that a reader applies first. */
  filters: readonly Filter[];
  pages?: number;
  /** How the dictionary names the filters. */
  naming?: "full" | "abbreviated" | "indirect" | "escaped";
}

/** A PDF whose pages share one content stream, which is packed by one filter after the other. */
export function packedPdf({ bytes, filters, pages = 1, naming = "full" }: PackedPdf): Uint8Array {
  const content = filters.toReversed().reduce<Uint8Array>((packed, filter) => FILTERS[filter](packed), filled(OPERATORS, bytes));
  return pdf(pages, (writer) => {
    const names = filters.map((filter) => `/${naming === "abbreviated" ? ABBREVIATIONS[filter] : filter}`).join(" ");
    const list = names.includes(" ") ? `[${names}]` : names;
    const escaped = list.replaceAll("Decode", "#44ecode");
    const filter = naming === "indirect" ? `${writer.object(list)} 0 R` : naming === "escaped" ? escaped : list;
    return `/Contents ${writer.stream(`/Filter ${filter}`, content)} 0 R /Resources << ${FONT} >>`;
  });
}

/** A PDF whose page shows a form, which shows another one several times, and so on: `times` to the power of `depth + 1` words. */
export function nestedFormsPdf({ depth, times, pages = 1 }: { depth: number; times: number; pages?: number }): Uint8Array {
  return pdf(pages, (writer) => {
    const form = `/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << ${FONT}`;
    let inner = writer.stream(`${form} >>`, bytesOf(OPERATORS));
    const show = bytesOf("/X Do\n".repeat(times));
    for (let level = 0; level < depth; level++) inner = writer.stream(`${form} /XObject << /X ${inner} 0 R >> >>`, show);
    return `/Contents ${writer.stream("", show)} 0 R /Resources << ${FONT} /XObject << /X ${inner} 0 R >> >>`;
  });
}

/** A PDF whose content is a fax of white lines: a bit of each line is a whole line unpacked. */
export function faxPdf(columns: number, rows: number): Uint8Array {
  const content = zlibSync(filled("\u007f", rows / 8).fill(0xff), { level: 9 });
  const parameters = `[null << /K -1 /Columns ${columns} /Rows ${rows} >>]`;
  return pdf(1, (writer) => `/Contents ${writer.stream(`/Filter [/FlateDecode /CCITTFaxDecode] /DecodeParms ${parameters}`, content)} 0 R`);
}

/** A PDF whose font maps each of its codes to a long text. */
export function fontMapPdf(codes: number): Uint8Array {
  const text = "0052".repeat(100);
  const rows = Array.from({ length: codes }, (_, at) => `<${at.toString(16).padStart(4, "0")}> <${text}>`).join("\n");
  const map = `/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange
${codes} beginbfchar\n${rows}\nendbfchar 1 beginbfrange <00000000> <ffffffff> <0041> endbfrange endcmap end`;
  return pdf(10, (writer) => {
    const unicode = writer.stream("/Filter /FlateDecode", zlibSync(bytesOf(map)));
    const descendant =
      "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /CIDSystemInfo << /Registry (A) /Ordering (B) /Supplement 0 >> >>";
    const font = `<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [${descendant}] /ToUnicode ${unicode} 0 R >>`;
    const shown = `BT /F1 9 Tf 72 72 Td <${"00010002".repeat(20_000)}> Tj ET`;
    return `/Contents ${writer.stream("", bytesOf(shown))} 0 R /Resources << /Font << /F1 ${writer.object(font)} 0 R >> >>`;
  });
}

/** A PDF of a page, and a picture of so many bytes that is not shown. */
export function largePdf(bytes: number): Uint8Array {
  const next = numbers(1);
  const picture = Uint8Array.from({ length: bytes }, () => next(256));
  return pdf(1, (writer) => {
    writer.stream("/Type /XObject /Subtype /Image", picture);
    return `/Contents ${writer.stream("", bytesOf(OPERATORS.repeat(10)))} 0 R /Resources << ${FONT} >>`;
  });
}

/** A PDF of plain pages, whose cross-reference table is damaged in a way. */
export function brokenPdf(pages: number, damage: "offsets" | "missing" | "loop" | "kids"): Uint8Array {
  const whole = pdf(pages, (writer) => `/Contents ${writer.stream("", bytesOf(OPERATORS))} 0 R /Resources << ${FONT} >>`);
  // This encoding has one character for each byte.
  const text = new TextDecoder("windows-1252").decode(whole);
  const table = text.lastIndexOf("xref\n0");
  switch (damage) {
    case "offsets":
      return bytesOf(text.slice(0, table) + text.slice(table).replaceAll(/^\d{10} 00000 n/gm, "0000000007 00000 n"));
    case "missing":
      return bytesOf(text.slice(0, table) + `${pages + 9} 0 obj null endobj\n`.repeat(50_000) + text.slice(text.indexOf("trailer", table)));
    case "loop":
      return bytesOf(text.replace("trailer << ", `trailer << /Prev ${table} /XRefStm ${table} `));
    case "kids":
      return bytesOf(text.replace(/\/Kids \[[^\]]*\]/, `/Kids [${`${pages + 2} 0 R `.repeat(1_000)}]`));
  }
}

/** A PDF with a shared content, encrypted for the empty password by AES-256 (revision 5), so that every reader opens it. */
export async function encryptedPdf({ bytes, pages }: { bytes: number; pages: number }): Promise<Uint8Array> {
  const fileKey = filled("k", 32);
  const salts = { validation: filled("v", 8), key: filled("s", 8) };
  const hashOf = async (salt: Uint8Array) => new Uint8Array(await crypto.subtle.digest("SHA-256", salt.slice()));
  const user = [await hashOf(salts.validation), salts.validation, salts.key].map(hexOf).join("");
  const userKey = hexOf((await encrypt(await hashOf(salts.key), fileKey, filled("\0", 16))).subarray(0, 32));
  const iv = filled("i", 16);
  const packed = await encrypt(fileKey, zlibSync(filled(OPERATORS, bytes), { level: 9 }), iv);
  const content = new Uint8Array([...iv, ...packed]);
  const other = "00".repeat(48);
  const cipher = "/CF << /StdCF << /CFM /AESV3 /AuthEvent /DocOpen /Length 32 >> >> /StmF /StdCF /StrF /StdCF";
  const dictionary = `<< /Filter /Standard /V 5 /R 5 /Length 256 ${cipher} /P -4 /O <${other}> /U <${user}> /OE <${other.slice(0, 64)}> /UE <${userKey}> /Perms <${other.slice(0, 32)}> >>`;
  const add = (writer: PdfWriter) => `/Contents ${writer.stream("/Filter /FlateDecode", content)} 0 R /Resources << ${FONT} >>`;
  return pdf(pages, add, `/Encrypt ${dictionary} /ID [<00> <00>]`);
}

async function encrypt(key: Uint8Array, bytes: Uint8Array, iv: Uint8Array): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey("raw", key.slice(), "AES-CBC", false, ["encrypt"]);
  return new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv: iv.slice() }, imported, bytes.slice()));
}

const LZW_CLEAR = 256;
const LZW_END = 257;

/** Packs by LZW, with codes of 9 to 12 bits, most significant bit first. */
function packLzw(bytes: Uint8Array): Uint8Array {
  const out: number[] = [];
  let [held, heldBits] = [0, 0];
  let table = new Map<number, number>();
  let [next, width] = [LZW_END + 1, 9];
  const put = (code: number) => {
    held = (held << width) | code;
    for (heldBits += width; heldBits >= 8; heldBits -= 8) out.push((held >>> (heldBits - 8)) & 0xff);
    held &= (1 << heldBits) - 1;
  };
  put(LZW_CLEAR);
  let code = -1;
  for (const byte of bytes) {
    const longer = code < 0 ? byte : table.get(code * 256 + byte);
    if (longer === undefined) {
      put(code);
      table.set(code * 256 + byte, next++);
      // The width grows one code early, as PDF has it by default.
      width = next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9;
      if (next === 4095) {
        put(LZW_CLEAR);
        [table, next, width] = [new Map(), LZW_END + 1, 9];
      }
      code = byte;
    } else code = longer;
  }
  if (code >= 0) put(code);
  put(LZW_END);
  if (heldBits > 0) out.push((held << (8 - heldBits)) & 0xff);
  return new Uint8Array(out);
}

function packAscii85(bytes: Uint8Array): Uint8Array {
  const groups: string[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const group = bytes.subarray(at, at + 4);
    let value = [0, 1, 2, 3].reduce((sum, n) => sum * 256 + (group[n] ?? 0), 0);
    let digits = "";
    for (let n = 0; n < 5; n++, value = Math.floor(value / 85)) digits = String.fromCharCode(33 + (value % 85)) + digits;
    groups.push(digits === "!!!!!" && group.length === 4 ? "z" : digits.slice(0, group.length + 1));
  }
  return bytesOf(`${groups.join("")}~>`);
}

/** Packs equal bytes that follow one another as a run. */
function packRuns(bytes: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (let at = 0; at < bytes.length;) {
    let length = 1;
    while (length < 128 && bytes[at + length] === bytes[at]) length++;
    if (length > 1) out.push(257 - length, bytes[at]!);
    else out.push(0, bytes[at]!);
    at += length;
  }
  out.push(128);
  return new Uint8Array(out);
}

// --- Word documents --------------------------------------------------------------------------------------------------

/** A Word document whose document unpacks from these bytes. */
const docxOf = (xml: Uint8Array): Uint8Array => docx("", { "word/document.xml": xml });

const DOCUMENT = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>';

/** A Word document with one tag that has so many attributes. */
export function attributesDocx(count: number): Uint8Array {
  const attributes = Array.from({ length: count }, (_, at) => `a${at.toString(36)}=""`).join(" ");
  return docxOf(bytesOf(`${DOCUMENT}<w:p ${attributes}><w:r><w:t>Refunds</w:t></w:r></w:p></w:body></w:document>`));
}

// --- HTML ------------------------------------------------------------------------------------------------------------

/** An HTML file with one tag that has so many attributes. */
export const attributesHtml = (count: number): string =>
  `<p>Begin</p><div ${Array.from({ length: count }, (_, at) => `a${at.toString(36)}=b`).join(" ")}>x</div>`;

/** Pages that are large or slow to read. Each begins with a paragraph. */
export const HOSTILE_PAGES: Record<string, string> = {
  "elements nested a hundred thousand deep": `<p>Begin</p>${"<div>".repeat(100_000)}x`,
  "nested and closed elements": `<p>Begin</p>${"<div>".repeat(15_000)}x${"</div>".repeat(15_000)}`,
  "end tags of nothing": `<p>Begin</p>${"<ul><li>".repeat(5_000)}${"</b>".repeat(300_000)}`,
  "paragraphs never closed": `<p>Begin${"<p>x".repeat(100_000)}`,
  "tables in tables": `<p>Begin</p>${"<table><tr><td>a<td>b".repeat(3_000)}`,
  "lists in lists": `<p>Begin</p>${"<ul><li>a".repeat(5_000)}`,
  "attributes by the hundred thousand": attributesHtml(200_000),
  "one attribute of five megabytes": `<p>Begin</p><div class="${"a-".repeat(2.5 * MIB)}">x</div>`,
  "one text of ten megabytes": `<p>Begin</p>${"word ".repeat(2 * MIB)}`,
  "spaces without end": `<p>Begin</p><p>${" ".repeat(3 * MIB)}x</p><h2>${"\n ".repeat(MIB)}</h2>`,
  "a page of ten megabytes": `<p>Begin</p>${"<p>Hello <a href='/x'>link</a>.</p>".repeat(300_000)}`,
  "a million less-than signs": `<p>Begin</p>${"<".repeat(MIB)}`,
  "comments never closed": `<p>Begin</p>${"<!--".repeat(500_000)}`,
  "entities without end": `<p>Begin</p>${"&amp".repeat(500_000)}`,
  "a class of many words": `<p>Begin</p>${`<div class="${"nav-".repeat(1_000)}">x</div>`.repeat(500)}`,
  "cells that span everything": `<p>Begin</p><table>${`<tr>${`<td rowspan=65534 colspan=1000>${"x".repeat(100)}`.repeat(5)}`.repeat(3_000)}</table>`,
  "many definitions of a long term": `<p>Begin</p><dl><dt>${"x".repeat(100_000)}${"<dd>a".repeat(6_000)}</dl>`,
};

// --- Any file --------------------------------------------------------------------------------------------------------

/** The parts that a random file of a format is made of. */
const PARTS: Record<string, { head: string; parts: string[] }> = {
  html: {
    head: "<!doctype html><title>Refunds</title>",
    parts: [
      "<p>word",
      "<div>",
      "</div>",
      "<table>",
      "<tr><td>",
      "<ul><li>",
      "<td rowspan=9 colspan=9>",
      "<a href=x>",
      "&amp",
      "<!--",
      "-->",
      "<",
      '"',
    ],
  },
  docx: {
    head: DOCUMENT,
    parts: [
      "<w:p>",
      "</w:p>",
      "<w:r><w:t>word </w:t></w:r>",
      "<w:tbl>",
      "<w:tr><w:tc>",
      "</w:tc></w:tr>",
      "</w:tbl>",
      '<w:numId w:val="2"/>',
      "<w:br/>",
      '<w:x a=""',
    ],
  },
  csv: { head: "Product;Price\n", parts: ["word;", ";", "\n", '"', '""', ",", "\t", "a;b\n", "😀", "\r"] },
  markdown: {
    head: "# Refunds\n\n",
    parts: ["> ", "- ", "  ", "*", "_", "[", "](", "`", "```\n", "| a ", "|-", "\n", "# ", "word ", "<b>", "\\", "~~"],
  },
};

/** A file that depends on the seed alone: a PDF of random filters and size, or random parts of another format, perhaps damaged. */
export function randomFile(seed: number): { name: string; bytes: Uint8Array } {
  const next = numbers(seed);
  const one = <Item>(items: readonly Item[]): Item => items[next(items.length)]!;
  const format = one(["pdf", ...Object.keys(PARTS)]);
  const bytes = format === "pdf" ? randomPdf(next, one) : randomText(PARTS[format]!, next, one);
  const whole = format === "docx" ? docxOf(bytes) : bytes;
  // The first bytes are kept, since they tell the format.
  for (let damaged = next(3) * 20; damaged > 0; damaged--) whole[8 + next(whole.length - 8)] = next(256);
  return { name: `${format} of seed ${seed}`, bytes: whole.subarray(0, next(4) === 0 ? 8 + next(whole.length) : whole.length) };
}

type Random = (below: number) => number;
type Choice = <Item>(items: readonly Item[]) => Item;

function randomPdf(next: Random, one: Choice): Uint8Array {
  const pages = one([1, 4, 50, 500, 3_000]);
  if (next(4) === 0) return nestedFormsPdf({ depth: next(12), times: 1 + next(20), pages });
  const filters = Array.from({ length: next(4) }, () => one(Object.keys(FILTERS) as Filter[]));
  // Without a filter that expands, the file is as large as its content.
  const isPacked = filters.includes("FlateDecode") || filters.includes("LZWDecode");
  const bytes = 1_000 + next(isPacked ? 16 * MIB : MIB);
  return packedPdf({ bytes, filters, pages, naming: one(["full", "abbreviated", "indirect", "escaped"]) });
}

function randomText({ head, parts }: { head: string; parts: string[] }, next: Random, one: Choice): Uint8Array {
  const texts = [head];
  const most = 1 + next(4 * MIB);
  for (let length = 0; length < most;) {
    const unit = Array.from({ length: 1 + next(6) }, () => one(parts)).join("");
    const text = unit.repeat(1 + next(10 ** (1 + next(5))));
    texts.push(text);
    length += text.length;
  }
  return bytesOf(texts.join("").slice(0, 6 * MIB));
}
