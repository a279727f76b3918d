import Papa from "papaparse";
import { pacer } from "../../platform/time.ts";

/** The delimiters that spreadsheets write. */
const DELIMITERS = [",", ";", "\t"];
/** The first line with which Excel names the delimiter. */
const NAMED_DELIMITER = /^sep=([,;|\t])\n/i;
/** The number of rows that are checked to detect a table. */
const SAMPLED_ROWS = 50;
const SAMPLE_CHARS = 64 * 1024;
/** A longer first cell of a column is a sentence, not a name. */
const MAX_HEAD_CHARS = 80;

/** After so many characters, which are split into rows in some milliseconds, other requests get their turn. */
const SLICE_CHARS = 64 * 1024;
/** A longer row is a quotation mark that is never closed. A row that is not whole is read again with each slice. */
const MAX_ROW_CHARS = 512 * 1024;

/**
 * Converts a CSV file to a Markdown table, whose first row names the columns. Undefined for a text that is no table: the first rows
 * of a table have equally many cells, at least two, and its first row has short names, with no space after a delimiter as in prose.
 * @param text has line feeds as line breaks.
 * @param maxChars the table ends soon after this number of characters.
 */
export async function csvTable(text: string, maxChars: number): Promise<string | undefined> {
  const named = NAMED_DELIMITER.exec(text);
  const start = named?.[0].length ?? 0;
  const sample = text.slice(start, start + SAMPLE_CHARS);
  const delimiters = named ? [named[1]!] : DELIMITERS;
  const delimiter = delimiters.find((each) => isTable(rowsOf(sample, each, SAMPLED_ROWS), text.length > start + SAMPLE_CHARS));
  if (delimiter === undefined) return undefined;
  const lines: string[] = [];
  const pause = pacer();
  let chars = 0;
  let from = start;
  for (let to = start + SLICE_CHARS; from < text.length && chars <= maxChars; to += SLICE_CHARS) {
    if (to - from > MAX_ROW_CHARS) return undefined;
    const parser = new Papa.Parser({ delimiter, newline: "\n" });
    const { data, meta } = parser.parse(text.slice(from, to), 0, to < text.length) as Papa.ParseResult<string[]>;
    for (const row of data) {
      const cells = row.map(cellText);
      if (cells.every((cell) => cell === "")) continue;
      lines.push(`| ${cells.join(" | ")} |`);
      if (lines.length === 1) lines.push(`|${" --- |".repeat(cells.length)}`);
      if ((chars += lines.at(-1)!.length) > maxChars) break;
    }
    from = to < text.length ? from + meta.cursor : text.length;
    await pause();
  }
  return lines.join("\n");
}

function rowsOf(text: string, delimiter: string, preview: number): string[][] {
  return Papa.parse<string[]>(text, { delimiter, preview, skipEmptyLines: "greedy" }).data;
}

/** @param isCut whether the last row may be incomplete. */
function isTable(rows: string[][], isCut: boolean): boolean {
  const [heads = [], ...others] = isCut && rows.length < SAMPLED_ROWS ? rows.slice(0, -1) : rows;
  const areNames = heads.every((head) => head.trimStart() === head && head.length <= MAX_HEAD_CHARS && !/[.!?:]$/.test(head));
  const isDistinct = new Set(heads.filter((head) => head !== "")).size >= heads.length - 1;
  return heads.length > 1 && others.length > 0 && areNames && isDistinct && others.every((row) => row.length === heads.length);
}

function cellText(cell: string): string {
  return cell.replaceAll(/\s+/g, " ").trim().replaceAll("|", "\\|");
}
