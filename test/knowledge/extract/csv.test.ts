import { expect, test } from "vitest";
import { csvTable } from "../../../src/knowledge/extract/csv.ts";
import { readFile } from "../../../src/knowledge/extract/file.ts";

const TABLE = "| Product | Price |\n| --- | --- |\n| Kettle, large | 40 € |\n| Toaster | 25 € |";

test.for([
  ["commas", 'Product,Price\n"Kettle, large",40 €\nToaster,25 €\n'],
  ["semicolons, as German spreadsheets write them", "Product;Price\nKettle, large;40 €\nToaster;25 €"],
  ["a first line that names the delimiter", "sep=;\nProduct;Price\nKettle, large;40 €\nToaster;25 €"],
  ["another delimiter, which its first line names", "SEP=|\nProduct|Price\nKettle, large|40 €\nToaster|25 €"],
  ["tabs", "Product\tPrice\nKettle, large\t40 €\n\nToaster\t25 €"],
] as const)("a file with %s is a table", async ([, text]) => {
  expect(await csvTable(text, 10_000)).toBe(TABLE);
});

test("quoted cells may hold quotes, lines, delimiters and bars", async () => {
  const text = 'Question,Answer\n"What is a ""kettle""?","It boils,\nand whistles | hums."\n';
  expect(await csvTable(text, 10_000)).toBe(
    '| Question | Answer |\n| --- | --- |\n| What is a "kettle"? | It boils, and whistles \\| hums. |',
  );
});

test.for([
  ["prose", "We ship fast, always.\nReturns are free, always.\n"],
  ["prose with a comma in each line", "Dear customers, welcome\nDear friends, goodbye"],
  ["one column", "Apples\nPears\nPlums"],
  ["Markdown", "# Prices\n\n| Product | Price |\n| --- | --- |\n| Kettle | 40 |\n"],
  ["rows of different lengths", "a;b\nc;d;e\nf;g"],
  ["a head alone", "Product;Price"],
] as const)("%s is no table", async ([, text]) => {
  expect(await csvTable(text, 10_000)).toBeUndefined();
});

test("a table that would be longer than a source is not built to its end", async () => {
  const table = (await csvTable("a,b\n".repeat(1_000_000), 1_000))!;
  expect(table.length).toBeLessThan(1_200);
  expect(table.split("\n").at(-1)).toBe("| a | b |");
});

test("quoted cells are whole wherever the text is cut while it is read", async () => {
  const cell = "x,\n".repeat(100_000);
  const table = (await csvTable(`name,text\none,short\ntwo,"${cell}"\n`, 1_000_000))!;
  expect(table.split("\n").map((line) => line.length)).toEqual([15, 13, 15, 9 + cell.length]);
});

test("a quotation mark that is never closed makes a text, whose rows are not read again and again", async () => {
  expect(await csvTable(`a;b\n"${"x;y\n".repeat(200_000)}`, 1_000_000)).toBeUndefined();
});

test.for([
  ["misplaced quotation marks", '"a\n'.repeat(400_000)],
  ["cells", "x,".repeat(600_000)],
] as const)("a text with a row of a megabyte of %s is no table", async ([, row]) => {
  // The parser keeps a record of each misplaced quotation mark, in 200 bytes.
  expect(await csvTable(`name,text\none,two\n${row}`, 5_000_000)).toBeUndefined();
});

test("rows after a million empty ones belong to the table", async () => {
  const table = (await csvTable(`a,b\n${"1,2\n".repeat(60)}${",\n".repeat(1_000_000)}3,4`, 10_000))!;
  expect(table.split("\n").slice(-2)).toEqual(["| 1 | 2 |", "| 3 | 4 |"]);
});

const bytesOf = (text: string, toUnits: (code: number) => number[]) =>
  Uint8Array.from(Array.from(text).flatMap((character) => toUnits(character.codePointAt(0)!)));
const GERMAN = "Größe;Preis\nGroß;40 Euro\n";
const GERMAN_TABLE = "| Größe | Preis |\n| --- | --- |\n| Groß | 40 Euro |";

test.for([
  ["UTF-8", new TextEncoder().encode(GERMAN)],
  ["UTF-8 with a byte order mark", new TextEncoder().encode(`\ufeff${GERMAN}`)],
  ["Windows-1252", bytesOf(GERMAN, (code) => [code])],
  ["UTF-16, as Excel's Unicode text", bytesOf(`\ufeff${GERMAN}`, (code) => [code & 0xff, code >> 8])],
  ["UTF-16 of the other order", bytesOf(`\ufeff${GERMAN}`, (code) => [code >> 8, code & 0xff])],
] as const)("%s is decoded", async ([, bytes]) => {
  expect(await readFile(bytes)).toEqual({ kind: "text", text: GERMAN_TABLE });
});
