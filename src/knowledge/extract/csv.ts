import Papa from "papaparse";

/** As spreadsheets write them. */
const DELIMITERS = [",", ";", "\t"];
/** The rows that tell whether a text is a table. */
const SAMPLED_ROWS = 50;
const SAMPLE_CHARS = 64 * 1024;
/** A longer head of a column is a sentence. */
const MAX_HEAD_CHARS = 80;

/**
 * The text of a CSV file as a Markdown table, whose first row names the columns. Undefined for a text that is none: all its first
 * rows have as many cells, two at least, and the first one has short names without a space after the delimiter, as prose has.
 */
export function csvTable(text: string): string | undefined {
  const sample = text.slice(0, SAMPLE_CHARS);
  const delimiter = DELIMITERS.find((each) => isTable(rowsOf(sample, each, SAMPLED_ROWS), text.length > SAMPLE_CHARS));
  if (delimiter === undefined) return undefined;
  const [heads = [], ...rows] = rowsOf(text, delimiter).map((row) => row.map(cellText));
  const lines = [heads, heads.map(() => "---"), ...rows.filter((row) => row.some((cell) => cell !== ""))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rowsOf(text: string, delimiter: string, preview = 0): string[][] {
  return Papa.parse<string[]>(text, { delimiter, preview, skipEmptyLines: "greedy" }).data;
}

/** @param isCut whether the last row may be a part of one. */
function isTable(rows: string[][], isCut: boolean): boolean {
  const [heads = [], ...others] = isCut && rows.length < SAMPLED_ROWS ? rows.slice(0, -1) : rows;
  const areNames = heads.every((head) => head.trimStart() === head && head.length <= MAX_HEAD_CHARS && !/[.!?:]$/.test(head));
  const isDistinct = new Set(heads.filter((head) => head !== "")).size >= heads.length - 1;
  return heads.length > 1 && others.length > 0 && areNames && isDistinct && others.every((row) => row.length === heads.length);
}

function cellText(cell: string): string {
  return cell.replaceAll(/\s+/g, " ").trim().replaceAll("|", "\\|");
}
